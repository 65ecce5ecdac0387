"""A person's own account in server mode: sessions, email address, confirming who they are, deleting it.

django-allauth has the pages for the password and two-factor (`memoryapp.account_urls`).
"""

from __future__ import annotations

from smtplib import SMTPException
from typing import Any

from allauth.account.internal.flows.email_verification import send_verification_email_to_address
from allauth.account.internal.flows.reauthentication import (
    raise_if_reauthentication_required,
    resume_request,
)
from allauth.account.models import EmailAddress
from allauth.account.views import confirm_email as allauth_confirm_email
from allauth.account.views import password_reset
from allauth.decorators import rate_limit
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib import messages as notices
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from chat.access import HtmxHttpRequest, find_whole_number
from chat.accounts import has_fresh_login, has_second_factor, issuer_id, require_code, require_password
from chat.actions import accounts, login_sessions
from chat.actions.owners import is_local
from chat.error_messages import describe
from chat.errors import AppError, Refused
from chat.generation import run as generation
from chat.models import Message, MessageState
from chat.user_agents import describe_device

from .responses import forget_storage

# How long a request waits until a stopped reply has reached its next token and is saved.
STOPPING_SECONDS = 5.0


def load_account_section(user: Any) -> dict[str, Any]:
    """Return the context of the section "Account" of the settings; {} in local mode."""
    if is_local():
        return {}
    codes = Authenticator.objects.filter(user=user, type=Authenticator.Type.RECOVERY_CODES).first()
    return {
        "account": {
            "has_password": user.has_usable_password(),
            "second_factor": has_second_factor(user),
            "codes_left": len(codes.wrap().get_unused_codes()) if codes else 0,
            "sessions": len(login_sessions.list_sessions(user)),
            "issuer": settings.OIDC_NAME if settings.OIDC_ISSUER else "",
            "linked": SocialAccount.objects.filter(user=user, provider=issuer_id()).exists(),
            "has_email": settings.HAS_EMAIL,
            "email": EmailAddress.objects.get_verified(user) if settings.HAS_EMAIL else None,
        }
    }


@require_http_methods(["GET", "POST"])
def sessions(request: HtmxHttpRequest) -> HttpResponse:
    """List the sessions of the person; POST ends all but this one."""
    if request.method == "POST":
        count = login_sessions.end_other_sessions(request.user, request.session.session_key or "")
        ended = ngettext("One other session is ended.", "%d other sessions are ended.", count)
        notices.success(
            request, (ended % count if "%d" in ended else ended) if count else _("There is no other session.")
        )
        return redirect("usersessions_list")
    listed = [
        (one, describe_device(one.user_agent), one.session_key == request.session.session_key)
        for one in login_sessions.list_sessions(request.user)
    ]
    return render(request, "usersessions/usersession_list.html", {"sessions": listed})


@require_POST
def end_session(request: HtmxHttpRequest, pk: str) -> HttpResponse:
    """End one session of the person."""
    try:
        login_sessions.end_session(request.user, find_whole_number(pk, digits=18) or 0)
        notices.success(request, _("The session is ended."))
    except Refused as problem:
        raise Http404 from problem
    return redirect("usersessions_list")


@require_http_methods(["GET", "POST"])
@rate_limit(action="manage_email")  # type: ignore[untyped-decorator]
def email(request: HtmxHttpRequest) -> HttpResponse:
    """Show the address for new passwords; POST sends a link to a new one, or removes both."""
    if not settings.HAS_EMAIL:
        raise Http404
    error = ""
    if request.method == "POST":
        raise_if_reauthentication_required(request, app="allauth.account")
        try:
            _change_email(request, request.POST.get("email", "").strip())
        except Refused as problem:
            error = describe(problem)
        else:
            return redirect("account_email")
    context = {
        "confirmed": EmailAddress.objects.get_verified(request.user),
        "waiting": EmailAddress.objects.filter(user=request.user, verified=False).first(),
        "entered": request.POST.get("email", ""),
        "error": error,
    }
    return render(request, "account/email.html", context, status=422 if error else 200)


def _change_email(request: HtmxHttpRequest, address: str) -> None:
    if request.POST.get("do") == "remove":
        accounts.remove_email(request.user)
        notices.success(request, _("The address is removed."))
        return
    try:
        validate_email(address)
    except ValidationError as problem:
        raise Refused("email-invalid") from problem
    try:
        sent = send_verification_email_to_address(request, accounts.store_new_email(request.user, address))
    except (SMTPException, OSError) as problem:
        raise Refused("email-not-sent") from problem
    if not sent:
        raise Refused("email-sent-before")
    notices.success(request, _("A link is on its way to this address."))


@login_not_required
def reset_password(request: HttpRequest) -> Any:
    """Send a link for a new password to a confirmed address, where emails can be sent."""
    if not settings.HAS_EMAIL:
        raise Http404
    return password_reset(request)


@login_not_required
def confirm_email(request: HttpRequest, key: str) -> Any:
    """Show whose address a link confirms; POST confirms it."""
    try:
        return allauth_confirm_email(request, key=key)
    except Http404:
        return render(request, "account/email_confirm.html")


@require_http_methods(["GET"])
def log_in_again(request: HtmxHttpRequest) -> Any:
    """Ask somebody without a password to log in with the issuer again before a change."""
    if has_fresh_login(request) and (response := resume_request(request)) is not None:
        return response
    context = {
        "name": settings.OIDC_NAME if settings.OIDC_ISSUER else "",
        "next": request.GET.get("next", ""),
    }
    return render(request, "account/log_in_again.html", context)


@require_http_methods(["GET", "POST"])
def delete(request: HtmxHttpRequest) -> HttpResponse:
    """Show what goes with an account; POST hides it at once, and deletes it after 8 s unless undone."""
    error = ""
    if request.method == "POST":
        try:
            require_password(request, request.POST.get("password", ""))
            require_code(request, request.POST.get("code", ""))
            stop_replies(request, STOPPING_SECONDS)
            accounts.delete_account(request.user)
            # Another reply may have begun before its conversation was marked as deleted.
            stop_replies(request, 0)
            return forget_storage(redirect("home"))
        except AppError as problem:
            error = describe(problem)
    return render(
        request, "account/delete.html", _delete_context(request, error), status=422 if error else 200
    )


def _delete_context(request: HtmxHttpRequest, error: str) -> dict[str, Any]:
    return {
        "error": error,
        "has_password": request.user.has_usable_password(),
        "second_factor": has_second_factor(request.user),
        "issuer": settings.OIDC_NAME,
        "fresh": has_fresh_login(request),
        "back": f"{reverse('settings')}#of-account",
    }


def stop_replies(request: HtmxHttpRequest, timeout: float) -> None:
    """Stop the replies that are being written for the user; wait `timeout` seconds for each."""
    writing = Message.objects.for_owner(request.user).filter(state=MessageState.STREAMING)
    for pk in writing.values_list("pk", flat=True):
        generation.stop(pk, timeout)
