"""Who may come in by `/api` and `/v1` (design §10): a token's owner, or our own page with its CSRF token.

Always one of the two, also to read: in local mode any web page that the user visits could ask too.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.middleware.csrf import CsrfViewMiddleware, RejectRequest
from django.utils.translation import gettext as _
from ninja.security.base import AuthBase

from .problems import Problem

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
JSON = "application/json"


class OwnerAuth(AuthBase):
    """The security scheme of every operation: returns the owner, or raises the Problem to answer with."""

    openapi_type = "http"
    openapi_scheme = "bearer"
    openapi_description = "A token, made in the settings. Our own page sends its CSRF token instead."

    def __call__(self, request: HttpRequest) -> Any:
        """Return who is asking."""
        return authenticate(request)


def authenticate(request: HttpRequest) -> Any:
    """Return the owner on whose behalf a request is made; reads the session, so not in an event loop.

    Raises Problem: 401 without a token, with one that is unknown or revoked, and to strangers; 403 to another
    page and to ours without its CSRF token; 413 where more came than may come; 415 where the body of our
    page's request is no JSON.
    """
    owner = _who(request)
    if sentence := getattr(request, "too_large", ""):
        raise Problem("too-large", sentence)
    return owner


def _who(request: HttpRequest) -> Any:
    if "Authorization" in request.headers:
        # Whoever sends a token means it: a wrong one is no reason to look for another way in.
        owner = getattr(request, "bearer_owner", None)
        if owner is None:
            raise Problem("unauthorised", _("This token is not known here, or it was revoked."))
        return owner
    if _from_another_page(request):
        raise Problem("forbidden", _("This request came from another page than memoryapp's own."))
    if not (_from_our_page(request) and request.user.is_authenticated):
        raise Problem(
            "unauthorised", _("Send a token in a header: “Authorization: Bearer …”. Settings makes one.")
        )
    if request.method not in _SAFE and request.META.get("CONTENT_LENGTH") and not is_json(request):
        raise Problem("not-json", _("The body has to be JSON, with “Content-Type: application/json”."))
    if not _Csrf(lambda _request: None).holds(request):  # type: ignore[arg-type]
        raise Problem("forbidden", _("Send the page's CSRF token in a header: “X-CSRFToken”."))
    return request.user


def is_json(request: HttpRequest) -> bool:
    """Return whether a request says that its body is JSON."""
    given = request.content_type or ""
    return given == JSON or (given.startswith("application/") and given.endswith("+json"))


def _from_our_page(request: HttpRequest) -> bool:
    # A browser sends no Origin with a GET to the page's own server; this header no page can change.
    site = request.headers.get("Sec-Fetch-Site")
    return request.headers.get("Origin") == _ours(request) or (
        site == "same-origin" and request.method in _SAFE and "Origin" not in request.headers
    )


def _from_another_page(request: HttpRequest) -> bool:
    origin, site = request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site")
    return (origin is not None and origin != _ours(request)) or site in ("cross-site", "same-site")


def _ours(request: HttpRequest) -> str:
    return f"{request.scheme}://{request.get_host()}"


class _Csrf(CsrfViewMiddleware):
    """Django's own comparison of the token with the cookie; the middleware makes it for no GET."""

    def holds(self, request: HttpRequest) -> bool:
        """Return whether the request carries the token that belongs to its cookie."""
        try:
            self._check_token(request)  # type: ignore[attr-defined]
        except RejectRequest:
            return False
        return True
