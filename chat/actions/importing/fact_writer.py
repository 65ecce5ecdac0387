"""Writes imported facts: new ones behind the staging batch, then visible; and changes to existing ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from chat.actions import archive, events, graph, jobs, supersession
from chat.actions.fact_events import SYSTEM, USER, build_event, snapshot
from chat.actions.facts import MAX_PINNED, queue_classification
from chat.actions.owners import lock_memory
from chat.memory import evict as rule
from chat.memory.kinds import KINDS
from chat.models import Deletion, Fact, FactEvent, FactEventKind, Origin, User
from chat.porting.shapes import ImportedFact, ImportedGraph

from .chats import ChatImporter
from .fact_rows import FactRows, FactSources, add_relationships
from .facts import FactPlan, is_live
from .id_map import fetch_columns, insert_rows, split_into_batches
from .staging import keep_batch_alive, publish_batch

_FACTS_AT_ONCE = 300
_NO_ROOM = "no room for it when it was imported"
_NO_PIN = f"{MAX_PINNED} are pinned already"
_IMPORTED = "imported"
_CHANGES_AT_ONCE = 20


class FactWriter:
    """Writes the new facts of a plan, hidden by the staging batch until `show`.

    Afterwards `live` holds the keys of the new facts that are live.
    """

    def __init__(self, owner: User, batch: Deletion, chats: ChatImporter, given_graph: ImportedGraph) -> None:
        self._owner, self._batch, self._chats, self._given_graph = owner, batch, chats, given_graph
        # By the file's id: the key written, and what the plan said about it then.
        self._staged: dict[UUID, UUID] = {}
        self._archived: set[UUID] = set()
        self._unpinned: set[UUID] = set()
        # The file's ids of facts without a relationship in the file.
        self._without_relationships: set[UUID] = set()
        self.live: list[UUID] = []

    def stage(self, plan: FactPlan) -> None:
        """Write all new facts, in short transactions. Raises Refused when the staging batch is gone."""
        # A superseded fact is written before its successor.
        for portion in split_into_batches(plan.added[::-1], _FACTS_AT_ONCE):
            with transaction.atomic():
                lock_memory(self._owner.pk)
                keep_batch_alive(self._batch)
                self._write(plan, portion)
        # Links to facts that the file lists in another order are set once these exist.
        for links in split_into_batches(self._find_unlinked(plan), _FACTS_AT_ONCE):
            with transaction.atomic():
                lock_memory(self._owner.pk)
                keep_batch_alive(self._batch)
                for key, older in links:
                    Fact.objects.filter(pk=key).update(supersedes=older)

    def show(self, plan: FactPlan) -> None:
        """Adjust the staged facts to the present plan, and end the batch; in the caller's transaction.

        The plan must be made in this transaction: what was learned or deleted while the file was read
        counts.
        """
        wanted = {fact.id: fact for fact in plan.added}
        dropped = [self._staged[key] for key in self._staged.keys() - wanted.keys()]
        for portion in split_into_batches(dropped):
            Fact.objects.filter(pk__in=portion).delete()
        if dropped:
            graph.delete_orphans(self._owner)
        self._write(plan, [fact for fact in plan.added if fact.id not in self._staged])
        publish_batch(self._batch)
        self._apply_caps(plan)
        self._join_chains(plan)
        live = [fact for fact in plan.added if is_live(fact) and fact.id not in plan.archived]
        self.live = [plan.keys[fact.id] for fact in live]
        # Facts without a language and without relationships have only a guessed kind.
        unsorted = {f.id for f in live if not f.language and f.origin == Origin.MANUAL and f.version == 1}
        for row in self._rows(unsorted & self._without_relationships):
            queue_classification(row)

    def _write(self, plan: FactPlan, given: Sequence[ImportedFact]) -> None:
        if not given:
            return
        older = {plan.keys[f.supersedes] for f in given if f.supersedes in plan.keys}
        there = {pk for (pk,) in fetch_columns(Fact.objects.for_owner(self._owner), "pk", older, "pk")}
        own = {plan.keys[fact.id] for fact in given}
        builder = FactRows(plan, FactSources(self._owner, given, self._chats), there | own)
        now = timezone.now()
        facts, events = [], []
        for fact in given:
            row = builder.build_fact(fact)
            row.deletion = self._batch
            facts.append(row)
            events += builder.build_events(fact)
            if fact.id in plan.archived:
                row.archived_at = now
                events.append(
                    build_event(row, FactEventKind.EVICT, SYSTEM, before=snapshot(row), reason=_NO_ROOM)
                )
            elif fact.id in plan.unpinned:
                events.append(build_event(row, FactEventKind.UNPIN, USER, reason=_NO_PIN))
        insert_rows(Fact, facts)
        insert_rows(FactEvent, events)
        self._without_relationships |= add_relationships(
            self._owner, self._given_graph, plan.keys, {f.id for f in given}, plan.archived
        )
        self._staged |= {fact.id: plan.keys[fact.id] for fact in given}
        self._archived |= plan.archived & self._staged.keys()
        self._unpinned |= (plan.unpinned - plan.archived) & self._staged.keys()

    def _find_unlinked(self, plan: FactPlan) -> list[tuple[UUID, UUID]]:
        wanted = {
            self._staged[fact.id]: self._staged[fact.supersedes]
            for fact in plan.added
            if fact.supersedes in self._staged
        }
        rows = fetch_columns(Fact.objects.filter(supersedes=None), "pk", wanted, "pk")
        return [(key, wanted[key]) for (key,) in rows]

    def _apply_caps(self, plan: FactPlan) -> None:
        """Apply archiving and pins that were decided differently when the facts were written."""
        newly_archived = self._rows(plan.archived - self._archived)
        Fact.objects.filter(pk__in=[fact.pk for fact in newly_archived]).update(pinned=False)
        archive.archive_facts(newly_archived, FactEventKind.EVICT, _NO_ROOM, timezone.now())
        restored = self._rows(self._archived - plan.archived)
        Fact.objects.filter(pk__in=[fact.pk for fact in restored]).update(archived_at=None)
        _delete_events(restored, _NO_ROOM)
        unpinned = self._rows(plan.unpinned - plan.archived - self._unpinned)
        Fact.objects.filter(pk__in=[fact.pk for fact in unpinned]).update(pinned=False)
        FactEvent.objects.bulk_create(
            build_event(f, FactEventKind.UNPIN, USER, reason=_NO_PIN) for f in unpinned
        )
        pinned = self._rows(self._unpinned - plan.unpinned - plan.archived)
        Fact.objects.filter(pk__in=[fact.pk for fact in pinned]).update(pinned=True)
        _delete_events(pinned, _NO_PIN)

    def _rows(self, given: Collection[UUID]) -> list[Fact]:
        keys = [self._staged[key] for key in given if key in self._staged]
        return list(Fact.objects.for_owner(self._owner).filter(pk__in=keys))

    def _join_chains(self, plan: FactPlan) -> None:
        """Link what a file's fact superseded to the local fact with the same text."""
        joined = [
            (plan.keys[fact.id], self._staged[fact.supersedes])
            for fact in plan.given
            if fact.supersedes in self._staged
            and fact.id not in self._staged
            and plan.keys[fact.id] not in plan.existing
        ]
        supersession.append_chains(self._owner, joined)


