"""The list of apps, the page of an app, and the cards of app memories."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages as notices
from django.db.models import Count, Q
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import reswap, trigger_client_event

from chat.access import HtmxHttpRequest, own_app, own_app_memory
from chat.actions import app_memories, deletions
from chat.actions import apps as app_actions
from chat.context.prompt import DEFAULT_PERSONA
from chat.error_messages import describe
from chat.errors import PendingDeletion, Refused
from chat.models import MAX_CONTENT, App, AppMemory

from . import system_info
from .deletions import describe_deletion
from .memory_cards import APPS_TAB, group_memories_by_app
from .responses import add_toast, announce_memory_change, respond_with_error

# By the name of the form field, the function that saves it.
_SETTERS: dict[str, Callable[[Any, str], None]] = {
    "name": app_actions.rename_app,
    "persona": app_actions.set_persona,
    "strategy": app_actions.set_app_strategy,
}


@require_http_methods(["GET", "POST"])
def app_list(request: HtmxHttpRequest) -> HttpResponse:
    """Show the owner's apps, or create one."""
    if request.method == "GET":
        return _render_list(request)
    try:
        made = app_actions.create_app(request.user, request.POST.get("name", ""))
    except Refused as problem:
        return _render_list(request, 422, error=describe(problem), name=request.POST.get("name", ""))
    return redirect("app", made.pk)


def _render_list(request: HtmxHttpRequest, status: int = 200, **more: Any) -> HttpResponse:
    listed = Q(conversations__deletion=None, conversations__temporary=False)
    rows = App.objects.for_owner(request.user).annotate(
        conversation_count=Count("conversations", filter=listed, distinct=True),
        memory_count=Count("memories", filter=Q(memories__deletion=None), distinct=True),
    )
    active = [app for app in rows if app.archived_at is None]
    archived = [app for app in rows if app.archived_at is not None]
    context = {"active": active, "archived": archived, "longest": app_actions.LONGEST_NAME, **more}
    return render(request, "apps/list.html", context, status=status)


@require_http_methods(["GET", "POST"])
def app_page(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Show an app, or save the one field that is posted."""
    found = own_app(request, pk)
    if request.method == "GET":
        return render(request, "apps/page.html", _page_context(request, found))
    name = next((n for n in _SETTERS if n in request.POST), "")
    try:
        if not name:
            raise Refused("setting-unknown")
        _SETTERS[name](found, request.POST[name])
    except Refused as problem:
        answer = respond_with_error(request, problem, found.get_absolute_url())
        return reswap(answer, "none") if request.htmx else answer
    if not request.htmx:
        notices.success(request, _("Saved."))
        return redirect(found)
    found.refresh_from_db()
    answer = render(request, f"apps/page.html#{name}", _page_context(request, found))
    if name == "name":
        trigger_client_event(answer, "conversations-changed")
    return add_toast(answer, _("Saved."))


@require_POST
def archive_app(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Archive an app, and delete its memories if asked."""
    found = own_app(request, pk)
    try:
        app_actions.archive_app(found, purge=request.POST.get("purge") == "1")
    except Refused as problem:
        return respond_with_error(request, problem, found.get_absolute_url())
    notices.info(request, _("“%(app)s” is archived.") % {"app": found})
    return redirect("apps")


@require_POST
def restore_app(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Restore an archived app to the lists."""
    found = own_app(request, pk)
    app_actions.unarchive_app(found)
    return redirect(found)


def _page_context(request: HtmxHttpRequest, found: App) -> dict[str, Any]:
    return {
        "app": found,
        "persona": found.persona or DEFAULT_PERSONA,
        "most": app_actions.MAX_PERSONA,
        "longest": app_actions.LONGEST_NAME,
        "strategies": system_info.list_strategies(),
        "by_app": group_memories_by_app(request.user, app=found),
    }


@require_GET
def app_memory(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Show the card of an app memory."""
    return render(request, "memory/_app_card.html", {"memory": _live_memory(own_app_memory(request, pk))})


@require_http_methods(["GET", "POST"])
def edit_app_memory(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Show the form of a card, or save it."""
    found = own_app_memory(request, pk)
    full = (request.GET if request.method == "GET" else request.POST).get("full") == "1"
    page = "memory/_app_card_edit.html" if request.htmx else "memory/edit.html"
    context: dict[str, Any] = {"memory": found, "full": full or not request.htmx, "most": MAX_CONTENT}
    if request.method == "GET":
        _live_memory(found)
        return render(request, page, context)
    try:
        app_memories.edit_app_memory(found, request.POST.get("text", ""))
    except PendingDeletion as problem:
        return respond_with_error(request, problem, _memories_address())
    except Refused as problem:
        context |= {"error": describe(problem), "text": request.POST.get("text", "")}
        return render(request, page, context, status=422)
    if not request.htmx:
        return redirect(_memories_address())
    return announce_memory_change(render(request, "memory/_app_card.html", {"memory": found, "saved": True}))


@require_POST
def delete_app_memory(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Delete an app memory: hidden at once, erased after four seconds unless undone."""
    found = own_app_memory(request, pk)
    return _forget_memories(request, found.app, [found.pk])


@require_POST
def clear_app_memories(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Delete all memories of an app: hidden at once, erased after eight seconds unless undone."""
    return _forget_memories(request, own_app(request, pk), None)


def _forget_memories(request: HtmxHttpRequest, app: App, ids: list[UUID] | None) -> HttpResponse:
    try:
        deletion = deletions.forget_app_memories(app, ids)
    except Refused as problem:
        return respond_with_error(request, problem, _memories_address())
    if not request.htmx:
        return redirect(_memories_address())
    return announce_memory_change(
        HttpResponse(""), forgot=describe_deletion(deletion, [], deletion.pressed_at)
    )


def _memories_address() -> str:
    return f"{reverse('memory')}?tab={APPS_TAB}"


def _live_memory(found: AppMemory) -> AppMemory:
    if found.deletion_id is not None:
        raise Http404
    return found
