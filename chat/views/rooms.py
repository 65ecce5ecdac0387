"""The list of conversations and what its menu does: rename, pin, move, delete."""

from __future__ import annotations

from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect, trigger_client_event

from chat.actions import app_memories, deletions
from chat.actions import rooms as actions
from chat.actions.leaving import learned_in
from chat.actions.messages import Refused
from chat.generation import run as generation
from chat.models import App, Conversation

from .answers import changed, refused
from .forgetting import told
from .scope import HtmxHttpRequest, own_app, own_conversation, uuid_or_404

# Its text is kept while undo is possible; the engine gives way within a token.
_STOPPING_SECONDS = 2.0


@require_GET
def room(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Show a conversation's menu; without htmx as a page of its own."""
    found = _own_room(request, pk)
    context = {
        "room": found,
        "others": App.objects.for_owner(request.user).active().exclude(pk=found.app_id),
        "learned": learned_in(found).count() + len(app_memories.of_conversation(found)),
    }
    return render(request, "chat/_room.html" if request.htmx else "chat/room.html", context)


@require_http_methods(["GET", "POST"])
def rename(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Show the line in which a conversation is renamed, or rename it."""
    found = _own_room(request, pk)
    if request.method == "GET":
        if not request.htmx:
            return redirect("room", found.pk)
        return render(request, "chat/_rename.html", {"room": found, "back": request.htmx.trigger})
    try:
        actions.rename(found, request.POST.get("title", ""))
    except Refused as problem:
        return refused(request, str(problem), 422, reverse("room", args=[found.pk]))
    return _changed(request, found)


@require_POST
def pin(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Let a conversation stand first, or no more."""
    found = _own_room(request, pk)
    actions.set_pinned(found, not found.pinned)
    return _changed(request, found)


@require_POST
def move(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Put a conversation into another app."""
    found = _own_room(request, pk)
    try:
        actions.move(found, own_app(request, uuid_or_404(request.POST.get("app", ""))))
    except Refused as problem:
        return refused(request, str(problem), 422, reverse("room", args=[found.pk]))
    return _changed(request, found)


@require_POST
def delete(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Delete a conversation: gone at once, for good after eight seconds; its own page is led to a new one."""
    found = _own_room(request, pk)
    with_memories = request.POST.get("memories") == "1"
    generation.stop_in(found.pk, patience=_STOPPING_SECONDS)
    try:
        deletion = deletions.delete_conversation(found, with_memories=with_memories)
    except Refused as problem:
        return refused(request, str(problem), 409, reverse("home"))
    # One more may have begun until the conversation was gone.
    generation.stop_in(found.pk)
    if not request.htmx:
        return redirect("home")
    if str(found.pk) in (request.htmx.current_url or ""):
        return HttpResponseClientRedirect(reverse("home"))
    gone = told(deletion, list(deletion.facts.all()), deletion.pressed_at, found)
    answer = trigger_client_event(_changed(request, found), "forgot", gone)
    return changed(answer) if with_memories else answer


def _own_room(request: HtmxHttpRequest, pk: UUID) -> Conversation:
    found = own_conversation(request, pk)
    if found.temporary:
        raise Http404
    return found


def _changed(request: HtmxHttpRequest, found: Conversation) -> HttpResponse:
    if not request.htmx:
        return redirect("conversation", found.pk)
    return trigger_client_event(HttpResponse(status=204), "rooms-changed")
