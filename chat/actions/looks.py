"""Applies what memory found in one message: facts, history, the look and the watermark, all or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import numpy as np
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from numpy.typing import NDArray

from chat.memory import confidence, told
from chat.memory.consolidate import Action, Decision, Opinion, decide
from chat.memory.extract import DUPLICATE, Candidate, Extraction, Refusal
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
    *,
    opinions: Sequence[Opinion | None] = (),
    endings: Sequence[Opinion] = (),
) -> ExtractionRun | None:
    """Store what a look found and move the watermark past the message.

    Returns None when it was read before, or its conversation was deleted meanwhile.

    Raises Undecided while a clear-all that came after the message can still be undone.

    `vectors` has one entry a candidate, `opinions` too or none at all: what the model thought of it.
    `endings` are facts that a sentence ended without saying anything else. One short transaction without a
    model call, so a process killed at any moment repeats the look and stores nothing twice.
    """
    with transaction.atomic():
        hold_memory(message.conversation.owner_id)
        there = Conversation.objects.select_for_update().kept().filter(pk=message.conversation_id)
        conversation = there.first()
        if conversation is None or conversation.read_through >= message.seq:
            return None
        if not may_read(conversation.owner, message.created_at):
            extraction = Extraction(refused=[Refusal("", _("You cleared all memory after you wrote this."))])
            vectors, opinions, endings = [], (), ()
        look = _Look(message, extraction, embedder_name, seconds)
        thought = opinions or [None] * len(extraction.candidates)
        for candidate, vector, opinion in zip(extraction.candidates, vectors, thought, strict=True):
            look.take(candidate, vector, opinion)
        for ending in endings:
            look.end(ending)
        look.close()
        conversation.extracted_through = message.seq
        conversation.save(update_fields=["extracted_through"])
    return look.run


def is_asked_for(conversation: Conversation) -> bool:
    """Tell whether a message that waits here says "Remember that …"; what stands before it is read first."""
    said = Message.objects.unread_by_memory(conversation).values_list("content", flat=True)
    return any(told.asks(text) for text in said)


class _Look:
    """One look while it is being stored, in one transaction: the live facts as they change, and the run."""

    def __init__(self, message: Message, extraction: Extraction, embedder_name: str, seconds: float) -> None:
        self.message, self.embedder_name = message, embedder_name
        self.owner = message.conversation.owner
        self.gate = Gate(message)
        self.refused = [self.gate.cover(refusal) for refusal in extraction.refused]
        self.live = list(Fact.objects.for_owner(self.owner).live())
        self.known = {fact.pk for fact in self.live}
        self.heard: set[UUID] = set()
        self.run = ExtractionRun(
            message=message,
            read=extraction.usage is not None,
            error=extraction.error[:300],
            seconds=seconds,
        )

    def take(self, candidate: Candidate, vector: NDArray[np.float32] | None, opinion: Opinion | None) -> None:
        """Do what a candidate does to the live facts."""
        if reason := self.gate.against(candidate, vector, self.embedder_name):
            self.refused.append(Refusal("", reason))
            return
        decision = decide(candidate, vector, self.live, self.embedder_name, opinion)
        target = decision.target
        if target is not None and decision.action is Action.REINFORCE:
            self._hear_again(target, candidate, decision.reason)
        elif target is not None and decision.action is Action.END:
            self._over(target, decision.reason)
        else:
            self._add(candidate, vector, decision)

    def end(self, ending: Opinion) -> None:
        """End a fact, unless a candidate of the same message has said more of it meanwhile."""
        over = ending.holds([fact for fact in self.live if fact.pk in self.known])
        if over is not None and over.target is not None:
            self._over(over.target, over.reason)

    def close(self) -> None:
        """Save the run, keep the cap and tell the pages."""
        self.run.refused = [{"text": r.text, "reason": r.reason} for r in self.refused]
        self.run.save()
        if self.run.stored:
            added = [fact.pk for fact in self.live if fact.pk not in self.known]
            archive.evict(self.owner, timezone.now(), keep=added)
        if self.run.stored or self.run.ended:
            events.tell(self.owner.pk, "facts")
            _tell_reply(self.message)

    def _add(self, candidate: Candidate, vector: NDArray[np.float32] | None, decision: Decision) -> None:
        fact = _new_fact(candidate, vector, self.embedder_name, self.message)
        record(fact, FactEventKind.ADD, "memory", reason=decision.reason, source=self.message)
        graph.follow(fact)
        self.live.append(fact)
        self.heard.add(fact.pk)
        self.run.stored += 1
        if decision.target is not None:
            self.live.remove(decision.target)
            supersede(decision.target, fact, "memory", decision.reason, source=self.message)

    def _hear_again(self, fact: Fact, candidate: Candidate, reason: str) -> None:
        # "My wife is Ximena, we're married" says one thing twice: one message mentions a fact once.
        if fact.pk in self.heard:
            self.refused.append(self.gate.cover(Refusal(candidate.text, DUPLICATE)))
            return
        reinforce(fact, "memory", reason, source=self.message)
        self.heard.add(fact.pk)
        self.run.reinforced += 1

    def _over(self, fact: Fact, reason: str) -> None:
        self.live.remove(fact)
        archive.end(fact, reason, self.message)
        self.run.ended += 1


def _new_fact(
    candidate: Candidate, vector: NDArray[np.float32] | None, embedder_name: str, message: Message
) -> Fact:
    now: Any = timezone.now()
    origin = Origin.TOLD if candidate.told else Origin.EXTRACTED
    return Fact.objects.create(
        owner=message.conversation.owner,
        text=candidate.text[:300],
        category=candidate.category,
        kind=candidate.kind,
        subject=candidate.subject,
        confidence=confidence.baseline(origin),
        first_seen=now,
        last_seen=now,
        last_used=now,
        origin=origin,
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
