"""Who may open a socket: the checks of host, Origin or token before a consumer runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Any

from channels.auth import AuthMiddlewareStack
from channels.db import database_sync_to_async
from django.conf import settings
from django.http.request import split_domain_port, validate_host

from chat.actions.owners import is_local, local_owner
from chat.api import scopes
from chat.models import ApiToken
from chat.origins import is_own_origin, refuse_origin
from memoryapp.base.refusals import log_refused

from .middleware import FORWARDED_REFUSED, OTHER_ORIGIN, is_forwarded, parse_bearer, use_token

Scope = dict[str, Any]
AsgiApp = Callable[[Any, Any, Any], Awaitable[None]]


def socket_refusal(scope: Scope, *, has_token: bool = False) -> str | None:
    """Return why a socket may not be opened, None where it may.

    With a valid bearer token no Origin is needed.
    """
    headers = _headers(scope)
    if is_local() and is_forwarded(headers):
        return FORWARDED_REFUSED
    host = headers.get("host", "")
    if not validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS):
        log_refused("the Host of a socket", headers.get("host"), settings.ALLOWED_HOSTS)
        return "This address is not one of memoryapp's own."
    scheme = _page_scheme(scope, headers)
    if not has_token and not is_own_origin(headers.get("origin"), scheme, host):
        refuse_origin(headers.get("origin"), scheme, host)
        return OTHER_ORIGIN
    return None


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin1").lower(): value.decode("latin1") for name, value in scope.get("headers", [])}


def _page_scheme(scope: Scope, headers: dict[str, str]) -> str:
    """Return the scheme of the page that opens the socket, by the rules that Django applies to requests."""
    secure = scope.get("scheme") == "wss"
    if settings.SECURE_PROXY_SSL_HEADER:
        name, value = settings.SECURE_PROXY_SSL_HEADER
        given = headers.get(name.removeprefix("HTTP_").replace("_", "-").lower())
        secure = secure if given is None else given.split(",")[0].strip() == value
    return "https" if secure else "http"


def find_token(secret: str | None, needed: Collection[str] = ()) -> ApiToken | None:
    """Return the token with this secret and its owner; None where it is not valid or lacks a scope."""
    token = use_token(secret)
    return token if token and token.allows(needed) else None


async def refuse_socket(_scope: Scope, _receive: Any, send: Any) -> None:
    """Close a socket that was opened at an address where there is none."""
    await send({"type": "websocket.close", "code": 4404})


class GuardedSocket:
    """Checks host, Origin or token of a socket and puts its owner on the scope; otherwise closes it with code
    4403.
    """

    def __init__(self, inner: AsgiApp) -> None:
        self.inner = inner
        self.with_login: Any = AuthMiddlewareStack(inner)

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        secret = parse_bearer(_headers(scope).get("authorization"))
        token = await database_sync_to_async(find_token)(secret, scopes.SOCKET_SCOPES)
        if socket_refusal(scope, has_token=token is not None):
            await send({"type": "websocket.close", "code": 4403})
            return
        if token is not None:
            await self.inner({**scope, "user": token.owner, "token": token.pk}, receive, send)
        elif is_local():
            owner = await database_sync_to_async(local_owner)()
            await self.inner({**scope, "user": owner}, receive, send)
        else:
            await self.with_login(scope, receive, send)
