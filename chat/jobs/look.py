"""One look at one message: memory reads it, considers what it found, and actions store that (design §5)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np
from django.utils import timezone
from numpy.typing import NDArray

from chat.actions import deletions, looks
from chat.actions.accounts import Accounted, accounted
from chat.actions.owners import redacts, zone_of
from chat.llm.registry import registry
from chat.llm.types import Lane, PromptTooLong
from chat.memory import judge, play, reader, told
from chat.memory.extract import Extraction, extract
from chat.memory.judge import Verdict, consider, consider_ending
from chat.models import Fact, Message, Role
from chat.topics.contents import with_contents

from .registry import Postpone

# Role-play goes on until it is ended, but not for ever: who has written this much since has left it.
_PLAY_MESSAGES = 20


@dataclass(slots=True)
class _Opinions:
    """What the model thinks of the candidates and the endings."""

    candidates: list[Verdict] = field(default_factory=list)
    endings: list[Verdict] = field(default_factory=list)

    @property
    def failure(self) -> str:
        return next((v.failure for v in (*self.candidates, *self.endings) if v.failure), "")


def look(message: Message) -> None:
    """Read a message for facts and store them; lets ModelNotReady and Unfinished through."""
    started = time.monotonic()
    owner = message.conversation.owner
    if deletions.barrier(owner, message.created_at) is not None:
        # Cleared after it was written: the model need not read it.
        _store(message, Extraction(), [], "", _Opinions(), 0.0)
        return
    # What the user asked to remember waits behind no background work.
    lane = Lane.INTERACTIVE if told.asks(message.content) else Lane.BACKGROUND
    embedder = registry.embedder()
    name = embedder.name if embedder else ""
    with accounted(registry.provider(), owner.pk) as provider:
        found = _read(provider, message, lane)
        vectors: list[Any] = [None] * len(found.candidates)
        if embedder is not None and found.candidates:
            vectors = list(embedder.embed([c.text for c in found.candidates]))
        live = list(Fact.objects.for_owner(owner).live()) if found.candidates or found.endings else []
        opinions = _consider(provider, found, vectors, live, name, lane)
    _store(message, found, vectors, name, opinions, time.monotonic() - started)


def _read(provider: Accounted, message: Message, lane: Lane) -> Extraction:
    try:
        found = extract(
            provider,
            message.content,
            question=_question_before(message),
            today=_today(message),
            playing=_is_in_play(message),
            redacting=redacts(message.conversation.owner_id),
            lane=lane,
        )
    except PromptTooLong as reason:
        # It will never fit: say so once, and let the messages after it have their turn.
        return Extraction(error=str(reason))
    if found.error:
        provider.failed(reader.SLOT)
    return found


def _consider(
    provider: Accounted,
    found: Extraction,
    vectors: Sequence[NDArray[np.float32] | None],
    live: Sequence[Fact],
    embedder: str,
    lane: Lane,
) -> _Opinions:
    opinions = _Opinions()
    if not live:
        return opinions
    for candidate, vector in zip(found.candidates, vectors, strict=True):
        opinions.candidates.append(consider(provider, candidate, vector, live, embedder, lane=lane))
    for sentence in found.endings:
        opinions.endings.append(consider_ending(provider, sentence, live, found.candidates, lane=lane))
    if opinions.failure:
        provider.failed(judge.SLOT)
    return opinions


def _store(
    message: Message,
    found: Extraction,
    vectors: list[Any],
    embedder: str,
    opinions: _Opinions,
    seconds: float,
) -> None:
    found.error = found.error or opinions.failure
    try:
        looks.record_look(
            message,
            found,
            vectors,
            embedder,
            seconds,
            opinions=[verdict.opinion for verdict in opinions.candidates],
            endings=[verdict.opinion for verdict in opinions.endings if verdict.opinion],
        )
    except deletions.Undecided as reason:
        raise Postpone(reason.until) from reason


def _question_before(message: Message) -> str:
    """Return the assistant's turn that a short answer answers; context, never a source (design §4)."""
    before = Message.objects.filter(conversation=message.conversation).shown().filter(seq__lt=message.seq)
    last = with_contents(before.reverse()[:1])
    return last[0].content if last and last[0].role == Role.ASSISTANT else ""


def _is_in_play(message: Message) -> bool:
    """Tell whether an earlier message began a role-play that none has ended since."""
    earlier = Message.objects.filter(conversation=message.conversation, role=Role.USER).shown()
    newest = with_contents(earlier.filter(seq__lt=message.seq).reverse()[:_PLAY_MESSAGES])
    return play.goes_on([m.content for m in newest[::-1]])


def _today(message: Message) -> date:
    """Return the user's local date on the day they wrote."""
    return timezone.localtime(message.created_at, zone_of(message.conversation.owner_id)).date()
