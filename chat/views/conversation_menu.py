"""The menus of a conversation: in the list (rename, pin, move, delete) and in its header (memory, end)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect, trigger_client_event

from chat.access import HtmxHttpRequest, own_app, own_conversation, uuid_or_404
from chat.actions import app_memories, conversations, deletions
from chat.actions.owners import settings_of
from chat.errors import ModelNotReady, Refused
from chat.generation import run as generation
from chat.llm.registry import registry
from chat.models import App, Conversation, MemoryMode, Strategy

from .deletions import describe_deletion
from .responses import add_toast, announce_memory_change, respond_with_error

# How long a request waits until a stopped reply is saved. Undo brings its text back.
_STOPPING_SECONDS = 2.0


@require_GET
def conversation_menu(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Show the menu of a conversation in the list; without htmx as a page of its own."""
    found = _own_listed_conversation(request, pk)
    learned = conversations.find_facts_learned_in(found)
    context = {
        "chat": found,
        "others": App.objects.for_owner(request.user).active().exclude(pk=found.app_id),
        "learned": learned.count() + len(app_memories.list_for_conversation(found)),
    }
    return render(
        request, "chat/_conversation_menu.html" if request.htmx else "chat/conversation_menu.html", context
    )


@require_http_methods(["GET", "POST"])
def rename_conversation(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Show the field for a new title, or rename the conversation."""
    found = _own_listed_conversation(request, pk)
    if request.method == "GET":
        if not request.htmx:
            return redirect("conversation_menu", found.pk)
        return render(request, "chat/_rename.html", {"chat": found, "back": request.htmx.trigger})
    try:
        conversations.rename_conversation(found, request.POST.get("title", ""))
    except Refused as problem:
        return respond_with_error(request, problem, reverse("conversation_menu", args=[found.pk]))
    return _respond_list_changed(request, found)


@require_POST
def pin_conversation(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Pin a conversation to the top of the list, or unpin it."""
    found = _own_listed_conversation(request, pk)
    conversations.pin_conversation(found, not found.pinned)
    return _respond_list_changed(request, found)


@require_POST
def move_conversation(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Move a conversation to another app."""
    found = _own_listed_conversation(request, pk)
    try:
        conversations.move_conversation(found, own_app(request, uuid_or_404(request.POST.get("app", ""))))
    except Refused as problem:
        return respond_with_error(request, problem, reverse("conversation_menu", args=[found.pk]))
    return _respond_list_changed(request, found)


@require_POST
def delete_conversation(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Delete a conversation: hidden at once, erased after eight seconds unless undone."""
    found = _own_listed_conversation(request, pk)
    with_memories = request.POST.get("memories") == "1"
    generation.stop_in_conversation(found.pk, timeout=_STOPPING_SECONDS)
    try:
        deletion = deletions.delete_conversation(found, with_memories=with_memories)
    except Refused as problem:
        return respond_with_error(request, problem, reverse("home"))
    # Another reply may have begun before the conversation was marked as deleted.
    generation.stop_in_conversation(found.pk)
    if not request.htmx:
        return redirect("home")
    if str(found.pk) in (request.htmx.current_url or ""):
        return HttpResponseClientRedirect(reverse("home"))
    toast = describe_deletion(deletion, list(deletion.facts.all()), deletion.pressed_at, found)
    answer = trigger_client_event(_respond_list_changed(request, found), "forgot", toast)
    return announce_memory_change(answer) if with_memories else answer


def _own_listed_conversation(request: HtmxHttpRequest, pk: UUID) -> Conversation:
    """Return the user's conversation; 404 for a temporary one, which is in no list."""
    found = own_conversation(request, pk)
    if found.temporary:
        raise Http404
    return found


def _respond_list_changed(request: HtmxHttpRequest, found: Conversation) -> HttpResponse:
    if not request.htmx:
        return redirect("conversation", found.pk)
    return trigger_client_event(HttpResponse(status=204), "conversations-changed")


@require_GET
def header_menu(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Show the menu in the header of a conversation."""
    found = own_conversation(request, pk)
    if not request.htmx:
        return redirect("conversation", found.pk)
    return render(request, "chat/_header_menu.html", header_menu_context(found))


def _can_reason() -> bool:
    try:
        return registry.provider().can_reason
    except ModelNotReady:
        return False


def header_menu_context(conversation: Conversation) -> dict[str, Any]:
    """Return the context of the header menu."""
    return {
        "conversation": conversation,
        "modes": MemoryMode.choices,
        "strategies": Strategy.choices,
        "can_reason": _can_reason(),
        "quotes_past_chats": settings_of(conversation.owner_id).use_past_chats,
    }


@require_POST
def set_memory_mode(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Set the memory mode of a conversation: on, read-only or off."""
    return _save_choice(request, pk, "mode", conversations.set_memory_mode)


@require_POST
def set_past_chats(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Set whether a conversation's prompts may quote past conversations: on or off."""
    return _save_choice(request, pk, "past_chats", conversations.set_past_chats)


@require_POST
def set_reasoning(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Set whether the model reasons before its replies in a conversation: on or off."""
    return _save_choice(request, pk, "reasoning", conversations.set_reasoning)


@require_POST
def set_strategy(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Set the context strategy of a conversation."""
    return _save_choice(request, pk, "strategy", conversations.set_strategy)


def _save_choice(
    request: HtmxHttpRequest, pk: UUID, field: str, save: Callable[[Conversation, str], None]
) -> HttpResponse:
    found = own_conversation(request, pk)
    try:
        save(found, request.POST.get(field, ""))
    except Refused as problem:
        return respond_with_error(request, problem, reverse("conversation", args=[found.pk]))
    return _respond_chat_changed(request, found)


@require_POST
def end_conversation(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """End a conversation; the next message reopens it. A temporary conversation is erased."""
    found = own_conversation(request, pk)
    if found.temporary:
        generation.stop_in_conversation(found.pk, timeout=_STOPPING_SECONDS)
    conversations.end_conversation(found)
    if found.temporary:
        return HttpResponseClientRedirect(reverse("home")) if request.htmx else redirect("home")
    return add_toast(_respond_chat_changed(request, found), _("Ended. A new message opens it again."))


def _respond_chat_changed(request: HtmxHttpRequest, found: Conversation) -> HttpResponse:
    if not request.htmx:
        return redirect("conversation", found.pk)
    return trigger_client_event(HttpResponse(status=204), "chat-changed")
