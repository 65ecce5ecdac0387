"""What an import does once it is shown: facts of here that went on elsewhere, single values, and the graph.

In short transactions, each of which can be done again. Where it is killed on the way, the job `finish_import`
does the rest of what was new; facts that went on are told by the same file again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from chat.actions import archive, events, graph, jobs, lineage
from chat.actions.facts import MAX_PINNED
from chat.actions.history import USER
from chat.actions.owners import hold_memory
from chat.memory import evict as rule
from chat.memory.kinds import KINDS
from chat.models import Fact, FactEvent
from chat.porting.shapes import FactIn

from .chats import Chats
from .facts import Facts, is_live
from .keys import in_portions
from .rows import Rows
from .sources import Sources

_IMPORTED = "imported"
_AT_ONCE = 20


def ask_to_finish(owner: Any, keys: Collection[UUID], *, more: bool) -> None:
    """Have the graph and single values be seen to, whatever becomes of this process; in a transaction.

    `keys` are the new facts that are known now; with `more` the graph has others to read, without hurry.
    """
    for portion in in_portions(keys):
        jobs.enqueue("finish_import", {"owner": owner.pk, "facts": [str(key) for key in portion]})
    if more:
        jobs.enqueue("catch_up_graph", {}, key="catch_up_graph")


def keep_one_value_each(owner: Any, keys: Collection[UUID]) -> None:
    """Leave one live value where new facts came in beside others; in the transaction that shows them.

    Nobody sees two then: of those that memory holds at most, some may be such.
    """
    for key in keys:
        fact = Fact.objects.filter(owner=owner).live().select_related("owner").filter(pk=key).first()
        if fact is not None:
            lineage.keep_one_value(fact, USER, _IMPORTED)


def finish(owner_id: Any, keys: Iterable[Any]) -> None:
    """Have the graph read these facts, and see once more to single values; idempotent.

    One short transaction a fact.
    """
    for key in keys:
        with transaction.atomic():
            hold_memory(owner_id)
            fact = Fact.objects.filter(owner=owner_id).live().select_related("owner").filter(pk=key).first()
            if fact is not None:
                if not fact.relationships.exists():
                    graph.follow(fact)
                lineage.keep_one_value(fact, USER, _IMPORTED)
    events.tell(owner_id, "facts")


def change(plan: Facts, chats: Chats) -> None:
    """Let facts of here be what they became elsewhere, as far as they have not changed here meanwhile."""
    for portion in in_portions(plan.changed, _AT_ONCE):
        with transaction.atomic():
            hold_memory(plan.owner.pk)
            _change(plan, portion, chats)
            events.tell(plan.owner.pk, "facts")


def _change(plan: Facts, portion: Collection[FactIn], chats: Chats) -> None:
    wanted = [plan.keys[fact.id] for fact in portion]
    mine = Fact.objects.for_owner(plan.owner).filter(pk__in=wanted, deletion=None)
    here = {fact.pk: fact for fact in mine.select_related("owner").select_for_update(of=("self",))}
    # Whoever has a line in their history that was not there has changed since.
    known = {pk for key in wanted for pk in plan.events.get(key, ())}
    told = FactEvent.objects.filter(fact__in=wanted).exclude(pk__in=known)
    fresh = set(told.values_list("fact", flat=True))
    older = {plan.keys[fact.supersedes] for fact in portion if fact.supersedes in plan.keys}
    there = set(Fact.objects.for_owner(plan.owner).filter(pk__in=older).values_list("pk", flat=True))
    makes = Rows(plan, Sources(plan.owner, list(portion), chats), there)
    for given in portion:
        row = here.get(plan.keys[given.id])
        if row is None or row.pk in fresh:
            continue
        words, pinned = row.text, row.pinned
        for name, value in makes.columns(given).items():
            setattr(row, name, value)
        # Nobody loses a place by a change elsewhere, and nobody gets one that is not there.
        row.pinned = row.pinned and (pinned or _may_pin(plan.owner))
        if row.text != words:
            row.embedding, row.embedder = None, ""
        row.save()
        graph.follow(row)
        FactEvent.objects.bulk_create(makes.history(given))
        if is_live(given) and KINDS[given.kind].single:
            lineage.keep_one_value(row, USER, _IMPORTED)
    if Fact.objects.filter(owner=plan.owner).live().count() > rule.CAP:
        archive.evict(plan.owner, timezone.now())


def _may_pin(owner: Any) -> bool:
    return Fact.objects.filter(owner=owner, pinned=True).count() < MAX_PINNED
