"""Stores what memory extracted from a message."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any
from uuid import UUID

import numpy as np
from django.db import transaction
from django.utils import timezone
from numpy.typing import NDArray

from chat.memory import confidence
from chat.memory.candidates import DUPLICATE, Extraction, FactCandidate, RefusedFact
from chat.memory.consolidate import Action, Decision, Opinion, decide_action, find_repeated_fact
from chat.memory.fact_dates import FactDates
from chat.memory.kinds import KINDS
from chat.memory.subjects import extract_subject
from chat.models import (
    Category,
    Conversation,
    Durability,
    ExtractionRun,
    Fact,
    FactEventKind,
    Message,
    Origin,
)

from . import archive, events, graph, heard_once, jobs, retraction
from .deletions import is_extraction_allowed
from .fact_events import record_event
from .facts import reinforce_fact
from .owners import lock_memory
from .supersession import supersede
from .tombstones import RelearningGuard

logger = logging.getLogger(__name__)


def record_extraction(
    message: Message,
    extraction: Extraction,
    vectors: Sequence[NDArray[np.float32] | None],
    embedder_name: str,
    seconds: float,
    *,
    opinions: Sequence[Opinion | None] = (),
    endings: Sequence[Opinion] = (),
) -> ExtractionRun | None:
    """Store the facts extracted from a message, with history and run, and move the watermark past it.

    `vectors` holds one float32 vector of shape (dimensions,) per candidate, or None where there is no
    embedding. `opinions` holds the model's opinion per candidate, or is empty. `endings` are facts that a
    sentence ended without stating another. `seconds` is how long the extraction took.

    One short transaction without a model call: a process killed at any moment repeats the extraction and
    stores nothing twice. Returns None when the message was extracted before, or it was replaced or its
    conversation deleted meanwhile. Raises Undecided while a clear-all requested after the message can still
    be undone.
    """
    with transaction.atomic():
        lock_memory(message.conversation.owner_id)
        rows = Conversation.objects.select_for_update().not_deleted().filter(pk=message.conversation_id)
        conversation = rows.first()
        if conversation is None or conversation.extraction_through >= message.seq:
            return None
        if not Message.objects.filter(pk=message.pk, replaced_by=None).exists():
            # It was edited while the model read it.
            return None
        if not is_extraction_allowed(conversation.owner, message.said_at):
            extraction = Extraction(refused=[RefusedFact("", "memory-cleared-since")])
            vectors, opinions, endings = [], (), ()
        recorder = _ExtractionRecorder(message, extraction, embedder_name, seconds)
        opinion_of_each = opinions or [None] * len(extraction.candidates)
        for candidate, vector, opinion in zip(extraction.candidates, vectors, opinion_of_each, strict=True):
            recorder.add_candidate(candidate, vector, opinion)
        for ending in endings:
            recorder.end_fact(ending)
        recorder.finish()
        conversation.extracted_through = message.seq
        conversation.save(update_fields=["extracted_through"])
    return recorder.run


class _ExtractionRecorder:
    """Stores one extraction in one transaction, and tracks the live facts while they change."""

    def __init__(self, message: Message, extraction: Extraction, embedder_name: str, seconds: float) -> None:
        self.message, self.embedder_name = message, embedder_name
        self.owner = message.conversation.owner
        self.guard = RelearningGuard(message)
        self.refused = [self.guard.redact_refusal(refusal) for refusal in extraction.refused]
        self.live = list(Fact.objects.for_owner(self.owner).live())
        self.heard_once = list(Fact.objects.for_owner(self.owner).heard_once())
        self.project_facts = heard_once.count_project_facts(message)
        self.retracted = retraction.find_retracted(self.owner)
        self.known = {fact.pk for fact in self.live}
        self.mentioned: set[UUID] = set()
        self.run = ExtractionRun(
            message=message,
            read=extraction.usage is not None,
            error=extraction.error[:300],
            seconds=seconds,
        )

    def add_candidate(
        self, candidate: FactCandidate, vector: NDArray[np.float32] | None, opinion: Opinion | None
    ) -> None:
        """Apply one candidate: reinforce, end, confirm or add a fact, or refuse the candidate."""
        if reason := self.guard.find_objection(candidate, vector, self.embedder_name):
            self.refused.append(RefusedFact("", reason))
            return
        decision = decide_action(candidate, vector, self.live, self.embedder_name, opinion)
        target = decision.target
        same = find_repeated_fact(candidate, vector, self.retracted, self.embedder_name)
        if same is not None and decision.action in (Action.ADD, Action.SUPERSEDE):
            self._teach_again(same, candidate, decision)
        elif target is not None and decision.action is Action.REINFORCE:
            self._reinforce(target, candidate, decision.reason)
        elif target is not None and decision.action is Action.END:
            self._archive_ended(target, decision.reason)
        elif target is None and (heard := self._find_heard_once(candidate, vector)) is not None:
            self._confirm(heard, candidate)
        else:
            self._add(candidate, vector, decision)

    def end_fact(self, ending: Opinion) -> None:
        """End a fact, unless a candidate of the same message has replaced it meanwhile."""
        ended = ending.to_decision([fact for fact in self.live if fact.pk in self.known])
        if ended is not None and ended.target is not None:
            self._archive_ended(ended.target, ended.reason)

    def finish(self) -> None:
        """Save the run, evict facts above the cap and notify the pages."""
        self.run.refused = [{"text": r.text, "reason": r.reason} for r in self.refused]
        self.run.save()
        if self.run.stored:
            added = [fact.pk for fact in self.live if fact.pk not in self.known]
            archive.evict_facts(self.owner, timezone.now(), keep=added)
        if self.run.stored or self.run.ended:
            events.send_on_commit(self.owner.pk, "facts")
            _notify_reply(self.message)

    def _add(self, candidate: FactCandidate, vector: NDArray[np.float32] | None, decision: Decision) -> None:
        if decision.text and decision.target is not None:
            candidate, vector = _merge(candidate, decision.target, decision.text), None
            jobs.enqueue("reindex", {}, key="reindex")
        fact = _new_fact(candidate, vector, self.embedder_name, self.message)
        if decision.target is None and (doubt := self._find_doubt(candidate)):
            heard_once.keep_heard_once(fact, self.message, doubt)
            self.heard_once.append(fact)
            self.mentioned.add(fact.pk)
            return
        self.project_facts += decision.target is None and candidate.category == Category.PROJECT.value
        record_event(fact, FactEventKind.ADD, "memory", reason=decision.reason, source=self.message)
        graph.sync_fact(fact)
        self.live.append(fact)
        self.mentioned.add(fact.pk)
        self.run.stored += 1
        if decision.target is not None:
            self.live.remove(decision.target)
            supersede(decision.target, fact, "memory", decision.reason, source=self.message)

    def _find_doubt(self, candidate: FactCandidate) -> str:
        """Return why a new fact has to wait for a second mention; "" if it becomes live at once."""
        if candidate.durability is Durability.DOUBTFUL:
            return heard_once.FOR_SECOND_MENTION
        is_limited = candidate.category == Category.PROJECT.value and not candidate.explicit
        if is_limited and self.project_facts >= heard_once.MAX_PROJECT_FACTS:
            return heard_once.ONE_OF_MANY
        return ""

    def _find_heard_once(self, candidate: FactCandidate, vector: NDArray[np.float32] | None) -> Fact | None:
        """Return the fact that was heard once and that the candidate repeats."""
        return find_repeated_fact(candidate, vector, self.heard_once, self.embedder_name)

    def _confirm(self, fact: Fact, candidate: FactCandidate) -> None:
        if fact.pk in self.mentioned:
            self._refuse_duplicate(candidate)
            return
        self.heard_once.remove(fact)
        self.project_facts += fact.category == Category.PROJECT.value
        self.live.append(heard_once.confirm_heard_fact(fact, self.message))
        self.mentioned.add(fact.pk)
        self.run.stored += 1

    def _teach_again(self, fact: Fact, candidate: FactCandidate, decision: Decision) -> None:
        self.retracted.remove(fact)
        retraction.teach_again(fact, candidate, self.message)
        self.live.append(fact)
        self.mentioned.add(fact.pk)
        self.run.stored += 1
        if decision.target is not None:
            self.live.remove(decision.target)
            supersede(decision.target, fact, "memory", decision.reason, source=self.message)

    def _reinforce(self, fact: Fact, candidate: FactCandidate, reason: str) -> None:
        # A message counts as one mention of a fact, even if it states it twice ("My wife is Ximena, we're
        # married").
        if fact.pk in self.mentioned:
            self._refuse_duplicate(candidate)
            return
        reinforce_fact(fact, "memory", reason, source=self.message)
        self.mentioned.add(fact.pk)
        self.run.reinforced += 1

    def _refuse_duplicate(self, candidate: FactCandidate) -> None:
        self.refused.append(self.guard.redact_refusal(RefusedFact(candidate.text, DUPLICATE)))

    def _archive_ended(self, fact: Fact, reason: str) -> None:
        self.live.remove(fact)
        archive.archive_ended_fact(fact, reason, self.message)
        self.run.ended += 1


def _merge(candidate: FactCandidate, fact: Fact, text: str) -> FactCandidate:
    """Return the candidate with a text that says what the stored fact says as well, and with both quotes."""
    return replace(
        candidate,
        text=text,
        kind=fact.kind,
        category=KINDS[fact.kind].category,
        subject=extract_subject(fact.kind, text),
        quote=" … ".join(filter(None, (fact.quote, candidate.quote)))[:300],
        dates=FactDates(
            candidate.dates.holds_from or fact.holds_from,
            candidate.dates.holds_until or fact.holds_until,
            candidate.dates.said_on or fact.said_on,
        ),
    )


def _new_fact(
    candidate: FactCandidate, vector: NDArray[np.float32] | None, embedder_name: str, message: Message
) -> Fact:
    now: Any = timezone.now()
    origin = Origin.TOLD if candidate.explicit else Origin.EXTRACTED
    return Fact.objects.create(
        owner=message.conversation.owner,
        text=candidate.text[:300],
        category=candidate.category,
        kind=candidate.kind,
        subject=candidate.subject,
        confidence=confidence.get_initial_confidence(origin),
        first_seen=now,
        last_seen=now,
        last_used=now,
        origin=origin,
        quote=candidate.quote,
        durability="" if vector is None else candidate.durability,
        language=candidate.language,
        source_conversation=message.conversation,
        last_seen_conversation=message.conversation,
        source_message=message,
        **asdict(candidate.dates),
        embedding=None if vector is None else vector.astype(np.float32).tobytes(),
        embedder="" if vector is None else embedder_name,
    )


def _notify_reply(message: Message) -> None:
    reply = (
        Message.objects.filter(conversation=message.conversation)
        .current_branch()
        .filter(seq__gt=message.seq)
        .first()
    )
    if reply is not None:
        events.send_on_commit(message.conversation.owner_id, "message", id=str(reply.pk))
