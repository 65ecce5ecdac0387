"""Memories as the panel shows them: cards in groups, each with what it shows beyond its own fields."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext as _

from chat.actions import revisions
from chat.memory.shown import shown as as_shown
from chat.memory.similar import normalise
from chat.models import AppMemory, Category, Fact, FactEvent, FactEventKind, Message, Origin

from .app_cards import TAB as OF_APPS
from .app_cards import by_app
from .scope import HtmxHttpRequest

TABS = ("all", *Category.values, "pinned", OF_APPS)
# Histories that stay open while the list is drawn anew.
_OPEN_AT_ONCE = 10


@dataclass(slots=True)
class Step:
    """One point of a fact's history, newest first; `restorable` where going back to it changes something."""

    event: FactEvent
    what: str
    says: str
    who: str
    restorable: bool

    @property
    def message(self) -> Message | None:
        """Return the message that it came from, where that is still there."""
        said = self.event.source_message
        return said if said is not None and said.conversation.deletion_id is None else None


def decorated(fact: Fact, *, with_origin: bool = False) -> Fact:
    """Add what a card shows beyond the fact's own fields."""
    fact.bar = round(fact.confidence * 100)  # type: ignore[attr-defined]
    fact.was = fact.supersedes.text if fact.supersedes else None  # type: ignore[attr-defined]
    fact.gone = fact.superseded_at is not None or fact.archived_at is not None  # type: ignore[attr-defined]
    fact.opened = with_origin  # type: ignore[attr-defined]
    if fact.source_conversation is not None and fact.source_conversation.deletion_id is not None:
        # On its way out: "from a deleted conversation" already; nothing saves this.
        fact.source_message = None
    if with_origin:
        fact.steps = list(_steps(fact))  # type: ignore[attr-defined]
        fact.from_chat = fact.origin != Origin.MANUAL  # type: ignore[attr-defined]
    return fact


def shelves(request: HtmxHttpRequest, *, found: Fact | None = None) -> dict[str, Any]:
    """Return the panel's context: groups of cards for the tab and the search, and counts of all.

    `found` is a card that must be seen: where the tab or the search hide it, they make way.
    """
    params = request.GET if request.method == "GET" else request.POST
    tab = params.get("tab", "all")
    tab = tab if tab in TABS else "all"
    query = params.get("q", "").strip()
    if found is not None and not _is_shown(found, tab, query):
        tab, query = "all", ""
    manage = params.get("manage") == "1"
    opened = set() if manage else set(params.getlist("open")[:_OPEN_AT_ONCE])
    every = [
        decorated(f, with_origin=str(f.pk) in opened)
        for f in Fact.objects.for_owner(request.user)
        .live()
        .select_related("supersedes", "source_message", "source_conversation")
        .grouped()
    ]
    shown = [f for f in every if _is_shown(f, tab, query)]
    groups = [
        {"category": c.value, "label": c.label, "facts": facts, "count": len(facts)}
        for c in Category
        if (facts := [f for f in shown if f.category == c])
    ]
    manage = manage and bool(every) and tab != OF_APPS
    counts = {name: sum(_on_tab(f, name) for f in every) for name in TABS}
    return {
        "groups": groups,
        "counts": counts,
        "tab": tab,
        "q": query,
        "total": len(every),
        "apps_tell": AppMemory.objects.for_owner(request.user).live().count(),
        "rooms": by_app(request.user, query) if tab == OF_APPS else [],
        "found": found,
        "manage": manage,
        # What a tab's address has beside the tab.
        "rest": (f"&{urlencode({'q': query})}" if query else "") + ("&manage=1" if manage else ""),
        "categories": Category.choices,
    }


def _is_shown(fact: Fact, tab: str, query: str) -> bool:
    wanted = normalise(query)
    return _on_tab(fact, tab) and (wanted in normalise(fact.text) or wanted in normalise(as_shown(fact.text)))


def _on_tab(fact: Fact, tab: str) -> bool:
    return tab == "all" or fact.category == tab or (tab == "pinned" and fact.pinned)


def _steps(fact: Fact) -> Iterator[Step]:
    """Tell the history, newest first."""
    told = revisions.history(fact)
    for before, event in reversed([*zip([None, *told], told, strict=False)]):
        says = event.after.get("text", "")
        is_new = before is None or before.after.get("text") != says
        same = (says, event.after.get("category")) == (fact.text, fact.category) and event.fact_id == fact.pk
        yield Step(
            event=event,
            what=_what(event),
            says=says if is_new and event.kind != FactEventKind.SUPERSEDE else "",
            who={"user": _("by you"), "memory": _("by memory")}.get(event.actor, _("by itself")),
            restorable=bool(says) and not same and event.kind != FactEventKind.SUPERSEDE,
        )


def _what(event: FactEvent) -> str:
    was, now = event.before, event.after
    if event.kind in (FactEventKind.EDIT, FactEventKind.UPDATE):
        if was.get("text") != now.get("text"):
            return _("Changed from “%(was)s” to") % {"was": as_shown(was.get("text", ""))}
        if was.get("category") != now.get("category"):
            return _("Moved to %(shelf)s") % {"shelf": Category(now["category"]).label}
    if event.kind == FactEventKind.SUPERSEDE:
        return _("“%(was)s” was replaced") % {"was": as_shown(now.get("text", ""))}
    if event.kind == FactEventKind.ADD and event.actor == "user":
        return _("Added")
    return str(FactEventKind(event.kind).label).capitalize()
