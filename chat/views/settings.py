"""The settings page with its API tokens, logging out, and deleting everything. Each setting is a form of its
own; `model_server` has the form of the model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages as notices
from django.contrib.auth import views as auth
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import (
    HttpResponseClientRedirect,
    HttpResponseClientRefresh,
    reswap,
    trigger_client_event,
)

from chat.access import HtmxHttpRequest, own_token
from chat.accounts import describe_failed_logins, require_password
from chat.actions import api_tokens, deletions, old_conversations, owners
from chat.actions.logins import find_failed_logins
from chat.actions.owners import redacts_secrets, settings_of
from chat.error_messages import describe
from chat.errors import Refused
from chat.models import ApiToken, Scope, Theme, User

from . import system_info
from .account import STOPPING_SECONDS, load_account_section, stop_replies
from .model_server import load_provider_context
from .responses import add_toast, forget_storage, respond_with_error

# By the name of the form field, the function that saves it.
_SETTERS: dict[str, Callable[[Any, str], None]] = {
    "theme": owners.set_theme,
    "language": owners.set_language,
    "time_zone": owners.set_time_zone,
    "look_after": owners.set_extraction_delay,
    "redact_secrets": owners.set_redaction,
    "use_past_chats": owners.set_past_chats,
    "send_past_chats": owners.set_sending_past_chats,
    "offer_past_chats": owners.set_offering_past_chats,
    "prune_after": old_conversations.change_prune_after,
}


@require_http_methods(["GET", "POST"])
def settings_page(request: HtmxHttpRequest) -> HttpResponse:
    """Show all settings, or save the one that is posted."""
    if request.method == "GET":
        return render_settings(request)
    name = next((n for n in _SETTERS if n in request.POST), "")
    try:
        if not name:
            raise Refused("setting-unknown")
        _SETTERS[name](request.user, request.POST[name])
    except Refused as problem:
        answer = respond_with_error(request, problem, "settings")
        return reswap(answer, "none") if request.htmx else answer
    return _respond_saved(request, name)


def render_settings(request: HtmxHttpRequest, status: int = 200, **more: Any) -> HttpResponse:
    """Render the settings page with further context."""
    context = {
        **_settings_context(request),
        **system_info.load_system_info(request.user),
        **tokens_context(request.user),
        **load_account_section(request.user),
        "asks_password": not owners.is_local(),
        "staff_reads": settings.ADMIN_READS_CHATS and not owners.is_local(),
        "failed_logins": _describe_failed_logins(request.user),
        **more,
    }
    return render(request, "settings/page.html", context | load_provider_context(request), status=status)


def _describe_failed_logins(owner: User) -> str:
    failed = None if owners.is_local() else find_failed_logins(owner)
    return describe_failed_logins(failed) if failed else ""


def tokens_context(owner: User) -> dict[str, Any]:
    """Return the context of the section of API tokens."""
    return {
        "tokens": ApiToken.objects.for_owner(owner).unrevoked(),
        "asks_password": not owners.is_local(),
        "scopes": Scope.choices,
        "entered_scopes": [Scope.CHAT],
        "ends": api_tokens.ENDS,
        "entered_end": api_tokens.DEFAULT_END,
        "now": timezone.now(),
        "most_tokens": api_tokens.MAX_TOKENS,
        "longest_name": api_tokens.LONGEST_NAME,
    }


@require_GET
def model_state(request: HtmxHttpRequest) -> HttpResponse:
    """Show the state of the model and how to fix it; without htmx redirect to the settings."""
    return render(request, "chat/_model_state.html") if request.htmx else redirect("settings")


@require_POST
def erase_account(request: HtmxHttpRequest) -> HttpResponse:
    """Delete all data of the user who typed the word: hidden at once, erased after 8 s unless undone."""
    if request.POST.get("word", "").strip().casefold() != _("delete").casefold():
        return respond_with_error(request, Refused("erasure-not-confirmed", word=_("delete")), "settings")
    try:
        require_password(request, request.POST.get("password", ""))
    except Refused as problem:
        return respond_with_error(request, problem, "settings")
    stop_replies(request, timeout=STOPPING_SECONDS)
    deletions.erase_account(request.user)
    # Another reply may have begun before its conversation was marked as deleted.
    stop_replies(request, timeout=0)
    return forget_storage(HttpResponseClientRedirect(reverse("home")) if request.htmx else redirect("home"))


class LogoutView(auth.LogoutView):
    """Ends the login, and lets the browser forget the drafts."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Answer the request."""
        return forget_storage(super().dispatch(request, *args, **kwargs))


