"""Which fact took whose place: one chain from a live fact back through all that it replaced."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone

from chat.memory.kinds import KINDS
from chat.models import Fact, FactEvent, FactEventKind, Message

from . import graph
from .history import record, snapshot

UNDO = "undo"
# What gives a fact a value; a return by undo brings the old value back as old as it was.
_VALUED = (FactEventKind.ADD, FactEventKind.EDIT, FactEventKind.UPDATE, FactEventKind.RESTORE)


def supersede(
    old: Fact, new: Fact, actor: str, reason: str, source: Message | None = None, *, late: bool = False
) -> None:
    """Let one fact take the place of another, with its pin; the only place that does, in a transaction.

    `late` says that the old one is older than all that the new one has replaced already.
    """
    before = snapshot(old)
    # The user pinned the matter, not the wording of the day.
    new.pinned = new.pinned or old.pinned
    old.superseded_at, old.pinned = timezone.now(), False
    old.save(update_fields=["superseded_at", "pinned"])
    if late:
        append(new, old.pk)
    else:
        _link(old, new)
    new.save(update_fields=["pinned", "supersedes"])
    record(old, FactEventKind.SUPERSEDE, actor, before=before, reason=reason, source=source)
    graph.follow(old)


def keep_one_value(fact: Fact, actor: str, reason: str, *, newest: bool = False) -> Fact:
    """Leave one live value for the kind and subject of a live fact, the one learned last, and return it.

    `newest` says that the fact's value is the last word, whatever its history tells. In a transaction.
    """
    if not KINDS[fact.kind].single:
        return fact
    live = Fact.objects.filter(owner=fact.owner_id).live()
    rivals = list(live.filter(kind=fact.kind, subject=fact.subject).exclude(pk=fact.pk))
    learned = {} if newest or not rivals else learned_at([fact, *rivals])
    for rival in rivals:
        if newest or learned[fact.pk] > learned[rival.pk]:
            supersede(rival, fact, actor, reason)
        else:
            supersede(fact, rival, actor, reason, late=True)
            fact = rival
    return fact


def learned_at(facts: Collection[Fact]) -> dict[UUID, datetime]:
    """Return since when each fact has had the value that it has now."""
    since = {fact.pk: fact.first_seen for fact in facts}
    events = FactEvent.objects.filter(fact__in=facts, kind__in=_VALUED).exclude(reason=UNDO)
    for event in events.order_by("created_at"):
        if event.kind != FactEventKind.UPDATE or event.before.get("text") != event.after.get("text"):
            since[event.fact_id] = event.created_at
    return since


def ancestor_ids(owner: Any, ids: Iterable[UUID]) -> list[UUID]:
    """Return the keys of all that these facts have replaced, nearest first, in one query."""
    parents: dict[UUID, UUID | None] = dict(
        Fact.objects.filter(owner=owner, supersedes__isnull=False).values_list("pk", "supersedes_id")
    )
    found: dict[UUID, None] = {}
    for pk in ids:
        above = parents.get(pk)
        while above is not None and above not in found:
            found[above] = None
            above = parents.get(above)
    return list(found)


def detach(fact: Fact) -> None:
    """Take a fact, with all that it replaced, out of the chain of whatever replaced it."""
    Fact.objects.filter(supersedes=fact).update(supersedes=None)


def append(fact: Fact, older_id: UUID | None) -> None:
    """Put a chain at the far end of a fact's own."""
    if older_id is None:
        return
    chain = ancestor_ids(fact.owner_id, [fact.pk])
    if older_id in chain or fact.pk in (older_id, *ancestor_ids(fact.owner_id, [older_id])):
        return
    last = chain[-1] if chain else fact.pk
    Fact.objects.filter(pk=last).update(supersedes=older_id)
    if last == fact.pk:
        fact.supersedes_id = older_id


def append_all(owner: Any, pairs: Collection[tuple[UUID, UUID]]) -> None:
    """Put chains at the far ends of those of other facts, as `append` does; one read for all of them.

    Each pair is a fact and the first of the older ones. What is not there, or joined already, is left alone.
    """
    if not pairs:
        return
    above: dict[UUID, UUID | None] = dict(Fact.objects.filter(owner=owner).values_list("pk", "supersedes_id"))
    # Where the way from a fact leads, as far as it was gone already.
    ways: dict[UUID, UUID] = {}
    for newer, older in pairs:
        if newer in above and older in above:
            last = _far_end(newer, above, ways)
            if last != _far_end(older, above, ways):
                above[last] = older
                Fact.objects.filter(pk=last).update(supersedes=older)


def _far_end(key: UUID, above: dict[UUID, UUID | None], ways: dict[UUID, UUID]) -> UUID:
    walked = {key}
    while (further := ways.get(key) or above.get(key)) is not None and further not in walked:
        key = further
        walked.add(key)
    ways.update((passed, key) for passed in walked if passed != key)
    return key


def bypass(ids: Collection[UUID]) -> None:
    """Close the chains over facts that are about to be removed, so that what lies beyond is not lost."""
    leaving = {fact.pk: fact.supersedes_id for fact in Fact.objects.filter(pk__in=ids).only("supersedes")}
    for child in Fact.objects.filter(supersedes__in=ids).exclude(pk__in=ids).only("supersedes"):
        above = child.supersedes_id
        while above in leaving:
            above = leaving[above]
        Fact.objects.filter(pk=child.pk).update(supersedes=above)


def _link(old: Fact, new: Fact) -> None:
    # A fact that was replaced once and is back leaves its old place first: chains never close to a ring.
    detach(new)
    append(old, new.supersedes_id)
    new.supersedes = old
