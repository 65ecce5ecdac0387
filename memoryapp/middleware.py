"""Who may send requests, and the pages for refused ones. `socket_guard` checks sockets.

Any web page that the user visits can send requests to this machine, so local mode trusts neither cookies nor
addresses: a request that changes something needs our own Origin (scheme, host and port) or a bearer token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden, HttpResponseRedirect
from django.shortcuts import render, resolve_url
from django.utils import timezone, translation
from django.utils.translation import gettext
from django_htmx.http import HttpResponseClientRedirect

from chat.accounts import describe_limit, may_try_token
from chat.actions.api_tokens import record_use
from chat.actions.owners import is_local, local_owner, settings_of, time_zone_from
from chat.api import problems, scopes
from chat.api.problems import RETRY_HEADERS, Problem
from chat.models import ApiToken
from chat.models.connections import close_unusable_connection
from chat.origins import is_own_origin, refuse_origin

GetResponse = Callable[[HttpRequest], HttpResponse]
_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
FORWARDED_REFUSED = (
    "This request came through a proxy or a tunnel. In local mode memoryapp answers this machine only."
)
# Their views authenticate every caller, also for reading, and answer errors as JSON (`chat.api.auth`).
API_PATHS = ("/api/", "/v1/")
# A program with a token must not create another token or use the admin site: it could then go on after its
# token is revoked. Nor may it delete everything, or make or change an account.
BROWSER_ONLY_PATHS = (
    *("/admin/", "/account/", "/settings/tokens/", "/settings/erase/"),
    *("/people/", "/first/", "/invite/", "/signup/"),
)
BROWSER_ONLY_SENTENCE = "A token does not open this: it is for people, in their browser."
FOREIGN_PAGE = "This request came from another site's page."
OTHER_ORIGIN = "This request came from another page than memoryapp's own, so nothing was changed."


def is_forwarded(header_names: Iterable[str]) -> bool:
    """Return whether a header says that a proxy passed the request on."""
    return any(n.lower() == "forwarded" or n.lower().startswith("x-forwarded-") for n in header_names)


def parse_bearer(header: str | None) -> str | None:
    """Return the secret of an Authorization header of type Bearer, None for any other header."""
    kind, _, secret = (header or "").partition(" ")
    return secret.strip() or None if kind.lower() == "bearer" else None


def use_token(secret: str | None) -> ApiToken | None:
    """Return the valid token with this secret, and record its use; None without one."""
    token = ApiToken.objects.valid(secret) if secret else None
    if token is not None:
        record_use(token)
    return token


class FreshConnections:
    """Discard a database connection that no longer works, before and after each request.

    Django does this by signals at the beginning and end of a request. Requests share threads here, so the
    signals may run in another thread, which has another connection.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        close_unusable_connection()
        try:
            return self.get_response(request)
        finally:
            close_unusable_connection()


class RejectForwarded:
    """In local mode, refuse requests through a proxy or tunnel: they come from loopback but may be sent by
    anybody.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not (is_local() and is_forwarded(request.headers)):
            return self.get_response(request)
        if problems.is_for_programs(request):
            return problems.build_response(request, Problem("forbidden", FORWARDED_REFUSED))
        return HttpResponseForbidden(FORWARDED_REFUSED, content_type="text/plain; charset=utf-8")


class SameOrigin:
    """Refuse unsafe methods without our own Origin or a valid bearer token, in both modes."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # get_host() also refuses an unknown Host header before anything else uses the request.
        host = request.get_host()
        secret = parse_bearer(request.headers.get("Authorization"))
        token = use_token(secret)
        if secret and token is None and not may_try_token(request):
            return problems.build_response(
                request, Problem("too-many", describe_limit(), headers=RETRY_HEADERS)
            )
        if token is not None:
            if request.path_info.startswith(BROWSER_ONLY_PATHS):
                return HttpResponseForbidden(BROWSER_ONLY_SENTENCE, content_type="text/plain; charset=utf-8")
            request.bearer_owner = token.owner  # type: ignore[attr-defined]
            request.bearer_token = token  # type: ignore[attr-defined]
            # Another site's page cannot send this header without a preflight request, which we never allow.
            request._dont_enforce_csrf_checks = True  # type: ignore[attr-defined]
        elif (
            request.method not in _SAFE
            and not is_own_origin(request.headers.get("Origin"), request.scheme or "", host)
            and not request.path_info.startswith(API_PATHS)
        ):
            refuse_origin(request.headers.get("Origin"), request.scheme or "", host)
            refused = HttpResponseForbidden(OTHER_ORIGIN, content_type="text/plain; charset=utf-8")
            # Django would log a second line, which says less.
            refused._has_been_logged = True  # type: ignore[attr-defined]
            return refused
        return self.get_response(request)


