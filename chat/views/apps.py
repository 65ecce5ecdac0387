"""Apps: a list of them, and a page for each with its name, persona, strategy and what it remembers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages as notices
from django.db.models import Count, Q
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import reswap, trigger_client_event

from chat.actions import apps as actions
from chat.actions import preferences
from chat.actions.messages import Refused
from chat.context.prompt import DEFAULT_PERSONA
from chat.models import App

from . import house
from .answers import refused, toast
from .app_cards import by_app
from .scope import HtmxHttpRequest, own_app

# By the name of the form's field: what is posted goes to the verb.
_VERBS: dict[str, Callable[[Any, str], None]] = {
    "name": actions.rename,
    "persona": preferences.set_persona,
    "strategy": preferences.set_app_strategy,
}


@require_http_methods(["GET", "POST"])
def apps(request: HtmxHttpRequest) -> HttpResponse:
    """Show the owner's apps, or make one."""
    if request.method == "GET":
        return _apps(request)
    try:
        made = actions.create(request.user, request.POST.get("name", ""))
    except Refused as problem:
        return _apps(request, 422, error=str(problem), name=request.POST.get("name", ""))
    return redirect("app", made.pk)


def _apps(request: HtmxHttpRequest, status: int = 200, **more: Any) -> HttpResponse:
    listed = Q(conversations__deletion=None, conversations__temporary=False)
    rows = App.objects.for_owner(request.user).annotate(
        chats=Count("conversations", filter=listed, distinct=True),
        told=Count("memories", filter=Q(memories__deletion=None), distinct=True),
    )
    used = [app for app in rows if app.archived_at is None]
    away = [app for app in rows if app.archived_at is not None]
    context = {"used": used, "away": away, "longest": actions.LONGEST_NAME, **more}
    return render(request, "apps/list.html", context, status=status)


@require_http_methods(["GET", "POST"])
def app(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Show an app, or save the one choice that is posted."""
    found = own_app(request, pk)
    if request.method == "GET":
        return render(request, "apps/page.html", _choices(request, found))
    name = next((n for n in _VERBS if n in request.POST), "")
    try:
        if not name:
            raise Refused(_("There is no such setting."))
        _VERBS[name](found, request.POST[name])
    except Refused as problem:
        answer = refused(request, str(problem), 422, found.get_absolute_url())
        return reswap(answer, "none") if request.htmx else answer
    if not request.htmx:
        notices.success(request, _("Saved."))
        return redirect(found)
    found.refresh_from_db()
    answer = render(request, f"apps/page.html#{name}", _choices(request, found))
    if name == "name":
        trigger_client_event(answer, "rooms-changed")
    return toast(answer, _("Saved."))


@require_POST
def archive(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Put an app away, with all that it remembers if asked."""
    found = own_app(request, pk)
    try:
        actions.archive(found, purge=request.POST.get("purge") == "1")
    except Refused as problem:
        return refused(request, str(problem), 409, found.get_absolute_url())
    notices.info(request, _("“%(app)s” is put away.") % {"app": found})
    return redirect("apps")


@require_POST
def bring_back(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Let an app stand in the lists again."""
    found = own_app(request, pk)
    actions.bring_back(found)
    return redirect(found)


def _choices(request: HtmxHttpRequest, found: App) -> dict[str, Any]:
    return {
        "app": found,
        "persona": found.persona or DEFAULT_PERSONA,
        "most": preferences.MAX_PERSONA,
        "longest": actions.LONGEST_NAME,
        "strategies": house.strategies(),
        "rooms": by_app(request.user, app=found),
    }
