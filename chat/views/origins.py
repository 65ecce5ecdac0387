"""Where a memory came from, what happened to it, the way back to any point of that, and the archive."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages as notices
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from chat.actions import archive as archives
from chat.actions import revisions
from chat.actions.messages import Refused
from chat.models import Fact, FactEvent, FactEventKind

from .answers import changed, refused, toast
from .cards import decorated, shelves
from .scope import HtmxHttpRequest, own_event, own_fact


@require_GET
def origin(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Show a card with where it came from and its history; without htmx as a page of its own."""
    found = own_fact(request, pk)
    if found.deletion_id is not None:
        raise Http404
    template = "memory/_card.html" if request.htmx else "memory/origin.html"
    return render(request, template, {"fact": decorated(found, with_origin=True)})


@require_POST
def restore(request: HtmxHttpRequest, pk: UUID, event: UUID) -> HttpResponse:
    """Bring a memory back to a point of its history."""
    found, point = own_fact(request, pk), own_event(request, event)
    try:
        restored = revisions.restore_to(found, point)
    except Refused as problem:
        return refused(request, str(problem), 409, reverse("memory"))
    return _back(request, restored, _("Restored."))


@require_GET
def archive(request: HtmxHttpRequest) -> HttpResponse:
    """Show what was put away and can be brought back."""
    if not request.htmx:
        return redirect("memory")
    return render(request, "memory/_archive.html", {"archived": archived(request)})


@require_POST
def bring_back(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Return a memory from the archive."""
    found = own_fact(request, pk)
    try:
        returned = archives.bring_back(found)
    except Refused as problem:
        return refused(request, str(problem), 409, reverse("memory"))
    return _back(request, returned, _("Brought back."))


def archived(request: HtmxHttpRequest) -> list[Fact]:
    """Return what can still be brought back, each with the event that put it away, the last first."""
    since = timezone.now() - archives.KEPT_FOR
    rows = Fact.objects.for_owner(request.user).archived().filter(archived_at__gt=since)
    facts = list(rows.prefetch_related("events"))
    for fact in facts:
        away = [e for e in fact.events.all() if e.kind in ("evict", "expire", "supersede")]
        fact.why = _why(away[-1]) if away else ""  # type: ignore[attr-defined]
    return facts


def _why(away: FactEvent) -> str:
    if away.kind == FactEventKind.SUPERSEDE:
        return _("you said that it is over")
    return str(away.get_kind_display())


def _back(request: HtmxHttpRequest, fact: Fact, sentence: str) -> HttpResponse:
    if not request.htmx:
        notices.success(request, sentence)
        return redirect(f"{reverse('memory')}#fact-{fact.pk}")
    # Pressed under a reply there is no list to show.
    at_list = request.htmx.target in ("memory-list", None)
    page = (
        render(request, "memory/panel.html#list", shelves(request, found=fact)) if at_list else HttpResponse()
    )
    return toast(changed(page), sentence)
