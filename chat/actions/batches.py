"""What happens to several facts at once: one transaction for all of them, or nothing."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat.memory.kinds import KINDS
from chat.memory.subjects import subject_of
from chat.models import Category, Fact, FactEvent, FactEventKind

from . import events, graph
from .facts import MAX_PINNED, kind_on_shelf, settle_later
from .history import USER, event, snapshot
from .lineage import keep_one_value
from .messages import Refused
from .owners import hold_memory


def pin_facts(owner: Any, ids: Collection[UUID], pinned: bool) -> int:
    """Pin or unpin live facts and return how many that changed; more than there is room for changes nothing.

    Those on their way out keep their places under the cap of ten. Raises Refused with how many fit.
    """
    with transaction.atomic():
        chosen = [fact for fact in _live(owner, ids) if fact.pinned != pinned]
        room = MAX_PINNED - Fact.objects.filter(owner=owner, pinned=True).count()
        if pinned and len(chosen) > room:
            raise Refused(_no_room(max(0, room)))
        before = [snapshot(fact) for fact in chosen]
        for fact in chosen:
            fact.pinned = pinned
        kind = FactEventKind.PIN if pinned else FactEventKind.UNPIN
        _save(owner, chosen, ["pinned"], kind, before)
    return len(chosen)


def move_facts(owner: Any, ids: Collection[UUID], category: str) -> int:
    """Put live facts on another shelf and return how many that changed; their words stay as they are.

    One that becomes another value of a single-valued kind takes the place of the one that was there.
    """
    if category not in Category.values:
        raise Refused(_("Choose project, preference or identity."))
    with transaction.atomic():
        chosen = [fact for fact in _live(owner, ids) if fact.category != category]
        before = [snapshot(fact) for fact in chosen]
        for fact in chosen:
            fact.category, fact.version = category, fact.version + 1
            if KINDS[fact.kind].category != category:
                fact.kind = kind_on_shelf(fact.kind, fact.text, category)
            fact.subject = subject_of(fact.kind, fact.text)
        _save(owner, chosen, ["category", "kind", "subject", "version"], FactEventKind.EDIT, before)
        for fact in chosen:
            graph.follow(fact)
            if fact.embedding is None:
                settle_later(fact)  # what was under way was for the version before
        _keep_one_value_each(chosen)
    return len(chosen)


def all_pinned(owner: Any, ids: Collection[UUID]) -> bool:
    """Tell whether each of these live facts is pinned, so that pressing Pin can only mean the reverse."""
    return not Fact.objects.for_owner(owner).live().filter(pk__in=ids, pinned=False).exists()


def _keep_one_value_each(facts: list[Fact]) -> None:
    """Leave one value of each single-valued kind among these and the others: the one mentioned last."""
    for fact in sorted(facts, key=lambda f: f.last_seen, reverse=True):
        # One that has just made way for another of the batch must not take its place back.
        if KINDS[fact.kind].single and Fact.objects.live().filter(pk=fact.pk).exists():
            keep_one_value(fact, USER, "put on the shelf of its kind", newest=True)


def _live(owner: Any, ids: Collection[UUID]) -> list[Fact]:
    """Return the live ones of these facts, held for the transaction; raises Refused where none is left."""
    hold_memory(owner.pk)
    rows = Fact.objects.for_owner(owner).live().filter(pk__in=ids)
    found = list(rows.select_for_update(of=("self",)).select_related("owner").order_by("pk"))
    if not found:
        raise Refused(_("These memories are gone already."))
    return found


def _save(
    owner: Any, facts: list[Fact], fields: list[str], kind: FactEventKind, before: list[dict[str, Any]]
) -> None:
    Fact.objects.bulk_update(facts, fields)
    FactEvent.objects.bulk_create(
        event(fact, kind, USER, before=was) for fact, was in zip(facts, before, strict=True)
    )
    events.tell(owner.pk, "facts")


def _no_room(room: int) -> str:
    most = _("At most %(most)d memories can be pinned.") % {"most": MAX_PINNED}
    left = ngettext("There is room for %(n)d more.", "There is room for %(n)d more.", room) % {"n": room}
    return f"{most} {left} " + _("Nothing was changed.")