def _delete_events(facts: Collection[Fact], reason: str) -> None:
    FactEvent.objects.filter(fact__in=facts, reason=reason).delete()


def queue_finish(owner: User, keys: Collection[UUID], *, more: bool) -> None:
    """Queue the graph and single values to be finished, in case this process is killed; in a transaction.

    `keys` are the new live facts; with `more` the graph has other facts to read, at low priority.
    """
    for portion in split_into_batches(keys):
        jobs.enqueue("finish_import", {"owner": owner.pk, "facts": [str(key) for key in portion]})
    if more:
        jobs.enqueue("catch_up_graph", {}, key="catch_up_graph")


def resolve_single_values(owner: User, keys: Collection[UUID]) -> None:
    """Keep one live value of each single-valued kind; in the transaction that makes the new facts visible.

    Readers therefore never see two. Few facts are concerned, because the number of live facts is limited.
    """
    for key in keys:
        fact = Fact.objects.filter(owner=owner).live().select_related("owner").filter(pk=key).first()
        if fact is not None:
            supersession.keep_one_value(fact, USER, _IMPORTED)


def finish_import(owner_id: Any, keys: Iterable[Any]) -> None:
    """Build the graph for these facts and check single values again; idempotent.

    One short transaction per fact. The job `finish_import` calls it after a kill.
    """
    for key in keys:
        with transaction.atomic():
            lock_memory(owner_id)
            fact = Fact.objects.filter(owner=owner_id).live().select_related("owner").filter(pk=key).first()
            if fact is not None:
                if not fact.relationships.exists():
                    graph.sync_fact(fact)
                supersession.keep_one_value(fact, USER, _IMPORTED)
    events.send_on_commit(owner_id, "facts")


def update_changed_facts(plan: FactPlan, chats: ChatImporter) -> None:
    """Update existing facts to the file's state, where they have not changed here meanwhile.

    Several short transactions; after a kill, importing the same file again does the rest.
    """
    for portion in split_into_batches(plan.changed, _CHANGES_AT_ONCE):
        with transaction.atomic():
            lock_memory(plan.owner.pk)
            _update_portion(plan, portion, chats)
            events.send_on_commit(plan.owner.pk, "facts")


def _update_portion(plan: FactPlan, portion: Collection[ImportedFact], chats: ChatImporter) -> None:
    wanted = [plan.keys[fact.id] for fact in portion]
    mine = Fact.objects.for_owner(plan.owner).filter(pk__in=wanted, deletion=None)
    existing = {fact.pk: fact for fact in mine.select_related("owner").select_for_update(of=("self",))}
    # A fact with an event that the plan did not know has changed since.
    known = {pk for key in wanted for pk in plan.events.get(key, ())}
    new_events = FactEvent.objects.filter(fact__in=wanted).exclude(pk__in=known)
    newly_archived = set(new_events.values_list("fact", flat=True))
    older = {plan.keys[fact.supersedes] for fact in portion if fact.supersedes in plan.keys}
    there = set(Fact.objects.for_owner(plan.owner).filter(pk__in=older).values_list("pk", flat=True))
    builder = FactRows(plan, FactSources(plan.owner, list(portion), chats), there)
    for given in portion:
        row = existing.get(plan.keys[given.id])
        if row is None or row.pk in newly_archived:
            continue
        old_text, pinned = row.text, row.pinned
        for name, value in builder.build_columns(given).items():
            setattr(row, name, value)
        # An update from the file neither takes a pin away from another fact nor exceeds the limit.
        row.pinned = row.pinned and (pinned or _has_free_pin(plan.owner))
        if row.text != old_text:
            row.embedding, row.embedder = None, ""
        row.save()
        graph.sync_fact(row)
        FactEvent.objects.bulk_create(builder.build_events(given))
        if is_live(given) and KINDS[given.kind].single:
            supersession.keep_one_value(row, USER, _IMPORTED)
    if Fact.objects.filter(owner=plan.owner).live().count() > rule.CAP:
        archive.evict_facts(plan.owner, timezone.now())


def _has_free_pin(owner: User) -> bool:
    return Fact.objects.filter(owner=owner, pinned=True).count() < MAX_PINNED
