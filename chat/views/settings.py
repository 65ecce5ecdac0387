"""The settings page: each choice is a small form of its own, saved by the verb that it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib import messages as notices
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import translation
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import (
    HttpResponseClientRedirect,
    HttpResponseClientRefresh,
    reswap,
    trigger_client_event,
)

from chat.actions import deletions, preferences, tokens
from chat.actions.messages import Refused
from chat.actions.owners import redacts, settings_of
from chat.generation import run as generation
from chat.models import ApiToken, Message, MessageState, Theme

from . import house, provider
from .answers import refused, toast
from .scope import HtmxHttpRequest

# Long enough for a reply to end at its next token and be saved.
_STOPPING_SECONDS = 5.0
# By the name of the form's field: what is posted goes to the verb.
_OF_OWNER: dict[str, Callable[[Any, str], None]] = {
    "theme": preferences.set_theme,
    "language": preferences.set_language,
    "time_zone": preferences.set_time_zone,
    "look_after": preferences.set_look_after,
    "redact_secrets": preferences.set_redaction,
    "prune_after": preferences.set_prune_after,
}


@require_http_methods(["GET", "POST"])
def page(request: HtmxHttpRequest) -> HttpResponse:
    """Show all settings, or save the one that is posted."""
    if request.method == "GET":
        return whole(request)
    name = next((n for n in _OF_OWNER if n in request.POST), "")
    try:
        if not name:
            raise Refused(_("There is no such setting."))
        _OF_OWNER[name](request.user, request.POST[name])
    except Refused as problem:
        answer = refused(request, str(problem), 422, "settings")
        return reswap(answer, "none") if request.htmx else answer
    return _saved(request, name)


def whole(request: HtmxHttpRequest, status: int = 200, **more: Any) -> HttpResponse:
    """Show all settings, and what else there is to say on their page."""
    context = {**_choices(request), **house.rooms(request.user), **programs(request.user), **more}
    return render(request, "settings/page.html", context | provider.form(request), status=status)


def programs(owner: Any) -> dict[str, Any]:
    """Return what the section of API tokens is made of."""
    standing = ApiToken.objects.for_owner(owner).standing()
    return {"tokens": standing, "most_tokens": tokens.MOST, "longest_name": tokens.LONGEST_NAME}


@require_GET
def model(request: HtmxHttpRequest) -> HttpResponse:
    """Show the model's state and what mends it; without htmx on the page of settings."""
    return render(request, "chat/_model.html") if request.htmx else redirect("settings")


@require_POST
def erase(request: HtmxHttpRequest) -> HttpResponse:
    """Delete all that is kept of whoever asks and types the word: gone at once, for good after 8 s."""
    if request.POST.get("word", "").strip().casefold() != _("delete").casefold():
        return refused(request, _("Type “%s” to delete everything.") % _("delete"), 422, "settings")
    _stop_replies(request, patience=_STOPPING_SECONDS)
    deletions.erase_all(request.user)
    # One more may have begun until its conversation was gone.
    _stop_replies(request, patience=0)
    return HttpResponseClientRedirect(reverse("home")) if request.htmx else redirect("home")


def _stop_replies(request: HtmxHttpRequest, patience: float) -> None:
    writing = Message.objects.for_owner(request.user).filter(state=MessageState.STREAMING)
    for pk in writing.values_list("pk", flat=True):
        generation.stop(pk, patience)


def _saved(request: HtmxHttpRequest, name: str) -> HttpResponse:
    """Answer with the form as it is now; a new language is for the whole page."""
    if name == "language":
        # The sentence is read on the page that comes, in its language.
        chosen = request.POST[name]
        translation.activate(chosen or translation.get_language_from_request(request))
    if not request.htmx or name == "language":
        notices.success(request, _("Saved."))
        return HttpResponseClientRefresh() if request.htmx else redirect(_came_from(request))
    request.preferences = settings_of(request.user.pk)
    if request.htmx.target == "theme":
        return _recoloured(render(request, "settings/_theme_changed.html"), request)
    answer = render(request, f"settings/page.html#{name}", _choices(request))
    if name == "theme":
        _recoloured(answer, request)
    return toast(answer, _("Saved."))


def _recoloured(answer: HttpResponse, request: HtmxHttpRequest) -> HttpResponse:
    return trigger_client_event(answer, "theme", {"value": request.preferences.theme})


def _came_from(request: HtmxHttpRequest) -> str:
    """Return our own page that a plain form was on: the theme can be changed on every one."""
    page = request.headers.get("Referer", "")
    ours = url_has_allowed_host_and_scheme(page, {request.get_host()}, require_https=request.is_secure())
    return page if ours else reverse("settings")


def _choices(request: HtmxHttpRequest) -> dict[str, Any]:
    return {
        "chosen": request.preferences,
        "themes": Theme.choices,
        "languages": settings.LANGUAGES,
        "zones": house.zones_by_continent(),
        "machine_zone": settings.TIME_ZONE,
        "seconds": preferences.LOOK_AFTER_RANGE,
        "prune_after": preferences.PRUNE_AFTER,
        "redacts": redacts(request.user.pk),
        "may_redact": settings.REDACT_SECRETS,
    }
