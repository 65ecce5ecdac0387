"""Applies what memory found in one message: facts, history, the look and the watermark, all or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from numpy.typing import NDArray

from chat.memory import confidence
from chat.memory.consolidate import Action, Decision, decide
from chat.memory.extract import Candidate, Extraction, Refusal
from chat.models import Conversation, ExtractionRun, Fact, FactEventKind, Message, Origin

from . import archive, events, graph
from .deletions import may_read
from .facts import reinforce, supersede
from .history import record
from .owners import hold_memory
from .tombstones import Gate


def record_look(
    message: Message,
    extraction: Extraction,
    vectors: Sequence[NDArray[np.float32] | None],
    embedder_name: str,
    seconds: float,
) -> ExtractionRun | None:
    """Store what a look found and move the watermark past the message; None when it was read before.

    Raises Undecided while a clear-all that came after the message can still be undone.

    `vectors` has one entry a candidate. One short transaction without a model call, so a process killed at
    any moment repeats the look and stores nothing twice.
    """
    with transaction.atomic():
        conversation = Conversation.objects.select_for_update().get(pk=message.conversation_id)
        if conversation.extracted_through >= message.seq:
            return None
        hold_memory(conversation.owner_id)
        if not may_read(conversation.owner, message.created_at):
            extraction = Extraction(refused=[Refusal("", _("You cleared all memory after you wrote this."))])
            vectors = []
        run = ExtractionRun(
            message=message,
            read=extraction.usage is not None,
            error=extraction.error[:300],
            seconds=seconds,
        )
        gate = Gate(message)
        refused = [gate.cover(r) for r in extraction.refused]
        live = list(Fact.objects.for_owner(conversation.owner).live())
        known = {fact.pk for fact in live}
        for candidate, vector in zip(extraction.candidates, vectors, strict=True):
            if reason := gate.against(candidate, vector, embedder_name):
                refused.append(Refusal("", reason))
                continue
            decision = decide(candidate, vector, live, embedder_name)
            _apply(decision, candidate, vector, embedder_name, message, live)
            run.stored += decision.action is not Action.REINFORCE
            run.reinforced += decision.action is Action.REINFORCE
        run.refused = [{"text": r.text, "reason": r.reason} for r in refused]
        run.save()
        if run.stored:
            added = [fact.pk for fact in live if fact.pk not in known]
            archive.evict(conversation.owner, timezone.now(), keep=added)
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
        live.remove(decision.target)
        supersede(decision.target, fact, "memory", decision.reason, source=message)


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
