"""Ranks the sentences of past conversations by how well they fit a message, by words and by meaning."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from django.db.models import F
from numpy.typing import NDArray

from chat.llm.embedder import Embedder
from chat.models import Conversation, MemoryMode, Message, MessageWindow, Role
from chat.topics.contents import load_contents

from .scoring import Evidence, add_own_cosines, score_sentences
from .stems import is_unspaced, stem_in_language
from .vector_search import bit_cache, unpack_vectors
from .windows import Span, find_quotable_spans
from .word_search import WordMatches, find_matching_messages

# How many messages are read by their words, and how many windows by their meaning.
_MOST_MESSAGES, _MOST_WINDOWS = 40, 60
# How many of the best sentences are embedded one by one; each takes about a millisecond.
_MOST_COMPARED = 30
_QUESTION_MARKS = ("?", "？")

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class RankedSentence:
    """A sentence of a past conversation.

    `coverage` is the share of the asking message's words that it contains, weighted by their rarity, 0 to 1;
    `cosine` that of its window, 0 without an embedder. `score` orders the sentences of one ranking.
    """

    message: Message
    span: Span
    score: float
    coverage: float
    cosine: float

    @property
    def text(self) -> str:
        """The words of the sentence, on one line."""
        return " ".join(self.message.content[self.span.start : self.span.end].split())


def list_usable_conversations(conversation: Conversation) -> set[Any]:
    """Return the keys of the conversations that a prompt of this one may quote.

    They belong to the same owner and app, and memory may use them.
    """
    usable = Conversation.objects.for_owner(conversation.owner).listed()
    usable = usable.filter(app=conversation.app_id).exclude(memory_mode=MemoryMode.OFF)
    return set(usable.exclude(pk=conversation.pk).values_list("pk", flat=True))


def rank_sentences(conversation: Conversation, text: str, embedder: Embedder | None) -> list[RankedSentence]:
    """Return the sentences of other conversations that fit a message, the best first.

    Embeds the message, so call it outside a transaction.
    """
    usable = list_usable_conversations(conversation)
    if not usable:
        return []
    matches = find_matching_messages(conversation.owner, text, _MOST_MESSAGES)
    vector = _embed(embedder, text)
    near: list[int] = []
    if embedder is not None and vector is not None:
        near = bit_cache.find_nearest(conversation.owner, embedder.name, vector, usable)
    windows = _load_windows(conversation, near, matches.scores, usable)
    cosines = _compute_cosines(windows, vector)
    chosen = _choose_windows(windows, cosines, matches.scores)
    messages = _load_messages({window.message_id for window in chosen})
    ranked = _score(chosen, cosines, messages, matches)
    return _compare_sentences(ranked, embedder, vector) if embedder is not None else ranked


def _embed(embedder: Embedder | None, text: str) -> Vector | None:
    if embedder is None:
        return None
    try:
        return np.asarray(embedder.embed([text])[0])
    except OSError:
        # The embedder was removed since it was found.
        return None


def _load_windows(
    conversation: Conversation, near: Collection[int], matching: Collection[Any], usable: Collection[Any]
) -> list[MessageWindow]:
    """Return these windows and those of the matching messages, as far as they may be quoted."""
    mine = MessageWindow.objects.for_owner(conversation.owner)
    visible = (
        mine.filter(
            message__replaced_by=None,
            message__conversation__in=usable,
            message__seq__gt=F("message__conversation__cleared_through"),
        )
        .select_related("message")
        .only("message__kept_out", "start", "end", "vector", "message_id")
    )
    by_key = {w.pk: w for w in visible.filter(pk__in=near)}
    by_key |= {w.pk: w for w in visible.filter(message__in=matching)}
    return [w for w in by_key.values() if not _is_kept_out(w)]


def _is_kept_out(window: MessageWindow) -> bool:
    """Return whether the whole window is kept out; of others the sentences are left out later."""
    return any(start <= window.start and window.end <= end for start, end, *_ in window.message.kept_out)


def _compute_cosines(windows: Sequence[MessageWindow], vector: Vector | None) -> dict[int, float]:
    """Return the cosines by the key of the window, 0 where it has no vector of this length."""
    if vector is None:
        return {}
    same = [w for w in windows if len(w.vector) == len(vector)]
    if not same:
        return {}
    cosines = unpack_vectors([bytes(w.vector) for w in same]) @ vector
    return {w.pk: max(0.0, float(c)) for w, c in zip(same, cosines, strict=True)}


def _choose_windows(
    windows: Iterable[MessageWindow], cosines: Mapping[int, float], matching: Collection[Any]
) -> list[MessageWindow]:
    by_cosine = sorted(windows, key=lambda w: -cosines.get(w.pk, 0.0))
    near = {w.pk for w in by_cosine[:_MOST_WINDOWS] if cosines.get(w.pk)}
    return [w for w in by_cosine if w.pk in near or w.message_id in matching]


def _load_messages(keys: Collection[Any]) -> dict[Any, Message]:
    fields = ("conversation", "seq", "role", "content", "archive", "created_at", "kept_out")
    return {m.pk: m for m in load_contents(Message.objects.filter(pk__in=keys).only(*fields))}


def _score(
    windows: Sequence[MessageWindow],
    cosines: Mapping[int, float],
    messages: Mapping[Any, Message],
    matches: WordMatches,
) -> list[RankedSentence]:
    total = sum(matches.weights.values()) or 1.0
    by_message = defaultdict(list)
    for window in windows:
        by_message[window.message_id].append(window)
    found: list[tuple[Message, Span, Evidence]] = []
    for key, mine in by_message.items():
        message = messages.get(key)
        if message is None:
            continue
        sentences = find_quotable_spans(message.content, message.kept_out)
        stems = _find_stems(message.content, sentences, matches)
        for window in mine:
            cosine = cosines.get(window.pk, 0.0)
            for sentence, said in zip(sentences, stems, strict=True):
                if window.start <= sentence.start and sentence.end <= window.end:
                    coverage = sum(matches.weights.get(stem, 0.0) for stem in said) / total
                    evidence = _build_evidence(message, sentence, coverage, matches, cosine)
                    found.append((message, sentence, evidence))
    scores = score_sentences([evidence for *_, evidence in found])
    ranked = [
        RankedSentence(message, sentence, score, evidence.coverage, evidence.cosine)
        for (message, sentence, evidence), score in zip(found, scores, strict=True)
    ]
    return sorted(ranked, key=lambda one: (-one.score, one.message.created_at, one.span))


def _compare_sentences(
    ranked: Sequence[RankedSentence], embedder: Embedder, vector: Vector | None
) -> list[RankedSentence]:
    """Return the sentences with the best ones in a new order, by their own cosines too."""
    best = ranked[:_MOST_COMPARED]
    if vector is None or not best:
        return list(ranked)
    try:
        cosines = embedder.embed([one.text for one in best]) @ vector
    except OSError:
        return list(ranked)
    scores = add_own_cosines([one.score for one in best], cosines.tolist())
    again = [replace(one, score=score) for one, score in zip(best, scores, strict=True)]
    again.sort(key=lambda one: (-one.score, one.message.created_at, one.span))
    return [*again, *ranked[_MOST_COMPARED:]]


def _build_evidence(
    message: Message, sentence: Span, coverage: float, matches: WordMatches, cosine: float
) -> Evidence:
    return Evidence(
        conversation=message.conversation_id,
        seq=message.seq,
        length=sentence.end - sentence.start,
        is_user=message.role == Role.USER,
        is_question=message.content[sentence.start : sentence.end].endswith(_QUESTION_MARKS),
        coverage=coverage,
        message_words=matches.scores.get(message.pk, 0.0),
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


def _find_stems(text: str, sentences: Sequence[Span], matches: WordMatches) -> list[set[str]]:
    """Return the stems that each sentence contains."""
    found: list[set[str]] = [set() for _ in sentences]
    pattern = compile_beginnings(matches.beginnings.values())
    if pattern is None or not sentences:
        return found
    starts = [span.start for span in sentences]
    for match in pattern.finditer(text):
        place = bisect_right(starts, match.start()) - 1
        if place >= 0 and match.start() < sentences[place].end:
            word = next(filter(None, match.groups())).casefold()
            found[place].add(stem_in_language(word, matches.language))
    return found
