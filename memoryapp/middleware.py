"""Who may come in (design §10): the same rules for requests and for sockets.

Any web page that the user visits can send requests to this machine, so local mode trusts no cookie and no
address: what changes something needs our own Origin (scheme, host and port) or a bearer token.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from channels.auth import AuthMiddlewareStack
from channels.db import database_sync_to_async
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden
from django.http.request import split_domain_port, validate_host
from django.utils import timezone, translation

from chat.actions.owners import local_owner, settings_of, zone_in
from chat.actions.tokens import note_use
from chat.api import outside
from chat.api.problems import Problem
from chat.models import ApiToken

GetResponse = Callable[[HttpRequest], HttpResponse]
_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
FORWARDED_REFUSED = (
    "This request came through a proxy or a tunnel. In local mode memoryapp answers this machine only."
)
# Their views ask every caller themselves, also to read, and refuse as programs read it (chat.api.auth).
OWN_DOORS = ("/api/", "/v1/")
# A program that made itself a token, or used its owner's rights as staff, would outlive its own token.
PEOPLE_ONLY = ("/admin/", "/settings/tokens/")
FOR_PEOPLE = "A token does not open this: it is for people, in their browser."
OTHER_ORIGIN = "This request came from another page than memoryapp's own, so nothing was changed."


def is_local() -> bool:
    """Return whether this process serves its one owner on loopback."""
    return bool(settings.MODE == "local")


def is_forwarded(header_names: Iterable[str]) -> bool:
    """Return whether any header says that a proxy passed the request on."""
    return any(n.lower() == "forwarded" or n.lower().startswith("x-forwarded-") for n in header_names)


def same_origin(origin: str | None, scheme: str, host: str) -> bool:
    """Return whether an Origin header names exactly our scheme, host and port."""
    return origin is not None and origin == f"{scheme}://{host}"


def bearer(header: str | None) -> str | None:
    """Return the secret of an Authorization header of type Bearer."""
    kind, _, secret = (header or "").partition(" ")
    return secret.strip() or None if kind.lower() == "bearer" else None


def _token(secret: str | None) -> ApiToken | None:
    token = ApiToken.objects.valid(secret) if secret else None
    if token is not None:
        note_use(token)
    return token


class RefuseForwarded:
    """In local mode refuse what a proxy or tunnel passed on: it makes the internet look like loopback."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not (is_local() and is_forwarded(request.headers)):
            return self.get_response(request)
        if outside.is_for_programs(request):
            return outside.told(request, Problem("forbidden", FORWARDED_REFUSED))
        return HttpResponseForbidden(FORWARDED_REFUSED, content_type="text/plain; charset=utf-8")


class SameOrigin:
    """Let an unsafe method through only with our own Origin or a valid bearer token, in both modes."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # get_host() also refuses a Host that is not ours, before anything else looks at the request.
        host = request.get_host()
        token = _token(bearer(request.headers.get("Authorization")))
        if token is not None:
            if request.path.startswith(PEOPLE_ONLY):
                return HttpResponseForbidden(FOR_PEOPLE, content_type="text/plain; charset=utf-8")
            request.bearer_owner = token.owner  # type: ignore[attr-defined]
            # A page of another site cannot send this header without a preflight that we never allow.
            request._dont_enforce_csrf_checks = True  # type: ignore[attr-defined]
        elif (
            request.method not in _SAFE
            and not same_origin(request.headers.get("Origin"), request.scheme or "", host)
            and not request.path_info.startswith(OWN_DOORS)
        ):
            return HttpResponseForbidden(OTHER_ORIGIN, content_type="text/plain; charset=utf-8")
        return self.get_response(request)


class LocalOwner:
    """Set who is asking: the token's owner, or in local mode this machine's one owner."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if (owner := getattr(request, "bearer_owner", None)) is not None:
            request.user = owner
        elif is_local():
            request.user = local_owner()
        return self.get_response(request)


class OwnersWay:
    """Answer in the language and by the clock that the owner chose, and let views know of their choices."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        user = getattr(request, "user", None)
        if user is None or not user.is_authenticated:
            return self.get_response(request)
        chosen = settings_of(user.pk)
        request.preferences = chosen  # type: ignore[attr-defined]
        if chosen.language in dict(settings.LANGUAGES):
            # Not only around the view: LocaleMiddleware names the language in the answer's header afterwards.
            translation.activate(chosen.language)
            request.LANGUAGE_CODE = chosen.language
        with timezone.override(zone_in(chosen)):
            return self.get_response(request)


class ContentSecurityPolicy:
    """Send the policy of SECURE_CSP, and keep other sites from embedding what we answer."""

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


# -- sockets -----------------------------------------------------------------------------------------

Scope = dict[str, Any]
AsgiApp = Callable[[Any, Any, Any], Awaitable[None]]


def socket_refusal(scope: Scope, *, has_token: bool = False) -> str | None:
    """Return why a socket may not be opened, None when it may; a valid bearer token needs no Origin."""
    headers = _headers(scope)
    if is_local() and is_forwarded(headers):
        return FORWARDED_REFUSED
    host = headers.get("host", "")
    if not validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS):
        return "This address is not one of memoryapp's own."
    if not has_token and not same_origin(headers.get("origin"), _page_scheme(scope, headers), host):
        return OTHER_ORIGIN
    return None


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin1").lower(): value.decode("latin1") for name, value in scope.get("headers", [])}


def _page_scheme(scope: Scope, headers: dict[str, str]) -> str:
    """Return the scheme of the page that opens the socket, as Django finds it for a request."""
    secure = scope.get("scheme") == "wss"
    if settings.SECURE_PROXY_SSL_HEADER:
        name, value = settings.SECURE_PROXY_SSL_HEADER
        given = headers.get(name.removeprefix("HTTP_").replace("_", "-").lower())
        secure = secure if given is None else given.split(",")[0].strip() == value
    return "https" if secure else "http"


def owner_of(secret: str | None) -> Any:
    """Return whose token this is, None where it is nobody's."""
    token = _token(secret)
    return token.owner if token else None


class GuardedSocket:
    """The socket's door: known Host, own Origin or a token, and an owner on the scope, or it stays shut."""

    def __init__(self, inner: AsgiApp) -> None:
        self.inner = inner
        self.with_login: Any = AuthMiddlewareStack(inner)

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        owner = await database_sync_to_async(owner_of)(bearer(_headers(scope).get("authorization")))
        if socket_refusal(scope, has_token=owner is not None):
            await send({"type": "websocket.close", "code": 4403})
            return
        if owner is None and is_local():
            owner = await database_sync_to_async(local_owner)()
        if owner is not None:
            await self.inner({**scope, "user": owner}, receive, send)
        else:
            await self.with_login(scope, receive, send)
