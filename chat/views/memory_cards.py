"""View models of the memory panel: fact cards, their history, and memories of apps grouped by app."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext as _

from chat.access import HtmxHttpRequest
from chat.actions import fact_history
from chat.memory.formatting import format_for_display, format_for_quotation
from chat.memory.text_similarity import normalize_text
from chat.models import (
    App,
    AppMemory,
    Category,
    Conversation,
    Fact,
    FactEvent,
    FactEventKind,
    Message,
    Origin,
    User,
)

APPS_TAB = "apps"
# Facts that may not be worth keeping.
PASSING_TAB = "passing"
TABS = ("all", *Category.values, "pinned", PASSING_TAB, APPS_TAB)
# Histories that stay open when the list is rendered again. Each costs queries of its own.
_MAX_OPEN_HISTORIES = 10


@dataclass(slots=True)
class HistoryStep:
    """One event of a fact's history. `restorable` is true where restoring it would change the fact."""

    event: FactEvent
    what: str
    says: str
    who: str
    restorable: bool

    @property
    def message(self) -> Message | None:
        """Return the event's source message; None where its conversation is being deleted."""
        source = self.event.source_message
        return source if source is not None and source.conversation.deletion_id is None else None


@dataclass(slots=True)
class FactCard:
    """One fact with what its card shows beyond the fact's own fields; `steps` are loaded for an open card."""

    fact: Fact
    confidence_percent: int
    replaced_text: str | None
    is_current: bool
    is_open: bool
    source_message: Message | None
    is_from_chat: bool
    # The conversation of the last mention; None where it is deleted or the fact was said once.
    last_conversation: Conversation | None
    steps: list[HistoryStep] = field(default_factory=list)


@dataclass(slots=True)
class CardGroup:
    """The cards of one category."""

    category: str
    label: Any
    cards: list[FactCard]


def build_fact_card(fact: Fact, *, is_open: bool = False) -> FactCard:
    """Return the card of a fact; an open one has the history, newest event first."""
    source = fact.source_conversation
    last = fact.last_seen_conversation if fact.mention_count > 1 else None
    is_source_deleted = source is not None and source.deletion_id is not None
    return FactCard(
        fact=fact,
        confidence_percent=round(fact.confidence * 100),
        replaced_text=fact.supersedes.text if fact.supersedes else None,
        is_current=fact.superseded_at is None and fact.archived_at is None,
        is_open=is_open,
        source_message=None if is_source_deleted else fact.source_message,
        is_from_chat=fact.origin != Origin.MANUAL,
        last_conversation=last if last is not None and last.deletion_id is None else None,
        steps=list(_list_history_steps(fact)) if is_open else [],
    )


def build_card_context(fact: Fact, *, is_open: bool = False) -> dict[str, Any]:
    """Return the context of `memory/_fact_card.html`."""
    return {"card": build_fact_card(fact, is_open=is_open), "fact": fact}


def load_panel_context(request: HtmxHttpRequest, *, found: Fact | None = None) -> dict[str, Any]:
    """Return the panel's context: groups of cards for the tab and the search, and counts of all tabs.

    `found` is a fact that the list must show: where the tab or the search would hide it, both are reset.
    """
    params = request.GET if request.method == "GET" else request.POST
    tab = params.get("tab", "all")
    tab = tab if tab in TABS else "all"
    query = params.get("q", "").strip()
    if found is not None and not _matches_filter(found, tab, query):
        tab, query = "all", ""
    manage = params.get("manage") == "1"
    opened = set() if manage else set(params.getlist("open")[:_MAX_OPEN_HISTORIES])
    rows = Fact.objects.for_owner(request.user).live()
    rows = rows.with_conversations().select_related("supersedes", "source_message")
    facts = list(rows.in_panel_order())
    cards = [
        build_fact_card(fact, is_open=str(fact.pk) in opened)
        for fact in facts
        if _matches_filter(fact, tab, query)
    ]
    manage = manage and bool(facts) and tab != APPS_TAB
    return {
        "groups": [
            CardGroup(category.value, category.label, chosen)
            for category in Category
            if (chosen := [card for card in cards if card.fact.category == category])
        ],
        "counts": {name: sum(_is_on_tab(fact, name) for fact in facts) for name in TABS},
        "tab": tab,
        "q": query,
        "total": len(facts),
        "app_memory_count": AppMemory.objects.for_owner(request.user).live().count(),
        "by_app": group_memories_by_app(request.user, query) if tab == APPS_TAB else [],
        "found": found,
        "manage": manage,
        # The part of a tab's address that keeps the search and the Manage mode.
        "rest": (f"&{urlencode({'q': query})}" if query else "") + ("&manage=1" if manage else ""),
        "categories": Category.choices,
    }


def group_memories_by_app(
    owner: User, query: str = "", app: App | None = None
) -> list[tuple[App, list[AppMemory]]]:
    """Return the memories of the owner's apps, or of one app, by app and newest first; one query."""
    rows = AppMemory.objects.for_owner(owner).live().select_related("app", "source_conversation")
    rows = rows.order_by("app__created_at", "app", "-updated_at", "pk")
    wanted = normalize_text(query)
    found = [m for m in (rows.filter(app=app) if app else rows) if wanted in normalize_text(m.content)]
    return [(app_of_group, list(memories)) for app_of_group, memories in groupby(found, key=lambda m: m.app)]


def _matches_filter(fact: Fact, tab: str, query: str) -> bool:
    wanted = normalize_text(query)
    return _is_on_tab(fact, tab) and (
        wanted in normalize_text(fact.text) or wanted in normalize_text(format_for_display(fact.text))
    )


def _is_on_tab(fact: Fact, tab: str) -> bool:
    if tab == PASSING_TAB:
        return fact.may_not_matter
    return tab == "all" or fact.category == tab or (tab == "pinned" and fact.pinned)


def _list_history_steps(fact: Fact) -> Iterator[HistoryStep]:
    """Yield the steps of a fact's history, newest first."""
    events = fact_history.list_history(fact)
    for before, event in reversed([*zip([None, *events], events, strict=False)]):
        says = event.after.get("text", "")
        is_new = before is None or before.after.get("text") != says
        same = (says, event.after.get("category")) == (fact.text, fact.category) and event.fact_id == fact.pk
        yield HistoryStep(
            event=event,
            what=_describe_event(event),
            says=says if is_new and event.kind != FactEventKind.SUPERSEDE else "",
            who={"user": _("by you"), "memory": _("by memory")}.get(event.actor, _("automatically")),
            restorable=bool(says) and not same and event.kind != FactEventKind.SUPERSEDE,
        )


def _describe_event(event: FactEvent) -> str:
    was, now = event.before, event.after
    if event.kind in (FactEventKind.EDIT, FactEventKind.UPDATE):
        if was.get("text") != now.get("text"):
            return _("Changed from “%(was)s” to") % {"was": format_for_quotation(was.get("text", ""))}
        if was.get("category") != now.get("category"):
            return _("Moved to %(shelf)s") % {"shelf": Category(now["category"]).label}
    if event.kind == FactEventKind.SUPERSEDE:
        return _("“%(was)s” was replaced") % {"was": format_for_quotation(now.get("text", ""))}
    if event.kind == FactEventKind.ADD and event.actor == "user":
        return _("Added")
    return str(FactEventKind(event.kind).label).capitalize()
