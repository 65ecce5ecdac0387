"""New facts of an import: written behind its batch in portions, and brought to light at its end."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from chat.actions import archive, graph, lineage
from chat.actions.facts import MAX_PINNED, settle_later
from chat.actions.history import SYSTEM, USER, event, snapshot
from chat.actions.owners import hold_memory
from chat.models import Deletion, Fact, FactEvent, FactEventKind, Origin
from chat.porting.shapes import FactIn, GraphIn

from .chats import Chats
from .facts import Facts, is_live
from .keys import found, in_portions, insert
from .rows import Rows
from .sources import Sources
from .staging import hold, show
from .ties import add_ties

_AT_ONCE = 300
_NO_ROOM = "no room for it when it was imported"
_NO_PIN = f"{MAX_PINNED} are pinned already"


class Storing:
    """Writes what was decided about new facts, each hidden by the batch until `show`.

    `live` are afterwards the keys of those that are known now.
    """

    def __init__(self, owner: Any, batch: Deletion, chats: Chats, tied: GraphIn) -> None:
        self._owner, self._batch, self._chats, self._tied = owner, batch, chats, tied
        # By the key in the file: what was written, and what was decided then.
        self._staged: dict[UUID, UUID] = {}
        self._over: set[UUID] = set()
        self._unpinned: set[UUID] = set()
        # Of which the file ties nothing in the graph.
        self._wordless: set[UUID] = set()
        self.live: list[UUID] = []

    def stage(self, plan: Facts) -> None:
        """Write all of them, in short transactions. Raises Refused where the batch is gone."""
        # What was replaced stands before what replaced it.
        for portion in in_portions(plan.added[::-1], _AT_ONCE):
            with transaction.atomic():
                hold_memory(self._owner.pk)
                hold(self._batch)
                self._write(plan, portion)
        # Where the file's order was another one, the older is here only now.
        for links in in_portions(self._unlinked(plan), _AT_ONCE):
            with transaction.atomic():
                hold_memory(self._owner.pk)
                hold(self._batch)
                for key, older in links:
                    Fact.objects.filter(pk=key).update(supersedes=older)

    def show(self, plan: Facts) -> None:
        """Make them what is decided by now and end the batch; in the caller's transaction.

        The plan is one of this moment: what was learned or forgotten while the file was written counts.
        """
        wanted = {fact.id: fact for fact in plan.added}
        dropped = [self._staged[key] for key in self._staged.keys() - wanted.keys()]
        for portion in in_portions(dropped):
            Fact.objects.filter(pk__in=portion).delete()
        if dropped:
            graph.drop_orphans(self._owner)
        self._write(plan, [fact for fact in plan.added if fact.id not in self._staged])
        show(self._batch)
        self._follow_caps(plan)
        self._join_chains(plan)
        live = [fact for fact in plan.added if is_live(fact) and fact.id not in plan.over]
        self.live = [plan.keys[fact.id] for fact in live]
        # What says nothing of the language it is in was only sorted by rules so far.
        unsorted = {f.id for f in live if not f.language and f.origin == Origin.MANUAL and f.version == 1}
        for row in self._rows(unsorted & self._wordless):
            settle_later(row)

    def _write(self, plan: Facts, given: Sequence[FactIn]) -> None:
        if not given:
            return
        older = {plan.keys[f.supersedes] for f in given if f.supersedes in plan.keys}
        there = {pk for (pk,) in found(Fact.objects.for_owner(self._owner), "pk", older, "pk")}
        own = {plan.keys[fact.id] for fact in given}
        makes = Rows(plan, Sources(self._owner, given, self._chats), there | own)
        now = timezone.now()
        facts, events = [], []
        for fact in given:
            row = makes.fact(fact)
            row.deletion = self._batch
            facts.append(row)
            events += makes.history(fact)
            if fact.id in plan.over:
                row.archived_at = now
                events.append(event(row, FactEventKind.EVICT, SYSTEM, before=snapshot(row), reason=_NO_ROOM))
            elif fact.id in plan.unpinned:
                events.append(event(row, FactEventKind.UNPIN, USER, reason=_NO_PIN))
        insert(Fact, facts)
        insert(FactEvent, events)
        self._wordless |= add_ties(self._owner, self._tied, plan.keys, {f.id for f in given}, plan.over)
        self._staged |= {fact.id: plan.keys[fact.id] for fact in given}
        self._over |= plan.over & self._staged.keys()
        self._unpinned |= (plan.unpinned - plan.over) & self._staged.keys()

    def _unlinked(self, plan: Facts) -> list[tuple[UUID, UUID]]:
        wanted = {
            self._staged[fact.id]: self._staged[fact.supersedes]
            for fact in plan.added
            if fact.supersedes in self._staged
        }
        rows = found(Fact.objects.filter(supersedes=None), "pk", wanted, "pk")
        return [(key, wanted[key]) for (key,) in rows]

    def _follow_caps(self, plan: Facts) -> None:
        """Give and take places and pins where that was decided otherwise than when they were written."""
        fresh = self._rows(plan.over - self._over)
        Fact.objects.filter(pk__in=[fact.pk for fact in fresh]).update(pinned=False)
        archive.put_away(fresh, FactEventKind.EVICT, _NO_ROOM, timezone.now())
        back = self._rows(self._over - plan.over)
        Fact.objects.filter(pk__in=[fact.pk for fact in back]).update(archived_at=None)
        _never_was(back, _NO_ROOM)
        unpinned = self._rows(plan.unpinned - plan.over - self._unpinned)
        Fact.objects.filter(pk__in=[fact.pk for fact in unpinned]).update(pinned=False)
        FactEvent.objects.bulk_create(event(f, FactEventKind.UNPIN, USER, reason=_NO_PIN) for f in unpinned)
        pinned = self._rows(self._unpinned - plan.unpinned - plan.over)
        Fact.objects.filter(pk__in=[fact.pk for fact in pinned]).update(pinned=True)
        _never_was(pinned, _NO_PIN)

    def _rows(self, given: Collection[UUID]) -> list[Fact]:
        keys = [self._staged[key] for key in given if key in self._staged]
        return list(Fact.objects.for_owner(self._owner).filter(pk__in=keys))

    def _join_chains(self, plan: Facts) -> None:
        """What a fact of the file had replaced hangs on the fact of here that says the same."""
        joined = [
            (plan.keys[fact.id], self._staged[fact.supersedes])
            for fact in plan.given
            if fact.supersedes in self._staged
            and fact.id not in self._staged
            and plan.keys[fact.id] not in plan.here
        ]
        lineage.append_all(self._owner, joined)


def _never_was(facts: Collection[Fact], reason: str) -> None:
    FactEvent.objects.filter(fact__in=facts, reason=reason).delete()
