"""Logins by django-allauth: its limits of attempts, what the owner is told of them and of changes, and asking
for a password or a code again.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from smtplib import SMTPException
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.flows.login import get_authentication_records
from allauth.account.views import LoginView
from allauth.core import context as allauth_context
from allauth.core.internal import ratelimit
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.base.forms import ReauthenticateForm
from django.conf import settings
from django.contrib import messages as notices
from django.contrib.auth import get_user_model
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
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
# Seconds in which a login with the issuer stands for the password of somebody who has none.
FRESH_LOGIN = 600

logger = logging.getLogger(__name__)
_CODE_WRONG = lazy("This code is wrong, or was used already. Wait for the next one.")
# The sentence about each change, by the template of allauth's message. Its other messages are not shown.
_TOLD = {
    "account/messages/password_changed.txt": lazy(
        "Your password is changed, and your other sessions are ended. Tokens of your programs stay."
    ),
    "account/messages/password_set.txt": lazy("You have a password now. Your other sessions are ended."),
    "account/messages/email_confirmed.txt": lazy("Your email address is confirmed."),
    "account/messages/email_confirmation_failed.txt": lazy("Somebody else has this email address."),
    "mfa/messages/totp_activated.txt": lazy(
        "Two-factor is on. Keep the recovery codes where you find them without your phone."
    ),
    "mfa/messages/totp_deactivated.txt": lazy("Two-factor is off."),
    "socialaccount/messages/account_connected.txt": lazy("The login is linked. You can log in with it now."),
    "socialaccount/messages/account_connected_updated.txt": lazy("This login was linked already."),
    "socialaccount/messages/account_connected_other.txt": lazy(
        "This login is linked to another account here, so nothing was changed."
    ),
    "socialaccount/messages/account_disconnected.txt": lazy("The login is no longer linked."),
}


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Adapts the login of django-allauth to this program. Only server mode has a login."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "username_password_mismatch": lazy("The name or the password is wrong. Please try again."),
        "too_many_login_attempts": lazy("Too many attempts failed. Try again in five minutes."),
        "username_taken": lazy("Somebody has this name already. Choose another one."),
        "username_blacklisted": lazy("This name is reserved. Choose another one."),
        "enter_current_password": lazy("This is not your password."),
        "incorrect_password": lazy("This is not your password."),
        "incorrect_code": _CODE_WRONG,
        "rate_limited": lazy("Too many attempts failed. Try again in five minutes."),
        "duplicate_email": lazy("This is your address already."),
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return whether strangers can ask for an account; invited people are let in by their link."""
        return not is_local() and settings.SIGNUP == "approval" and not settings.OIDC_ONLY

    def authenticate(self, request: HttpRequest, **credentials: Any) -> Any:
        """Return the user of these credentials; None for wrong ones and for an inactive account.

        Takes as long for an unknown name as for a wrong password. Raises ValidationError beyond the limit of
        attempts, by account and by address.
        """
        user = super().authenticate(request, **credentials)
        # Whoever has the password of a deactivated account learns nothing about it. Somebody who waits for
        # approval is led to the page that says so.
        if user is None or not (user.is_active or people.is_waiting(user)):
            return None
        logged_in = request.user.is_authenticated
        return None if settings.OIDC_ONLY and not (logged_in or user.is_staff) else user

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

    def add_message(
        self,
        request: HttpRequest,
        level: int,
        message_template: str | None = None,
        message_context: Any = None,
        extra_tags: str = "",
        message: str | None = None,
    ) -> None:
        """Show our sentence for what allauth reports, and nothing for messages such as "signed in"."""
        sentence = message or _TOLD.get(message_template or "")
        if sentence:
            notices.add_message(request, level, sentence)

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        """Return where a changed password leads to."""
        return f"{reverse('settings')}#of-account"

    def get_email_verification_redirect_url(self, email_address: Any) -> str:
        """Return where a confirmed address leads to; the message is shown there."""
        return reverse("account_email" if self.request.user.is_authenticated else "login")

    def get_reauthentication_methods(self, user: Any) -> list[dict[str, Any]]:
        """Return how a person confirms who they are; without password and code by a login with the issuer."""
        found = super().get_reauthentication_methods(user)
        again = {"id": "log_in_again", "description": "", "url": reverse("account_log_in_again")}
        return found or ([again] if user.is_authenticated else [])

    def is_reauthentication_required(self, *, app: str, **more: Any) -> bool:
        """Return whether a change of the account needs the password, or another proof of identity, first."""
        return not has_fresh_login(allauth_context.request)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send an email; one for a new password in a thread, so that the response takes as long without one.

        Raises SMTPException or OSError for others.
        """
        given = {"request": self.request, "email": email, "host": self.request.get_host(), **context}
        message = self.render_mail(template_prefix, email, given)
        if template_prefix == "account/email/password_reset_key":
            threading.Thread(target=_send_quietly, args=(message,), daemon=True).start()
        else:
            message.send()


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Adapts two-factor of django-allauth to this program."""

    error_messages = DefaultMFAAdapter.error_messages | {"incorrect_code": _CODE_WRONG}

    def get_totp_label(self, user: Any) -> str:
        """Return how an authenticator app names the account."""
        return f"{user.get_username()}@{allauth_context.request.get_host()}"


