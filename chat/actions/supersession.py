"""Which fact superseded which: a chain from a live fact back through all that it replaced."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from uuid import UUID

from django.utils import timezone

from chat.memory.kinds import KINDS
from chat.models import Fact, FactEvent, FactEventKind, Message, User

from . import graph
from .fact_events import record_event, snapshot

UNDO_REASON = "undo"
EDIT_REASON = "a message was edited"
# Events that give a fact its value. These reasons keep the date of the value that they restore.
_DATE_KEEPING_REASONS = (UNDO_REASON, EDIT_REASON)
_VALUE_EVENTS = (FactEventKind.ADD, FactEventKind.EDIT, FactEventKind.UPDATE, FactEventKind.RESTORE)


def supersede(
    old: Fact, new: Fact, actor: str, reason: str, source: Message | None = None, *, late: bool = False
) -> None:
    """Supersede a fact by another, which inherits its pin; in a transaction. The only function that does so.

    `late` says that the old fact is older than all that the new one has superseded already.
    """
    before = snapshot(old)
    # The user pinned the subject, not one wording.
    new.pinned = new.pinned or old.pinned
    old.superseded_at, old.pinned = timezone.now(), False
    old.save(update_fields=["superseded_at", "pinned"])
    if late:
        append_chain(new, old.pk)
    else:
        _link(old, new)
    new.save(update_fields=["pinned", "supersedes"])
    record_event(old, FactEventKind.SUPERSEDE, actor, before=before, reason=reason, source=source)
    graph.sync_fact(old)


def keep_one_value(fact: Fact, actor: str, reason: str, *, newest: bool = False) -> Fact:
    """Keep one live value for the kind and subject of a live fact, the latest one, and return it.

    `newest` says that this fact's value is the latest, whatever its events say. In a transaction.
    """
    if not KINDS[fact.kind].single:
        return fact
    live = Fact.objects.filter(owner=fact.owner_id).live()
    rivals = list(live.filter(kind=fact.kind, subject=fact.subject).exclude(pk=fact.pk))
    learned = {} if newest or not rivals else find_value_dates([fact, *rivals])
    for rival in rivals:
        if newest or learned[fact.pk] > learned[rival.pk]:
            supersede(rival, fact, actor, reason)
        else:
            supersede(fact, rival, actor, reason, late=True)
            fact = rival
    return fact


def find_value_dates(facts: Collection[Fact]) -> dict[UUID, datetime]:
    """Return since when each fact has its present value."""
    since = {fact.pk: fact.first_seen for fact in facts}
    events = FactEvent.objects.filter(fact__in=facts, kind__in=_VALUE_EVENTS).exclude(
        reason__in=_DATE_KEEPING_REASONS
    )
    for event in events.order_by("created_at"):
        if event.kind != FactEventKind.UPDATE or event.before.get("text") != event.after.get("text"):
            since[event.fact_id] = event.created_at
    return since


def find_ancestor_ids(owner_id: int, ids: Iterable[UUID]) -> list[UUID]:
    """Return the keys of all facts that these superseded, nearest first. One query."""
    found: dict[UUID, None] = {}
    for chain in find_chains(owner_id, ids).values():
        found.update(dict.fromkeys(chain))
    return list(found)


def find_chains(owner_id: int, ids: Iterable[UUID]) -> dict[UUID, list[UUID]]:
    """Return for each key those of the facts that it superseded, nearest first. One query."""
    parents: dict[UUID, UUID | None] = dict(
        Fact.objects.filter(owner=owner_id, supersedes__isnull=False).values_list("pk", "supersedes_id")
    )
    chains = {}
    for pk in ids:
        chain: dict[UUID, None] = {}
        superseded = parents.get(pk)
        while superseded is not None and superseded not in chain:
            chain[superseded] = None
            superseded = parents.get(superseded)
        chains[pk] = list(chain)
    return chains


def detach_from_successor(fact: Fact) -> None:
    """Remove a fact, with all that it superseded, from the chain of its successor."""
    Fact.objects.filter(supersedes=fact).update(supersedes=None)


def append_chain(fact: Fact, older_id: UUID | None) -> None:
    """Append another chain to the old end of a fact's chain; does nothing when they are joined already."""
    if older_id is None:
        return
    chain = find_ancestor_ids(fact.owner_id, [fact.pk])
    if older_id in chain or fact.pk in (older_id, *find_ancestor_ids(fact.owner_id, [older_id])):
        return
    last = chain[-1] if chain else fact.pk
    Fact.objects.filter(pk=last).update(supersedes=older_id)
    if last == fact.pk:
        fact.supersedes_id = older_id


def append_chains(owner: User, pairs: Collection[tuple[UUID, UUID]]) -> None:
    """Append several chains as `append_chain` does, with one read for all.

    Each pair is (a fact, the first fact of the older chain). Unknown and joined ones are skipped.
    """
    if not pairs:
        return
    superseded: dict[UUID, UUID | None] = dict(
        Fact.objects.filter(owner=owner).values_list("pk", "supersedes_id")
    )
    # By fact: the end of its chain, as far as it was followed already.
    known_ends: dict[UUID, UUID] = {}
    for newer, older in pairs:
        if newer in superseded and older in superseded:
            last = _find_end(newer, superseded, known_ends)
            if last != _find_end(older, superseded, known_ends):
                superseded[last] = older
                Fact.objects.filter(pk=last).update(supersedes=older)


def _find_end(key: UUID, superseded: dict[UUID, UUID | None], known_ends: dict[UUID, UUID]) -> UUID:
    visited = {key}
    while (further := known_ends.get(key) or superseded.get(key)) is not None and further not in visited:
        key = further
        visited.add(key)
    known_ends.update((visited_key, key) for visited_key in visited if visited_key != key)
    return key


def bridge_chains(ids: Collection[UUID]) -> None:
    """Link the chains across facts that are about to be deleted, so that the older parts stay reachable."""
    removed = {fact.pk: fact.supersedes_id for fact in Fact.objects.filter(pk__in=ids).only("supersedes")}
    for child in Fact.objects.filter(supersedes__in=ids).exclude(pk__in=ids).only("supersedes"):
        superseded = child.supersedes_id
        while superseded in removed:
            superseded = removed[superseded]
        Fact.objects.filter(pk=child.pk).update(supersedes=superseded)


def _link(old: Fact, new: Fact) -> None:
    # A restored fact leaves its old place first, so that chains never form a cycle.
    detach_from_successor(new)
    append_chain(old, new.supersedes_id)
    new.supersedes = old
