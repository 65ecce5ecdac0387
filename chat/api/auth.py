"""Authentication of `/api` and `/v1`: a bearer token, or our own page with its CSRF token.

Reading needs one of the two as well: in local mode any web page that the user visits could send requests.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.middleware.csrf import CsrfViewMiddleware, RejectRequest
from django.utils.translation import gettext as _
from ninja.security.base import AuthBase

from chat.origins import is_own_origin, refuse_origin

from .problems import Problem

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
JSON = "application/json"


class OwnerAuth(AuthBase):
    """The security scheme of every operation: returns the owner or raises Problem."""

    openapi_type = "http"
    openapi_scheme = "bearer"
    openapi_description = "A token, made in the settings. Our own page sends its CSRF token instead."

    def __call__(self, request: HttpRequest) -> Any:
        """Return the owner of the request."""
        return authenticate(request)


def authenticate(request: HttpRequest) -> Any:
    """Return the owner of a request. Reads the session from the database, so not from an event loop.

    Raises Problem: 401 without a token or with an unknown or revoked one; 403 for another site's page, and
    for ours without its CSRF token; 413 for a body that is too large; 415 where our page sends no JSON.
    """
    owner = _identify(request)
    if sentence := getattr(request, "too_large", ""):
        raise Problem("too-large", sentence)
    return owner


def _identify(request: HttpRequest) -> Any:
    if "Authorization" in request.headers:
        # A wrong token is refused even where the session would be accepted.
        owner = getattr(request, "bearer_owner", None)
        if owner is None:
            raise Problem("unauthorised", _("This token is unknown, has ended or was revoked."))
        return owner
    if _from_another_page(request):
        raise Problem("forbidden", _("This request came from another site's page."))
    if not (_from_our_page(request) and request.user.is_authenticated):
        raise Problem(
            "unauthorised",
            _("Send a token in a header: “Authorization: Bearer …”. You create tokens in the settings."),
        )
    if request.method not in _SAFE and request.META.get("CONTENT_LENGTH") and not is_json(request):
        raise Problem("not-json", _("The body has to be JSON, with “Content-Type: application/json”."))
    if not _CsrfCheck(lambda _request: None).is_valid(request):  # type: ignore[arg-type]
        raise Problem("forbidden", _("Send the page's CSRF token in a header: “X-CSRFToken”."))
    return request.user


def is_json(request: HttpRequest) -> bool:
    """Return whether the Content-Type of a request is JSON."""
    given = request.content_type or ""
    return given == JSON or (given.startswith("application/") and given.endswith("+json"))


def _from_our_page(request: HttpRequest) -> bool:
    # A browser sends no Origin with a same-origin GET. No page can change Sec-Fetch-Site.
    site = request.headers.get("Sec-Fetch-Site")
    return _names_us(request) or (
        site == "same-origin" and request.method in _SAFE and "Origin" not in request.headers
    )


def _from_another_page(request: HttpRequest) -> bool:
    origin, site = request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site")
    if origin is not None and not _names_us(request):
        refuse_origin(origin, request.scheme or "", request.get_host())
        return True
    return site in ("cross-site", "same-site")


def _names_us(request: HttpRequest) -> bool:
    return is_own_origin(request.headers.get("Origin"), request.scheme or "", request.get_host())


class _CsrfCheck(CsrfViewMiddleware):
    """Django's comparison of the CSRF token with its cookie; the middleware does not run it for GET."""

    def is_valid(self, request: HttpRequest) -> bool:
        """Return whether the request has the token that belongs to its cookie."""
        try:
            self._check_token(request)  # type: ignore[attr-defined]
        except RejectRequest:
            return False
        return True
