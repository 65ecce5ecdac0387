"""The memory panel: cards that are added, edited and pinned."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages as notices
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import reswap, retarget

from chat.actions import facts as actions
from chat.actions import pins
from chat.actions.messages import Refused
from chat.models import Category, Fact

from .answers import changed, refused, toast
from .cards import decorated, shelves
from .health import health_of, opened_from
from .origins import archived
from .scope import HtmxHttpRequest, own_fact, uuid_or_404


@require_GET
def panel(request: HtmxHttpRequest) -> HttpResponse:
    """Show all that is known: as a page, as the sheet's content, or as its list alone, one card `found`."""
    if request.htmx and request.htmx.target == "memory-list":
        return render(request, "memory/panel.html#list", shelves(request, found=_found(request)))
    return _panel(request)


def _panel(request: HtmxHttpRequest, status: int = 200, **more: Any) -> HttpResponse:
    health = health_of(request.user, opened_from(request))
    context = {**shelves(request), "health": health, "archived": archived(request), **more}
    template = "memory/panel.html#panel" if request.htmx else "memory/panel.html"
    return render(request, template, context, status=status)


@require_GET
def pill(request: HtmxHttpRequest) -> HttpResponse:
    """Show how many memories there are, with a pulse when there `was` less; nothing when it is as it was."""
    was = request.GET.get("was", "")
    count = Fact.objects.for_owner(request.user).live().count()
    if was == str(count):
        return HttpResponse(status=204)
    context = {"memory_count": count, "rose": was.isdecimal() and count > int(was)}
    return render(request, "memory/_pill.html", context)


@require_GET
def fact(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Show one card."""
    return render(request, "memory/_card.html", {"fact": decorated(_live(own_fact(request, pk)))})


@require_POST
def add(request: HtmxHttpRequest) -> HttpResponse:
    """Remember what the user wrote, or show the card that says it already."""
    try:
        saved = actions.add_fact(request.user, request.POST.get("text", ""))
    except Refused as problem:
        if not request.htmx:
            return refused(request, str(problem), 422, reverse("memory"))
        wrong = {"error": str(problem), "text": request.POST.get("text", "")}
        composer = render(request, "memory/panel.html#composer", wrong, status=422)
        return reswap(retarget(composer, "#remember"), "outerHTML")
    known = _("Already remembered.") if saved.mention_count > 1 else ""
    if not request.htmx:
        if known:
            notices.info(request, known)
        return redirect(f"{reverse('memory')}#fact-{saved.pk}" if known else "memory")
    context = {**shelves(request, found=saved if known else None), "written": True}
    page = render(request, "memory/panel.html#list", context)
    return toast(changed(page), known) if known else changed(page)


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
    """Pin a card, or unpin it; where ten are pinned, offer to unpin the oldest `instead`."""
    found = own_fact(request, pk)
    given = request.POST.get("instead")
    instead = own_fact(request, uuid_or_404(given)) if given else None
    try:
        if instead is None:
            actions.pin_fact(found, not found.pinned)
        else:
            pins.pin_instead(found, instead)
    except Refused as problem:
        oldest = pins.oldest_if_full(found)
        if oldest is None:
            return refused(request, str(problem), 409, reverse("memory"))
        return _offer(request, found, oldest)
    if not request.htmx:
        return redirect("memory")
    return changed(render(request, "memory/panel.html#list", shelves(request)))


def _offer(request: HtmxHttpRequest, found: Fact, oldest: Fact) -> HttpResponse:
    offer = {"fact": found, "oldest": oldest, "most": actions.MAX_PINNED}
    if not request.htmx:
        return _panel(request, status=409, offer=offer)
    # Not 409: what that answers is not put into the page.
    card = render(request, "memory/_card.html", {"fact": decorated(found), "offer": offer}, status=422)
    return reswap(retarget(card, f"#fact-{found.pk}"), "outerHTML")


def _found(request: HtmxHttpRequest) -> Fact | None:
    """Return the memory that a link leads to, while it is there."""
    if not (given := request.GET.get("found")):
        return None
    return Fact.objects.for_owner(request.user).live().filter(pk=uuid_or_404(given)).first()


def _live(found: Fact) -> Fact:
    if found.deletion_id is not None or found.superseded_at is not None or found.archived_at is not None:
        raise Http404
    return found
