"""Logging in with the OpenID Connect issuer, and linking a login of it to an account."""

from __future__ import annotations

from typing import Any

from allauth.account.internal.decorators import login_not_required
from allauth.socialaccount.helpers import render_authentication_error
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView, OAuth2LoginView
from allauth.socialaccount.views import ConnectionsView
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from requests import RequestException

from chat.accounts import issuer_id
from chat.openid_connect import IssuerClient

# The errors of an issuer that is down, or whose answer violates the standard.
_FAULTS = (OAuth2Error, RequestException, ValueError, KeyError, TypeError, AttributeError)


@login_not_required  # type: ignore[untyped-decorator]
def login(request: HttpRequest) -> HttpResponse:
    """Show a button that begins a login; POST redirects to the issuer.

    A page leads there by itself, since the content security policy lets no form do so.
    """
    response = _ask_issuer(request, OAuth2LoginView)
    if response.status_code != 302:
        return response
    return render(
        request, "socialaccount/leaving.html", {"address": response["Location"], "name": settings.OIDC_NAME}
    )


@login_not_required  # type: ignore[untyped-decorator]
def callback(request: HttpRequest) -> HttpResponse:
    """Receive what the issuer says: log in, link the login, or show why neither was possible."""
    return _ask_issuer(request, OAuth2CallbackView)


def connections(request: HttpRequest) -> Any:
    """Show whether a login is linked; POST removes the link."""
    if not settings.OIDC_ISSUER:
        raise Http404
    return ConnectionsView.as_view(extra_context={"name": settings.OIDC_NAME})(request)


def _ask_issuer(request: HttpRequest, view: Any) -> HttpResponse:
    if not settings.OIDC_ISSUER:
        raise Http404
    client = IssuerClient(request, issuer_id())
    try:
        response: HttpResponse = view.adapter_view(client)(request)
    except _FAULTS as problem:
        response = render_authentication_error(request, client.get_provider(), exception=problem)
    return response
