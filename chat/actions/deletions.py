"""Forgetting with a deadline that the server keeps, undo, and the end (design §5, "Undo and forget")."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from chat.memory.kinds import KINDS
from chat.memory.lines import one_line, without_lines
from chat.memory.similar import normalise
from chat.models import (
    Conversation,
    Deletion,
    DeletionState,
    ExtractionRun,
    Fact,
    FactEventKind,
    Message,
    PromptReport,
)

from . import events, graph, jobs
from .history import record, snapshot
from .messages import Refused

WINDOW = timedelta(seconds=4)  # seed 004: "4-second undo toast"
# A press in the last moment must not lose against the network.
GRACE = timedelta(seconds=1)


class TooLate(Refused):
    """The deadline has passed; what was forgotten is gone."""


def forget(owner: Any, ids: Collection[Any], window: timedelta = WINDOW) -> Deletion:
    """Take facts out of sight at once and for good at the deadline; the batch is undone as one."""
    now = timezone.now()
    with transaction.atomic():
        facts = list(Fact.objects.for_owner(owner).live().select_for_update().filter(pk__in=ids))
        if not facts:
            raise Refused("This memory is gone already.")
        deletion = Deletion.objects.create(owner=owner, pressed_at=now, expires_at=now + window)
        Fact.objects.filter(pk__in=[f.pk for f in facts]).update(deletion=deletion)
        for fact in facts:
            record(fact, FactEventKind.DELETE, "user", before=snapshot(fact))
        jobs.enqueue(
            "finish_deletion",
            {"deletion": str(deletion.pk)},
            key=f"finish_deletion:{deletion.pk}",
            run_after=deletion.expires_at + GRACE,
        )
        events.tell(owner.pk, "facts")
    return deletion


def undo(deletion: Deletion) -> None:
    """Bring a batch back as it was, unless its deadline has passed."""
    now = timezone.now()
    with transaction.atomic():
        won = Deletion.objects.filter(
            pk=deletion.pk, state=DeletionState.PENDING, expires_at__gt=now - GRACE
        ).update(state=DeletionState.UNDONE)
        if not won:
            raise TooLate("It is too late to undo: the memory is gone.")
        facts = list(Fact.objects.filter(deletion=deletion))
        live = list(Fact.objects.for_owner(deletion.owner).live())
        Fact.objects.filter(deletion=deletion).update(deletion=None)
        for fact in facts:
            fact.deletion = None
            _bring_back(fact, live)
        events.tell(deletion.owner_id, "facts")


def _bring_back(fact: Fact, live: list[Fact]) -> None:
    """Let a fact return beside what was learned while it was away."""
    twin = next((f for f in live if normalise(f.text) == normalise(fact.text)), None)
    before = None
    if twin is not None:
        # Its wording stays in the history, so that forgetting finds it wherever a prompt has said it.
        before = snapshot(twin)
        fact.pinned = fact.pinned or twin.pinned
        fact.mention_count += twin.mention_count
        fact.confidence = max(fact.confidence, twin.confidence)
        fact.last_seen = max(fact.last_seen, twin.last_seen)
        fact.save(update_fields=["mention_count", "confidence", "last_seen", "pinned"])
        twin.delete()
    elif KINDS[fact.kind].single:
        newer = next((f for f in live if (f.kind, f.subject) == (fact.kind, fact.subject)), None)
        if newer is not None:
            fact.superseded_at, fact.pinned = timezone.now(), False
            fact.save(update_fields=["superseded_at", "pinned"])
            newer.supersedes = newer.supersedes or fact
            newer.save(update_fields=["supersedes"])
    record(fact, FactEventKind.RESTORE, "user", before=before, reason="undo")
    graph.follow(fact)


def finish(deletion_id: Any, now: datetime) -> bool:
    """Forget a batch for good, if its deadline has passed and nobody undid it; True when this call did it."""
    with transaction.atomic():
        won = Deletion.objects.filter(
            pk=deletion_id, state=DeletionState.PENDING, expires_at__lte=now - GRACE
        ).update(state=DeletionState.DONE)
        if not won:
            return False
        deletion = Deletion.objects.get(pk=deletion_id)
        facts = Fact.objects.filter(deletion=deletion)
        _wipe_traces(deletion.owner, {str(pk) for pk in facts.values_list("pk", flat=True)}, facts.wordings())
        # The history goes with the fact: it holds the same words.
        facts.delete()
        graph.drop_orphans(deletion.owner)
        events.tell(deletion.owner_id, "facts")
    return True


def _wipe_traces(owner: Any, gone_ids: set[str], wordings: Collection[str]) -> None:
    """Take the words of forgotten facts out of notes, blocks, reports and looks; messages stay."""
    gone_lines = {one_line(text) for text in wordings}
    gone_texts = {normalise(text) for text in wordings}
    for line in gone_lines:
        for message in Message.objects.for_owner(owner).filter(note__contains=line):
            message.note = without_lines(message.note, gone_lines)
            message.save(update_fields=["note"])
        Conversation.objects.for_owner(owner).filter(memory_block__contains=line).update(
            memory_block=None, memory_block_facts={}
        )
    for report in PromptReport.objects.for_owner(owner).exclude(facts=[]):
        if gone := gone_ids.intersection(report.facts):
            report.facts = [i for i in report.facts if i not in gone]
            report.save(update_fields=["facts"])
    for run in ExtractionRun.objects.for_owner(owner).exclude(refused=[]):
        kept_refusals = [r for r in run.refused if normalise(r["text"]) not in gone_texts]
        if len(kept_refusals) < len(run.refused):
            run.refused = kept_refusals
            run.save(update_fields=["refused"])


def finish_overdue(now: datetime) -> int:
    """Finish every batch whose deadline passed while the process was away; returns how many."""
    overdue = Deletion.objects.pending().filter(expires_at__lte=now - GRACE).values_list("pk", flat=True)
    return sum(finish(pk, now) for pk in list(overdue))