def _send_quietly(message: Any) -> None:
    try:
        message.send()
    except (SMTPException, OSError):
        logger.warning("an email could not be sent", exc_info=True)


def client_address(request: HttpRequest) -> str:
    """Return the address from which a request comes."""
    return str(AccountAdapter(request).get_client_ip(request))


def has_fresh_login(request: HttpRequest) -> bool:
    """Return whether somebody without a password has logged in with the issuer in the last minutes."""
    user = request.user
    if not isinstance(user, User) or user.has_usable_password():
        return False
    records = get_authentication_records(request, user)
    last = [one["at"] for one in records if one.get("method") == "socialaccount"][-1:]
    return bool(last) and time.time() - last[0] < FRESH_LOGIN


class LoginPage(LoginView):  # type: ignore[misc]
    """The login, with the other ways that there are: an issuer, a link for a new password."""

    def get_context_data(self, **more: Any) -> dict[str, Any]:
        """Return what the page shows."""
        found: dict[str, Any] = super().get_context_data(**more)
        return found | {
            "issuer": settings.OIDC_NAME if settings.OIDC_ISSUER else "",
            "issuer_only": settings.OIDC_ONLY,
            "has_email": settings.HAS_EMAIL,
        }


@login_not_required
def lead_to_login(request: HttpRequest, extra_context: Any = None) -> HttpResponse:
    """Lead from the admin site's pages about passwords to the login, or home who is logged in."""
    if request.user.is_authenticated:
        return redirect("admin:index" if request.user.is_staff else "home")
    return redirect_to_login(request.GET.get("next", reverse("admin:index")))


def describe_failed_logins(failed: logins.FailedLogins) -> str:
    """Return a sentence about attempts to log in as the reader."""
    sentence = ngettext(
        "A wrong password or code was entered for your account on %(when)s, from %(address)s.",
        "A wrong password or code was entered for your account %(count)s times, last on %(when)s from "
        "%(address)s.",
        failed.count,
    )
    when = date_format(localtime(failed.last), "DATETIME_FORMAT")
    return sentence % {"count": failed.count, "when": when, "address": failed.address}


def require_password(request: HttpRequest, password: str) -> None:
    """Check the user's password before something that cannot be taken back; in local mode do nothing.

    Who has none must have logged in with the issuer in the last minutes instead. Counts as an attempt to log
    in. Raises Refused for a wrong password and Overloaded beyond the limit.
    """
    user = request.user
    if is_local() or not isinstance(user, User):
        return
    if not user.has_usable_password():
        if not has_fresh_login(request):
            raise Refused("login-not-fresh", name=settings.OIDC_NAME)
        return
    try:
        found = AccountAdapter(request).authenticate(request, username=user.get_username(), password=password)
    except ValidationError as problem:
        raise Overloaded("logins-limited") from problem
    if found is None or found.pk != user.pk:
        raise Refused("password-wrong")


def require_code(request: HttpRequest, code: str) -> None:
    """Check a code of two-factor, or a recovery code, where the user has two-factor on.

    Counts as an attempt to log in. Raises Refused for a wrong code or beyond the limit.
    """
    if has_second_factor(request.user):
        form = ReauthenticateForm(user=request.user, data={"code": code})
        if not form.is_valid():
            raise Refused("code-wrong")


def issuer_id() -> str:
    """Return the name under which logins of the issuer are stored: another issuer has other people."""
    return f"oidc-{hashlib.sha256(settings.OIDC_ISSUER.encode()).hexdigest()[:16]}"


def has_second_factor(user: Any) -> bool:
    """Return whether a login of this person needs a code after the password."""
    return bool(SecondFactorAdapter().is_mfa_enabled(user, ["totp"]))


def may_try_token(request: HttpRequest) -> bool:
    """Count an invalid token; return False where its address has sent too many."""
    config = {"token": TOKEN_FAILURES}
    return bool(ratelimit.consume(request, app="memoryapp", action="token", config=config, limit_get=True))


def describe_limit() -> str:
    """Return the sentence for an address that has sent too many invalid tokens."""
    return _("Too many invalid tokens came from this address. Try again in a minute.")
