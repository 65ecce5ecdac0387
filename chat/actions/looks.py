"""Applies what memory found in one message: facts, history, the look and the watermark, all or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from django.db import transaction
from django.utils import timezone
from numpy.typing import NDArray

from chat.memory import confidence
from chat.memory.consolidate import Action, Decision, decide
from chat.memory.extract import Candidate, Extraction
from chat.models import Conversation, ExtractionRun, Fact, FactEventKind, Message, Origin

from . import events, graph
from .facts import reinforce
from .history import record


def record_look(
    message: Message,
    extraction: Extraction,
    vectors: Sequence[NDArray[np.float32] | None],
    embedder_name: str,
    seconds: float,
) -> ExtractionRun | None:
    """Store what a look found and move the watermark past the message; None when it was read before.

    `vectors` has one entry a candidate. One short transaction without a model call, so a process killed at
    any moment repeats the look and stores nothing twice.
    """
    with transaction.atomic():
        conversation = Conversation.objects.select_for_update().get(pk=message.conversation_id)
        if conversation.extracted_through >= message.seq:
            return None
        run = ExtractionRun(
            message=message,
            read=extraction.usage is not None,
            error=extraction.error[:300],
            seconds=seconds,
        )
        live = list(Fact.objects.for_owner(conversation.owner).live())
        for candidate, vector in zip(extraction.candidates, vectors, strict=True):
            decision = decide(candidate, vector, live, embedder_name)
            _apply(decision, candidate, vector, embedder_name, message, live)
            run.stored += decision.action is not Action.REINFORCE
            run.reinforced += decision.action is Action.REINFORCE
        run.refused = [{"text": r.text, "reason": r.reason} for r in extraction.refused]
        run.save()
        conversation.extracted_through = message.seq
        conversation.save(update_fields=["extracted_through"])
        if run.stored:
            events.tell(conversation.owner_id, "facts")
            _tell_reply(message)
    return run


def _apply(
    decision: Decision,
    candidate: Candidate,
    vector: NDArray[np.float32] | None,
    embedder_name: str,
    message: Message,
    live: list[Fact],
) -> None:
    if decision.action is Action.REINFORCE and decision.target is not None:
        reinforce(decision.target, "memory", decision.reason, source=message)
        return
    fact = _new_fact(candidate, vector, embedder_name, message)
    record(fact, FactEventKind.ADD, "memory", reason=decision.reason, source=message)
    graph.follow(fact)
    live.append(fact)
    if decision.action is Action.SUPERSEDE and decision.target is not None:
        old = decision.target
        live.remove(old)
        Fact.objects.filter(pk=old.pk).update(superseded_at=timezone.now(), pinned=False)
        # The user pinned the matter, not the wording of the day.
        fact.supersedes, fact.pinned = old, old.pinned
        fact.save(update_fields=["supersedes", "pinned"])
        record(old, FactEventKind.SUPERSEDE, "memory", reason=decision.reason, source=message)
        graph.follow(old)


def _new_fact(
    candidate: Candidate, vector: NDArray[np.float32] | None, embedder_name: str, message: Message
) -> Fact:
    now: Any = timezone.now()
    return Fact.objects.create(
        owner=message.conversation.owner,
        text=candidate.text[:300],
        category=candidate.category,
        kind=candidate.kind,
        subject=candidate.subject,
        confidence=confidence.baseline(Origin.EXTRACTED),
        first_seen=now,
        last_seen=now,
        last_used=now,
        origin=Origin.EXTRACTED,
        quote=candidate.quote,
        language=candidate.language,
        source_conversation=message.conversation,
        source_message=message,
        embedding=None if vector is None else vector.astype(np.float32).tobytes(),
        embedder="" if vector is None else embedder_name,
    )


def _tell_reply(message: Message) -> None:
    reply = (
        Message.objects.filter(conversation=message.conversation).shown().filter(seq__gt=message.seq).first()
    )
    if reply is not None:
        events.tell(message.conversation.owner_id, "message", id=str(reply.pk))
