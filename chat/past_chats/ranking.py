"""Ranks the sentences of past conversations by how well they fit a message, by words and by meaning."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chat.llm.embedder import Embedder
from chat.models import App, Conversation, MemoryMode, Message, MessageWindow, PromptReport, Role, User
from chat.models.conversation import ConversationQuerySet
from chat.topics.contents import is_content_lost, load_contents

from .reranker import load_weights, score_again
from .scoring import Evidence, build_inputs, score_sentences
from .stems import is_unspaced, stem_in_language
from .vector_search import bit_cache, unpack_vectors
from .windows import Span, split_window
from .word_search import WordMatches, find_matching_messages

# How many messages are read by their words, and how many windows by their meaning.
_MOST_MESSAGES, _MOST_WINDOWS = 30, 40
# How many windows are split into sentences.
_MOST_SPLIT = 48
# How many of the best sentences are embedded one by one; each takes about a millisecond.
MOST_EMBEDDED = 12
# The next three constants were chosen on the questions of `tests/benchmarks/train_ranking.py`, for 150, 250
# and 450 tokens of quotations. The questions of one person were ranked with weights that were trained on the
# other persons.
# A sentence is quoted only if its score is near that of the best: at most (free tokens / 45) lower. Scores
# are log-odds. A larger room takes sentences that are less certain.
_TOKENS_BELOW = 45
# When a sentence is chosen, the scores of the other sentences of the same question and reply fall by this
# number, so that the room is shared between several exchanges.
_REPEATED = 3.0
# At most (tokens of room / 67)² sentences are tried, at least 3. In a small room more would fill it without
# answering more questions.
_ROOM_UNIT = 67
_QUESTION_MARKS = ("?", "？")

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class RankedSentence:
    """A sentence of a past conversation.

    `coverage` is the share of the asking message's words that the sentence contains, 0 to 1; rare words count
    more. `cosine` compares the vector of its window with that of the asking message, 0 if the window has no
    vector. `score` orders the sentences of one ranking and compares with no other ranking. It was computed
    from `inputs`, float32 of shape (len(scoring.WEIGHTS),).
    """

    message: Message
    span: Span
    score: float
    coverage: float
    cosine: float
    inputs: Vector = field(default_factory=lambda: np.zeros(0, np.float32), compare=False)

    @property
    def text(self) -> str:
        """The words of the sentence, on one line."""
        return self.span.read(self.message.content)

    @property
    def exchange(self) -> tuple[Any, int]:
        """The exchange of a user message and its reply that the sentence belongs to."""
        message = self.message
        return message.conversation_id, message.seq if message.role == Role.USER else message.seq - 1


def list_usable_conversations(owner: User, app: App) -> ConversationQuerySet:
    """Return the conversations of an app that may be quoted: memory may use them."""
    usable = Conversation.objects.for_owner(owner).listed().filter(app=app)
    return usable.exclude(memory_mode=MemoryMode.OFF)


def rank_sentences(
    owner: User,
    conversations: ConversationQuerySet,
    text: str,
    embedder_name: str,
    vector: Vector,
    *,
    with_cleared: bool = False,
) -> list[RankedSentence]:
    """Return the sentences of these conversations of an owner that fit a text, the best first.

    `vector` is that of the text. Messages that `/clear` hid count only `with_cleared`.
    """
    others = Conversation.objects.for_owner(owner).exclude(pk__in=conversations.values("pk"))
    unusable = set(others.values_list("pk", flat=True))
    matches = find_matching_messages(owner, text, _MOST_MESSAGES, unusable)
    near = bit_cache.find_nearest(owner, embedder_name, vector, unusable)
    windows = _load_windows(owner, near, matches.scores, unusable, with_cleared=with_cleared)
    cosines = _compute_cosines(windows, vector)
    by_cosine = sorted(windows, key=lambda w: -cosines.get(w.pk, 0.0))
    nearest = {w.pk for w in by_cosine[:_MOST_WINDOWS]}
    windows = [w for w in windows if w.pk in nearest or w.message_id in matches.scores]
    messages = load_readable_messages({window.message_id for window in windows})
    return _score(windows, cosines, messages, matches)


def rerank_sentences(
    ranked: Sequence[RankedSentence], embedder: Embedder, vector: Vector
) -> list[RankedSentence]:
    """Return a ranking in which the best sentences are sorted again, by their own vectors.

    The other sentences follow in the order that they had.
    `vector` is that of the text that was ranked for. Embeds the best sentences, so call it outside a
    transaction. Raises OSError where the embedder is not installed any more.
    """
    weights = load_weights(embedder.name)
    best, rest = ranked[:MOST_EMBEDDED], ranked[MOST_EMBEDDED:]
    if weights is None or not best:
        return list(ranked)
    vectors = embedder.embed([one.text for one in best])
    scores = score_again(np.stack([one.inputs for one in best]), vectors, vector, weights)
    again = [replace(one, score=float(score)) for one, score in zip(best, scores, strict=True)]
    again.sort(key=_order)
    lower = again[-1].score - best[-1].score
    return [*again, *(replace(one, score=one.score + lower) for one in rest)]


def keep_promising(
    ranked: Sequence[RankedSentence], room: int, quoted_before: str = ""
) -> list[RankedSentence]:
    """Return the sentences of a ranking to quote in `room` tokens, the most promising first.

    Sentences that `quoted_before` contains are left out. The answer to a question may stand in several
    messages, so a second sentence of one exchange comes later. The caller quotes as many as fit.
    """
    if not ranked:
        return []
    best = ranked[0].score
    most = max(3, round((room / _ROOM_UNIT) ** 2))
    new = [one for one in ranked if one.text not in quoted_before]
    left = [one for one in new[:most] if one.score >= best - room / _TOKENS_BELOW]
    chosen: list[RankedSentence] = []
    seen: Counter[tuple[Any, int]] = Counter()
    while left:
        place = max(range(len(left)), key=lambda n: left[n].score - _REPEATED * seen[left[n].exchange])
        chosen.append(left.pop(place))
        seen[chosen[-1].exchange] += 1
    return chosen


def _load_windows(
    owner: User,
    near: Collection[int],
    matching: Collection[Any],
    unusable: Collection[Any],
    *,
    with_cleared: bool,
) -> list[MessageWindow]:
    """Return these windows and those of the matching messages, both of the owner, without replaced messages.

    The rows are chosen here and not by conditions of the queries: SQLite, which knows no sizes of tables,
    then begins with the conversations or with all windows of the owner and takes a hundred times as long.
    """
    by_key = {w.pk: w for w in MessageWindow.objects.for_owner(owner).filter(pk__in=near)}
    by_key |= {w.pk: w for w in MessageWindow.objects.filter(message__in=matching)}
    rows = Message.objects.filter(pk__in={w.message_id for w in by_key.values()}).values_list(
        "pk", "conversation", "replaced_by", "seq", "conversation__cleared_through"
    )
    visible = {
        message
        for message, conversation, replaced_by, seq, cleared in rows
        if conversation not in unusable and replaced_by is None and (with_cleared or seq > cleared)
    }
    return [w for w in by_key.values() if w.message_id in visible]


def _compute_cosines(windows: Sequence[MessageWindow], vector: Vector) -> dict[int, float]:
    """Return the cosines by the key of the window, 0 where it has no vector of this length."""
    same = [w for w in windows if len(w.vector) == len(vector)]
    if not same:
        return {}
    cosines = unpack_vectors([bytes(w.vector) for w in same]) @ vector
    return {w.pk: max(0.0, float(c)) for w, c in zip(same, cosines, strict=True)}


def load_readable_messages(keys: Collection[Any]) -> dict[Any, Message]:
    """Return these messages with their contents, by key, without those whose archive is damaged."""
    fields = ("conversation", "seq", "role", "content", "archive", "created_at", "kept_out")
    rows = load_contents(Message.objects.filter(pk__in=keys).only(*fields))
    return {message.pk: message for message in rows if not is_content_lost(message)}


def _score(
    windows: Sequence[MessageWindow],
    cosines: Mapping[int, float],
    messages: Mapping[Any, Message],
    matches: WordMatches,
) -> list[RankedSentence]:
    pattern = compile_beginnings(matches.beginnings.values())
    total = sum(matches.weights.values()) or 1.0

    def cover(message: Message, span: Span) -> float:
        stems = _find_stems(message.content, span, pattern, matches.language)
        return sum(matches.weights.get(stem, 0.0) for stem in stems) / total

    repeating = _find_repeating_replies(messages.values())
    there = [(messages[w.message_id], w) for w in windows if w.message_id in messages]
    promise = {w.pk: cover(m, Span(w.start, w.end)) + cosines.get(w.pk, 0.0) for m, w in there}
    # To split a window into sentences takes longer than to look for words in it.
    there.sort(key=lambda pair: -promise[pair[1].pk])
    found: list[tuple[Message, Span, Evidence]] = []
    for message, window in there[:_MOST_SPLIT]:
        cosine = cosines.get(window.pk, 0.0)
        for sentence in split_window(message.content, window.start, window.end, message.kept_out):
            evidence = _build_evidence(message, sentence, cover(message, sentence), cosine)
            evidence = replace(evidence, is_second_hand=message.pk in repeating)
            found.append((message, sentence, evidence))
    if not found:
        return []
    inputs = build_inputs([evidence for *_, evidence in found])
    scores = score_sentences(inputs)
    ranked = [
        RankedSentence(message, sentence, float(score), evidence.coverage, evidence.cosine, of_sentence)
        for (message, sentence, evidence), score, of_sentence in zip(found, scores, inputs, strict=True)
    ]
    return sorted(ranked, key=_order)


def _order(one: RankedSentence) -> tuple[Any, ...]:
    return -one.score, one.message.created_at, one.span


def _find_repeating_replies(messages: Iterable[Message]) -> set[Any]:
    """Return the keys of the replies whose prompts quoted past conversations. One query."""
    replies = [message.pk for message in messages if message.role == Role.ASSISTANT]
    reports = PromptReport.objects.filter(reply__in=replies).values_list("reply", "sections")
    return {reply for reply, sections in reports if sections.get("past_chats")}


def _build_evidence(message: Message, sentence: Span, coverage: float, cosine: float) -> Evidence:
    text = message.content[sentence.start : sentence.end]
    return Evidence(
        conversation=message.conversation_id,
        seq=message.seq,
        length=len(text),
        is_user=message.role == Role.USER,
        is_question=text.endswith(_QUESTION_MARKS),
        has_digit=any(map(str.isdigit, text)),
        coverage=coverage,
        cosine=cosine,
    )


def compile_beginnings(beginnings: Iterable[str]) -> re.Pattern[str] | None:
    """Return a pattern that finds the words with these beginnings, None without any.

    A word is the pattern's first group. Pairs of characters without blanks between words may overlap, so they
    are looked for at each character; they are the second group.
    """
    ordered = sorted(map(re.escape, beginnings), key=len, reverse=True)
    words = "|".join(beginning for beginning in ordered if not is_unspaced(beginning))
    pairs = "|".join(beginning for beginning in ordered if is_unspaced(beginning))
    ways = [rf"\b((?:{words})\w*)"] if words else []
    ways += [rf"(?=({pairs}))"] if pairs else []
    return re.compile("|".join(ways), re.IGNORECASE) if ways else None


def _find_stems(text: str, span: Span, pattern: re.Pattern[str] | None, language: str) -> set[str]:
    """Return the stems of the words with these beginnings in a part of a text."""
    if pattern is None:
        return set()
    return {
        stem_in_language(next(filter(None, match.groups())).casefold(), language)
        for match in pattern.finditer(text, span.start, span.end)
    }
