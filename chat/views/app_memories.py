"""What apps remember, as cards of the panel: corrected, forgotten, and all of an app cleared."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from chat.actions import app_memories as actions
from chat.actions import deletions
from chat.actions.facts import OnItsWayOut
from chat.actions.messages import Refused
from chat.models import MAX_CONTENT, App, AppMemory

from .answers import changed, refused
from .app_cards import TAB
from .forgetting import told
from .scope import HtmxHttpRequest, own_app, own_app_memory


@require_GET
def card(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Show one card."""
    return render(request, "memory/_app_card.html", {"memory": _live(own_app_memory(request, pk))})


@require_http_methods(["GET", "POST"])
def edit(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Show a card's form, or save it."""
    found = own_app_memory(request, pk)
    full = (request.GET if request.method == "GET" else request.POST).get("full") == "1"
    page = "memory/_app_card_edit.html" if request.htmx else "memory/edit.html"
    context: dict[str, Any] = {"memory": found, "full": full or not request.htmx, "most": MAX_CONTENT}
    if request.method == "GET":
        _live(found)
        return render(request, page, context)
    try:
        actions.edit(found, request.POST.get("text", ""))
    except OnItsWayOut as problem:
        return refused(request, str(problem), 409, _back())
    except Refused as problem:
        context |= {"error": str(problem), "text": request.POST.get("text", "")}
        return render(request, page, context, status=422)
    if not request.htmx:
        return redirect(_back())
    return changed(render(request, "memory/_app_card.html", {"memory": found, "saved": True}))


@require_POST
def delete(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Forget what an app remembers of one conversation: for good after four seconds."""
    found = own_app_memory(request, pk)
    return _forgotten(request, found.app, [found.pk])


@require_POST
def clear(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Forget all that an app remembers: for good after eight seconds."""
    return _forgotten(request, own_app(request, pk), None)


def _forgotten(request: HtmxHttpRequest, app: App, ids: list[UUID] | None) -> HttpResponse:
    try:
        deletion = deletions.forget_app_memories(app, ids)
    except Refused as problem:
        return refused(request, str(problem), 409, _back())
    if not request.htmx:
        return redirect(_back())
    return changed(HttpResponse(""), forgot=told(deletion, [], deletion.pressed_at))


def _back() -> str:
    return f"{reverse('memory')}?tab={TAB}"


def _live(found: AppMemory) -> AppMemory:
    if found.deletion_id is not None:
        raise Http404
    return found
