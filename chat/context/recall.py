"""Quotes sentences about a topic that comes back, in the note before the user's message.

Restoring the topic's messages would change the beginning of the prompt, so that the model would evaluate all
of it again; the next compaction does that. Until then a few quoted sentences are part of the turn and are
stored with it like any note.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from chat.memory.formatting import to_one_line
from chat.memory.kept_out import leave_out_kept
from chat.memory.summary_sentences import split_sentences
from chat.models import Conversation, Message, Role
from chat.topics.contents import load_contents
from chat.topics.match import extract_match_terms

from .assembly import PromptShape

TokenCount = Callable[[str], int]

# About three seconds of prompt evaluation at 40–70 tokens a second (the default model on two cores,
# measured).
MAX_TOKENS = 160
_WINDOW_SHARE = 24
# How many of a topic's newest messages are searched, and how many characters of each.
_MAX_MESSAGES, _MAX_CHARACTERS = 60, 6000
# With more sentences than this, the first one that does not fit ends the search.
_ENOUGH_SENTENCES = 3
_OPEN, _CLOSE = "(What we said about this earlier in this conversation:", ")"


def list_earlier_quotes(
    conversation: Conversation, message: Message, shape: PromptShape
) -> list[tuple[str, str]]:
    """Return earlier messages of the message's topic in order, as (who says so, text).

    Empty unless the prompt contains none of them and the previous message was about another topic. Reads the
    topic's newest messages, from the archive where they are archived.
    """
    if message.topic_id is None or not shape.trimmed_through:
        return []
    earlier = Message.objects.filter(conversation=conversation).visible_before(message)
    last = earlier.filter(role=Role.USER).reverse().values_list("topic", flat=True).first()
    if last == message.topic_id:
        return []
    # A system message holds a program's instructions, so a quotation of it would say nothing about the topic.
    talk = earlier.filter(topic=message.topic_id).exclude(role=Role.SYSTEM)
    rows = load_contents(talk.reverse()[:_MAX_MESSAGES])
    if any(shape.includes(m.seq) for m in rows):
        return []
    quotable = leave_out_kept(rows[::-1])
    return [(_name_speaker(m), m.content[:_MAX_CHARACTERS]) for m in quotable if m.content]


def _name_speaker(message: Message) -> str:
    if message.role == Role.TOOL:
        return f"The tool {message.name}" if message.name else "A tool"
    return "I" if message.role == Role.USER else "You"


def recall_tokens(window: int) -> int:
    """Return how many tokens the quotation may take in this window."""
    return min(MAX_TOKENS, window // _WINDOW_SHARE)


def quote_sentences(asked: str, earlier: Sequence[tuple[str, str]], room: int, count: TokenCount) -> str:
    """Return the sentences of `earlier` most similar to the message `asked`, in their order.

    `earlier` has speakers ("I", "You", "A tool") and texts. At most `room` tokens; "" when no sentence fits.
    Similar means: they share the most words. Pure.
    """
    own = extract_match_terms(asked)
    found = [
        (index, speaker, to_one_line(sentence))
        for index, (speaker, text) in enumerate(earlier)
        for sentence in split_sentences(text)
    ]
    # Among equally similar sentences the newest comes first: people continue where they left off.
    ranked = sorted(
        range(len(found)), key=lambda n: (len(own & extract_match_terms(found[n][2])), n), reverse=True
    )
    chosen: list[int] = []
    text = ""
    for n in ranked:
        attempt = _render([found[i] for i in sorted([*chosen, n])])
        if count(attempt) <= room:
            chosen.append(n)
            text = attempt
        elif len(chosen) > _ENOUGH_SENTENCES:
            break
    return text


def _render(quoted_sentences: Sequence[tuple[int, str, str]]) -> str:
    """Return the quotation, one line per message."""
    lines: list[str] = []
    before = -1
    for index, speaker, sentence in quoted_sentences:
        if index == before:
            lines[-1] += f" {sentence}"
        else:
            lines.append(f"{speaker} said: {sentence}")
        before = index
    return "\n".join([_OPEN, *lines, _CLOSE])
