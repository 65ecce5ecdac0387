"""The memory panel: cards that are edited, pinned, forgotten and brought back."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from chat.actions import deletions
from chat.actions import facts as actions
from chat.actions.messages import Refused
from chat.memory.similar import normalise
from chat.models import Category, Fact

from .answers import changed, refused
from .health import health_of, opened_from
from .scope import HtmxHttpRequest, own_deletion, own_fact

TABS = ("all", *Category.values, "pinned")


def decorated(fact: Fact) -> Fact:
    """Add what a card shows beyond the fact's own fields."""
    fact.bar = round(fact.confidence * 100)  # type: ignore[attr-defined]
    fact.was = fact.supersedes.text if fact.supersedes else None  # type: ignore[attr-defined]
    return fact


def shelves(request: HtmxHttpRequest) -> dict[str, Any]:
    """Return the panel's context: groups of cards for the tab and the search, and counts of all."""
    params = request.GET if request.method == "GET" else request.POST
    tab = params.get("tab", "all")
    tab = tab if tab in TABS else "all"
    query = params.get("q", "").strip()
    every = [
        decorated(f)
        for f in Fact.objects.for_owner(request.user).live().select_related("supersedes").grouped()
    ]
    shown = [f for f in every if _on_tab(f, tab) and normalise(query) in normalise(f.text)]
    groups = [
        {"category": c.value, "label": c.label, "facts": facts, "count": len(facts)}
        for c in Category
        if (facts := [f for f in shown if f.category == c])
    ]
    counts = {name: sum(_on_tab(f, name) for f in every) for name in TABS}
    return {"groups": groups, "counts": counts, "tab": tab, "q": query, "total": len(every)}


def _on_tab(fact: Fact, tab: str) -> bool:
    return tab == "all" or fact.category == tab or (tab == "pinned" and fact.pinned)


@require_GET
def panel(request: HtmxHttpRequest) -> HttpResponse:
    """Show all that is known: as a page, as the sheet's content, or as its list alone."""
    if request.htmx and request.htmx.target == "memory-list":
        return render(request, "memory/panel.html#list", shelves(request))
    context = {**shelves(request), "health": health_of(request.user, opened_from(request))}
    return render(request, "memory/panel.html#panel" if request.htmx else "memory/panel.html", context)


@require_GET
def pill(request: HtmxHttpRequest) -> HttpResponse:
    """Show how many memories there are."""
    return render(request, "memory/_pill.html")


@require_GET
def fact(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Show one card."""
    return render(request, "memory/_card.html", {"fact": decorated(_live(own_fact(request, pk)))})


@require_POST
def add(request: HtmxHttpRequest) -> HttpResponse:
    """Remember what the user wrote."""
    try:
        actions.add_fact(request.user, request.POST.get("text", ""))
    except Refused as problem:
        if not request.htmx:
            return refused(request, str(problem), 422, reverse("memory"))
        context = {**shelves(request), "error": str(problem), "text": request.POST.get("text", "")}
        return render(request, "memory/panel.html#composer", context, status=422)
    if not request.htmx:
        return redirect("memory")
    return changed(render(request, "memory/panel.html#list", shelves(request)))


@require_http_methods(["GET", "POST"])
def edit(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Show a card's form, or save it."""
    found = own_fact(request, pk)
    full = (request.GET if request.method == "GET" else request.POST).get("full") == "1"
    context: dict[str, Any] = {
        "fact": found,
        "full": full or not request.htmx,
        "categories": Category.choices,
    }
    if request.method == "GET":
        _live(found)
        return render(request, "memory/_card_edit.html" if request.htmx else "memory/edit.html", context)
    try:
        saved = actions.edit_fact(found, request.POST.get("text", ""), request.POST.get("category", ""))
    except actions.OnItsWayOut as problem:
        return refused(request, str(problem), 409, reverse("memory"))
    except Refused as problem:
        context |= {"error": str(problem), "text": request.POST.get("text", "")}
        return render(
            request, "memory/_card_edit.html" if request.htmx else "memory/edit.html", context, status=422
        )
    if not request.htmx:
        return redirect("memory")
    return changed(render(request, "memory/_card.html", {"fact": decorated(saved), "saved": True}))


@require_POST
def pin(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Pin a card, or unpin it."""
    found = own_fact(request, pk)
    try:
        actions.pin_fact(found, not found.pinned)
    except Refused as problem:
        return refused(request, str(problem), 409, reverse("memory"))
    if not request.htmx:
        return redirect("memory")
    return changed(render(request, "memory/panel.html#list", shelves(request)))


@require_POST
def delete(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Forget a fact: gone at once, for good after four seconds."""
    found = own_fact(request, pk)
    try:
        deletion = deletions.forget(request.user, [found.pk])
    except Refused as problem:
        return refused(request, str(problem), 409, reverse("memory"))
    if not request.htmx:
        return redirect("memory")
    forgot = {"id": str(deletion.pk), "text": found.text, "seconds": int(deletions.WINDOW.total_seconds())}
    return changed(HttpResponse(""), forgot=forgot)


@require_POST
def undo(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Bring back what was forgotten, while its deadline lasts."""
    found = own_deletion(request, pk)
    try:
        deletions.undo(found)
    except deletions.TooLate as problem:
        return refused(request, str(problem), 409, reverse("memory"))
    return changed(HttpResponse(status=204)) if request.htmx else redirect("memory")


def _live(found: Fact) -> Fact:
    if found.deletion_id is not None or found.superseded_at is not None:
        raise Http404
    return found