def is_foreign_embedding(headers: Mapping[str, str]) -> bool:
    """Return whether another site's page sends this request other than by opening it as a page.

    Such a page cannot read the response, but how long it takes tells something, such as whether a search
    finds anything. Browsers say where a request comes from, which no page can change; programs say nothing.
    """
    if headers.get("Sec-Fetch-Site") not in ("cross-site", "same-site"):
        return False
    return headers.get("Sec-Fetch-Mode") != "navigate" or headers.get("Sec-Fetch-Dest") != "document"


class ForeignPages:
    """Refuse requests that another site's page sends without opening them as a page of their own."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if is_foreign_embedding(request.headers):
            if problems.is_for_programs(request):
                return problems.build_response(request, Problem("forbidden", FOREIGN_PAGE))
            return HttpResponseForbidden(FOREIGN_PAGE, content_type="text/plain; charset=utf-8")
        return self.get_response(request)


class TokenScopes:
    """Refuse what the scopes of a request's token do not allow."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *_: Any) -> HttpResponse | None:
        """Return the refusal, None where the view may answer."""
        token: ApiToken | None = getattr(request, "bearer_token", None)
        route = request.resolver_match.route if request.resolver_match else ""
        if token is None or scopes.is_allowed(token, route, request.method or ""):
            return None
        needed = scopes.find_needed_scopes(route, request.method or "")
        if needed == ():
            return problems.build_response(request, Problem("forbidden", BROWSER_ONLY_SENTENCE))
        if needed is None:
            return HttpResponseForbidden(BROWSER_ONLY_SENTENCE, content_type="text/plain; charset=utf-8")
        names = scopes.list_names(needed)
        challenge = {
            "WWW-Authenticate": f'Bearer realm="memoryapp", error="insufficient_scope", scope="{names}"'
        }
        sentence = gettext("This token does not allow that. It needs: %s.") % names
        return problems.build_response(request, Problem("forbidden", sentence, headers=challenge))


class LocalOwner:
    """Set `request.user` to the token's owner, or in local mode to the owner of the machine."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if (owner := getattr(request, "bearer_owner", None)) is not None:
            request.user = owner
        elif is_local():
            request.user = local_owner()
        return self.get_response(request)


class OwnerPreferences:
    """Activate the owner's language and time zone for the request, and put their settings on the request."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        user = getattr(request, "user", None)
        if user is None or not user.is_authenticated:
            return self.get_response(request)
        chosen = settings_of(user.pk)
        request.preferences = chosen  # type: ignore[attr-defined]
        if chosen.language in dict(settings.LANGUAGES):
            # Set for the whole request: LocaleMiddleware reads the language for the response's header
            # afterwards.
            translation.activate(chosen.language)
            request.LANGUAGE_CODE = chosen.language
        with timezone.override(time_zone_from(chosen)):
            return self.get_response(request)


class ContentSecurityPolicy:
    """Send the Content-Security-Policy of SECURE_CSP, and forbid other sites to embed responses."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        self.policy = "; ".join(f"{name} {' '.join(values)}" for name, values in settings.SECURE_CSP.items())

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", self.policy)
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        if "Cache-Control" not in response.headers:
            response.headers["Cache-Control"] = "no-store"
        return response


class LoginForPages:
    """Redirect to the login with a page as `next`, never with an htmx fragment or a URL that only accepts
    POST.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        login = resolve_url(settings.LOGIN_URL)
        fragment = request.headers.get("HX-Request") == "true"
        if (not fragment and request.method in ("GET", "HEAD")) or not (
            response.get("Location", "").startswith(login)
        ):
            return response
        page = request.headers.get("HX-Current-URL" if fragment else "Referer", "")
        address = f"{login}?{urlencode({'next': _own_path(page, request) or resolve_url('home')})}"
        led = HttpResponseClientRedirect(address) if fragment else HttpResponseRedirect(address)
        for name, value in response.items():
            if name not in ("Location", "Content-Type"):
                led.headers.setdefault(name, value)
        return led


class PageForNotAllowed:
    """Answer 405 with a page, where a browser would show its own error."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        silent = response.status_code == 405 and not response.streaming and not response.content
        if not silent or request.headers.get("HX-Request") == "true" or problems.is_for_programs(request):
            return response
        page = render(request, "405.html", status=405)
        page["Allow"] = response["Allow"]
        return page


def _own_path(page: str, request: HttpRequest) -> str:
    """Return the path of a page of ours; "" for another site's page, or none."""
    split = urlsplit(page)
    if not is_own_origin(f"{split.scheme}://{split.netloc}", request.scheme or "", request.get_host()):
        return ""
    return split.path