def _respond_saved(request: HtmxHttpRequest, name: str) -> HttpResponse:
    """Render the saved form; a new language reloads the whole page."""
    if name == "language":
        # The notice is shown on the reloaded page, so it is in the new language.
        chosen = request.POST[name]
        translation.activate(chosen or translation.get_language_from_request(request))
    if not request.htmx or name == "language":
        notices.success(request, _("Saved."))
        return HttpResponseClientRefresh() if request.htmx else redirect(_previous_page(request))
    request.preferences = settings_of(request.user.pk)
    if request.htmx.target == "theme":
        return _with_theme_event(render(request, "settings/_theme_changed.html"), request)
    answer = render(request, f"settings/page.html#{name}", _settings_context(request))
    if name == "theme":
        _with_theme_event(answer, request)
    return add_toast(answer, _("Saved."))


def _with_theme_event(answer: HttpResponse, request: HtmxHttpRequest) -> HttpResponse:
    return trigger_client_event(answer, "theme", {"value": request.preferences.theme})


def _previous_page(request: HtmxHttpRequest) -> str:
    """Return the page that a plain form was on, if it is ours: every page has a theme button."""
    page = request.headers.get("Referer", "")
    ours = url_has_allowed_host_and_scheme(page, {request.get_host()}, require_https=request.is_secure())
    return page if ours else reverse("settings")


def _settings_context(request: HtmxHttpRequest) -> dict[str, Any]:
    return {
        "chosen": request.preferences,
        "themes": Theme.choices,
        "languages": settings.LANGUAGES,
        "zones": system_info.group_time_zones(),
        "seconds": owners.EXTRACTION_DELAY_RANGE,
        "prune_after": owners.PRUNE_AFTER_CHOICES,
        "redacts": redacts_secrets(request.user.pk),
        "may_redact": settings.REDACT_SECRETS,
    }


@require_POST
def create_token(request: HtmxHttpRequest) -> HttpResponse:
    """Create a token and show its secret once; it is never put into a URL, the session or a stored notice."""
    name, end = request.POST.get("name", ""), request.POST.get("end", "")
    chosen = request.POST.getlist("scope")
    try:
        require_password(request, request.POST.get("password", ""))
        secret = api_tokens.create_token(
            request.user, name, chosen, expires_at=api_tokens.parse_end(end, timezone.now())
        )
    except Refused as problem:
        entered = {"entered_name": name, "entered_scopes": chosen, "entered_end": end}
        return _render_tokens(request, 422, error=describe(problem), **entered)
    return _render_tokens(request, 200, secret=secret, name=" ".join(name.split()))


@require_POST
def narrow_token(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Remove the scopes from a token that are not ticked in the form."""
    token = own_token(request, pk)
    try:
        api_tokens.narrow_token(token, request.POST.getlist("scope"))
    except Refused as problem:
        return _render_tokens(request, 422, narrowing=token.pk, narrowing_error=describe(problem))
    sentence = _("“%(name)s” allows less now.") % {"name": token.name}
    if not request.htmx:
        notices.success(request, sentence)
        return redirect("settings")
    return add_toast(_render_tokens(request, 200), sentence)


@require_POST
def revoke_token(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Revoke a token."""
    token = own_token(request, pk)
    api_tokens.revoke_token(token)
    sentence = _("“%(name)s” is revoked.") % {"name": token.name}
    if not request.htmx:
        notices.success(request, sentence)
        return redirect("settings")
    return add_toast(_render_tokens(request, 200), sentence)


def _render_tokens(request: HtmxHttpRequest, status: int, **more: Any) -> HttpResponse:
    if request.htmx:
        return render(
            request, "settings/_tokens.html", {**tokens_context(request.user), **more}, status=status
        )
    return render_settings(request, status, **more)
