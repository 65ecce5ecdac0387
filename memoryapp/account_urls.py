"""The addresses below `/account/`, which exist in server mode only: django-allauth's pages and our own.

Only what is named here can be reached of django-allauth. A view is imported when it is first asked for, so
that local mode loads nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from django.http import Http404, HttpRequest, HttpResponseBase, HttpResponseNotAllowed
from django.urls import path, register_converter
from django.urls.converters import StringConverter
from django.utils.module_loading import import_string

from chat.actions.owners import is_local

View = Callable[..., HttpResponseBase]
_load = lru_cache(maxsize=None)(import_string)


def _page(name: str, *, methods: tuple[str, ...] = ("GET", "POST"), public: bool = False) -> View:
    """Return the view with this dotted name; 404 in local mode. `public`: also for who is not logged in."""

    def view(request: HttpRequest, *args: Any, **more: Any) -> HttpResponseBase:
        if is_local():
            raise Http404
        if request.method not in methods and not (request.method == "HEAD" and "GET" in methods):
            return HttpResponseNotAllowed(methods)
        response: HttpResponseBase = _load(name)(request, *args, **more)
        return response

    view.login_required = not public  # type: ignore[attr-defined]
    return view


class Base36(StringConverter):
    """The number of an account in a link for a new password."""

    regex = "[0-9A-Za-z]+"


register_converter(Base36, "base36")

_ACCOUNT = "allauth.account.views."
_TOTP = "allauth.mfa.totp.views."
_CODES = "allauth.mfa.recovery_codes.views."
_SOCIAL = "allauth.socialaccount.views."
_OWN = "chat.views.account."
_ISSUER = "chat.views.issuer_login."

urlpatterns = [
    path("password/", _page(f"{_ACCOUNT}password_change"), name="account_change_password"),
    path("password/set/", _page(f"{_ACCOUNT}password_set"), name="account_set_password"),
    path("password/reset/", _page(f"{_OWN}reset_password", public=True), name="account_reset_password"),
    path(
        "password/reset/sent/",
        _page(f"{_ACCOUNT}password_reset_done", methods=("GET",), public=True),
        name="account_reset_password_done",
    ),
    path(
        "password/reset/done/",
        _page(f"{_ACCOUNT}password_reset_from_key_done", methods=("GET",), public=True),
        name="account_reset_password_from_key_done",
    ),
    path(
        "password/reset/<base36:uidb36>-<str:key>/",
        _page(f"{_ACCOUNT}password_reset_from_key", public=True),
        name="account_reset_password_from_key",
    ),
    path("confirm/", _page(f"{_ACCOUNT}reauthenticate"), name="account_reauthenticate"),
    path("confirm/again/", _page(f"{_OWN}log_in_again", methods=("GET",)), name="account_log_in_again"),
    path("email/", _page(f"{_OWN}email"), name="account_email"),
    path("email/<str:key>/", _page(f"{_OWN}confirm_email", public=True), name="account_confirm_email"),
    path("sessions/", _page(f"{_OWN}sessions"), name="usersessions_list"),
    path("sessions/<str:pk>/end/", _page(f"{_OWN}end_session", methods=("POST",)), name="session_end"),
    path("two-factor/", _page("allauth.mfa.base.views.index", methods=("GET",)), name="mfa_index"),
    path(
        "two-factor/code/", _page("allauth.mfa.base.views.authenticate", public=True), name="mfa_authenticate"
    ),
    path("two-factor/confirm/", _page("allauth.mfa.base.views.reauthenticate"), name="mfa_reauthenticate"),
    path("two-factor/on/", _page(f"{_TOTP}activate_totp"), name="mfa_activate_totp"),
    path("two-factor/off/", _page(f"{_TOTP}deactivate_totp"), name="mfa_deactivate_totp"),
    path(
        "two-factor/recovery/",
        _page(f"{_CODES}view_recovery_codes", methods=("GET",)),
        name="mfa_view_recovery_codes",
    ),
    path(
        "two-factor/recovery/new/",
        _page(f"{_CODES}generate_recovery_codes"),
        name="mfa_generate_recovery_codes",
    ),
    path(
        "two-factor/recovery/file/",
        _page(f"{_CODES}download_recovery_codes", methods=("GET",)),
        name="mfa_download_recovery_codes",
    ),
    path("login/", _page(f"{_ISSUER}connections"), name="socialaccount_connections"),
    path("login/start/", _page(f"{_ISSUER}login", public=True), name="openid_connect_login"),
    path(
        "login/back/",
        _page(f"{_ISSUER}callback", methods=("GET",), public=True),
        name="openid_connect_callback",
    ),
    path(
        "login/cancelled/",
        _page(f"{_SOCIAL}login_cancelled", methods=("GET",), public=True),
        name="socialaccount_login_cancelled",
    ),
    path("delete/", _page(f"{_OWN}delete"), name="account_delete"),
]
