"""Leaves out the parts of messages that memory must not use, for texts that are written about a conversation.

They are what the user asked not to save or to forget, and the sentences that say a forgotten fact
(`Message.kept_out`).
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence

from chat.memory.clauses import judge_requests
from chat.memory.memory_requests import keeps_out_next_message
from chat.memory.sentences import find_sentence_spans
from chat.models import Message, Role

Span = tuple[int, int]


def leave_out_kept(messages: Sequence[Message]) -> list[Message]:
    """Return the messages without the parts that memory must not use.

    A message that only asks not to save something means the user's next one. The reply to a request is left
    out too, because it may repeat what is kept out: "I have forgotten that you are allergic to nuts". The
    returned messages are copies where something is left out; do not save them.
    """
    spans = find_unusable_spans(messages)
    return [_copy_without(message, left_out) for message, left_out in zip(messages, spans, strict=True)]


def find_unusable_spans(messages: Sequence[Message]) -> list[list[Span]]:
    """Return for each of these successive messages the parts that memory must not use; see `leave_out_kept`.

    May embed sentences, so call it outside a transaction.
    """
    found = []
    earlier = ""
    repeats_request = False
    for message in messages:
        spans = find_kept_spans(message)
        if message.role == Role.USER:
            is_kept_out = bool(earlier) and keeps_out_next_message(earlier)
            repeats_request = is_kept_out or bool(find_requested_spans(message.content))
            spans = [(0, len(message.content))] if is_kept_out else spans
            earlier = message.content
        elif repeats_request and message.role == Role.ASSISTANT:
            spans = [(0, len(message.content))]
        found.append(spans)
    return found


def leave_out_marked(message: Message) -> Message:
    """Return a message without the parts that are marked already. Do not save the returned message."""
    return _copy_without(message, [(mark[0], mark[1]) for mark in message.kept_out])


def leave_out_forgotten(message: Message) -> Message:
    """Return a message without the sentences that say a forgotten fact, for extraction.

    Extraction recognises by itself what the user asked not to save. Do not save the returned message.
    """
    return _copy_without(message, [(mark[0], mark[1]) for mark in message.kept_out if len(mark) > 2])


def leave_out_sentences(text: str) -> str:
    """Return a text without the sentences that it asks not to save, else unchanged."""
    return cut_spans(text, find_requested_spans(text))


def find_kept_spans(message: Message) -> list[Span]:
    """Return the parts of a message that memory must not use: stored ones, and what it asks not to save."""
    spans = [(mark[0], mark[1]) for mark in message.kept_out]
    return spans + (find_requested_spans(message.content) if message.role == Role.USER else [])


def find_requested_spans(text: str) -> list[Span]:
    """Return the sentences of a user's message that it asks not to save."""
    judged = zip(find_sentence_spans(text), judge_requests(text), strict=True)
    return [span for span, sentence in judged if sentence.reason]


def cut_spans(text: str, spans: Iterable[Span]) -> str:
    """Return a text without these parts, which may overlap; unchanged without any."""
    pieces, end = [], 0
    for start, stop in sorted(spans):
        pieces.append(text[end : max(end, start)])
        end = max(end, stop)
    if not pieces:
        return text
    return " ".join(piece for part in (*pieces, text[end:]) if (piece := part.strip()))


def _copy_without(message: Message, spans: Sequence[Span]) -> Message:
    if not spans:
        return message
    changed = copy.copy(message)
    changed.content = cut_spans(message.content, spans)
    # The spans are positions in the whole content.
    changed.kept_out = []
    return changed
