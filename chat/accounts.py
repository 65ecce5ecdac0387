"""Logins by django-allauth: its limits of attempts, what the owner is told of them, and asking for a password
again.
"""

from __future__ import annotations

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.internal import ratelimit
from django.conf import settings
from django.contrib import messages as notices
from django.contrib.auth import get_user_model
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext

from chat.actions import logins, people
from chat.actions.owners import is_local
from chat.errors import Overloaded, Refused
from chat.models import User

# Invalid tokens from one address. A secret cannot be guessed; this keeps the attempts from costing much.
TOKEN_FAILURES = "30/m/ip"  # noqa: S105 - a rate


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Adapts the login of django-allauth to this program. Only server mode has a login."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "username_password_mismatch": lazy("The name or the password is wrong. Please try again."),
        "too_many_login_attempts": lazy("Too many attempts failed. Try again in five minutes."),
        "username_taken": lazy("Somebody has this name already. Choose another one."),
        "username_blacklisted": lazy("This name is reserved. Choose another one."),
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return whether strangers can ask for an account; invited people are let in by their link."""
        return not is_local() and settings.SIGNUP == "approval"

    def authenticate(self, request: HttpRequest, **credentials: Any) -> Any:
        """Return the user of these credentials; None for wrong ones and for an inactive account.

        Takes as long for an unknown name as for a wrong password. Raises ValidationError beyond the limit of
        attempts, by account and by address.
        """
        user = super().authenticate(request, **credentials)
        # Whoever has the password of a deactivated account learns nothing about it. Somebody who waits for
        # approval is led to the page that says so.
        return user if user is not None and (user.is_active or people.is_waiting(user)) else None

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """Return the key of the count of attempts: the account, under whatever name the server is called.

        Who is logged in has a limit of their own, so that others cannot use theirs up.
        """
        account = str(credentials.get("username", "")).casefold()
        return f"confirmed:{account}" if request.user.is_authenticated else account

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        """Record the attempt for the owner of the account, if there is one."""
        name = str(credentials.get("username", ""))
        owner = get_user_model().objects.filter(username__iexact=name).first()
        if owner is not None:
            logins.record_failed_login(owner, self.get_client_ip(request))

    def login(self, request: HttpRequest, user: Any) -> None:
        """Log a user in, and tell them which attempts failed since their last login."""
        failed = logins.find_failed_logins(user, user.last_login)
        super().login(request, user)
        if failed is not None:
            notices.warning(request, describe_failed_logins(failed))

    def add_message(self, *args: Any, **kwargs: Any) -> None:
        """Show none of allauth's own messages, such as "Successfully signed in"."""


@login_not_required
def lead_to_login(request: HttpRequest, extra_context: Any = None) -> HttpResponse:
    """Lead from the admin site's pages about passwords to the login, or home who is logged in."""
    if request.user.is_authenticated:
        return redirect("admin:index" if request.user.is_staff else "home")
    return redirect_to_login(request.GET.get("next", "/admin/"))


def describe_failed_logins(failed: logins.FailedLogins) -> str:
    """Return a sentence about attempts to log in as the reader."""
    sentence = ngettext(
        "A wrong password was entered for your account on %(when)s, from %(address)s.",
        "A wrong password was entered for your account %(count)s times, last on %(when)s from %(address)s.",
        failed.count,
    )
    when = date_format(localtime(failed.last), "DATETIME_FORMAT")
    return sentence % {"count": failed.count, "when": when, "address": failed.address}


def require_password(request: HttpRequest, password: str) -> None:
    """Check the user's password before something that cannot be taken back; in local mode do nothing.

    Counts as an attempt to log in. Raises Refused for a wrong password and Overloaded beyond the limit.
    """
    user = request.user
    if is_local() or not isinstance(user, User):
        return
    try:
        found = AccountAdapter(request).authenticate(request, username=user.get_username(), password=password)
    except ValidationError as problem:
        raise Overloaded("logins-limited") from problem
    if found is None or found.pk != user.pk:
        raise Refused("password-wrong")


def may_try_token(request: HttpRequest) -> bool:
    """Count an invalid token; return False where its address has sent too many."""
    config = {"token": TOKEN_FAILURES}
    return bool(ratelimit.consume(request, app="memoryapp", action="token", config=config, limit_get=True))


def describe_limit() -> str:
    """Return the sentence for an address that has sent too many invalid tokens."""
    return _("Too many invalid tokens came from this address. Try again in a minute.")
