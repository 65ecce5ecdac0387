"""What a reverse proxy says about a request: who sent it, over which scheme, to which host, below which path.

Anybody can send X-Forwarded headers, so they count from the addresses of TRUSTED_PROXIES only. They are then
applied to the request and removed, so that nothing behind this module reads them again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv6Address, ip_address
from typing import Any
from urllib.parse import urlsplit

from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from memoryapp.base.refusals import log_untrusted_proxy

Scope = dict[str, Any]
AsgiApp = Callable[[Any, Any, Any], Awaitable[None]]
_HOST = b"x-forwarded-host"


class TrustedProxies:
    """ASGI middleware that applies the headers of trusted proxies and drops those of everybody else.

    With several proxies in a row, the client is the last address in X-Forwarded-For that is not trusted.
    """

    def __init__(self, inner: AsgiApp, trusted: Sequence[str]) -> None:
        self.inner = inner
        self._names = trusted
        # uvicorn's middleware applies X-Forwarded-For and X-Forwarded-Proto.
        self._adopt = ProxyHeadersMiddleware(self._pass_on, trusted_hosts=list(trusted))

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        scope = {**scope, "client": _as_ipv4(scope.get("client"))}
        address = (scope["client"] or [""])[0]
        if any(_is_forwarded(name) for name, _ in scope["headers"]):
            if address in self._adopt.trusted_hosts:
                scope["headers"] = _adopt_host(scope["headers"])
            else:
                log_untrusted_proxy(address, self._names)
        await self._adopt(scope, receive, send)  # type: ignore[arg-type]

    async def _pass_on(self, scope: Any, receive: Any, send: Any) -> None:
        headers = [(name, value) for name, value in scope["headers"] if not _is_forwarded(name)]
        await self.inner({**scope, "headers": headers}, receive, send)


def _is_forwarded(name: bytes) -> bool:
    return name == b"forwarded" or name.startswith(b"x-forwarded-")


def _as_ipv4(client: Any) -> Any:
    """Return the client; of an IPv4 address that an IPv6 socket shows, the IPv4 address."""
    if not client:
        return client
    try:
        address = ip_address(client[0])
    except ValueError:
        return client
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return (str(address.ipv4_mapped), *client[1:])
    return client


def _adopt_host(headers: Sequence[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Put the host that the proxy was asked for in the place of the one it asks us for.

    Of several, from several proxies, the last one counts: our own proxy added it.
    """
    named = [value.split(b",")[-1].strip() for name, value in headers if name == _HOST]
    if not named or not named[-1]:
        return list(headers)
    return [(name, value) for name, value in headers if name != b"host"] + [(b"host", named[-1])]


class PortOfOrigin:
    """ASGI middleware that adds the port of our first origin with this name to a Host header without a port.

    Many proxies leave the port out. Links and redirects would then lead to the usual port. Nothing is added
    where the name without a port is an origin too.
    """

    def __init__(self, inner: AsgiApp, origins: Sequence[str]) -> None:
        self.inner = inner
        self._hosts: dict[bytes, bytes] = {}
        for origin in reversed(origins):
            self._hosts[_name_of(origin)] = origin.partition("://")[2].encode()
        for origin in origins:
            if (host := origin.partition("://")[2].encode()) in self._hosts:
                del self._hosts[host]

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        headers = [
            (name, self._hosts.get(value.lower(), value) if name == b"host" else value)
            for name, value in scope["headers"]
        ]
        await self.inner({**scope, "headers": headers}, receive, send)


def _name_of(origin: str) -> bytes:
    host = urlsplit(origin).hostname or ""
    return (f"[{host}]" if ":" in host else host).encode()


class BasePath:
    """ASGI middleware that serves everything below a path such as /chat.

    The proxy may pass that path on or leave it out. An address without it is served too, for health checks.
    """

    def __init__(self, inner: AsgiApp, path: str) -> None:
        self.inner, self._path = inner, path

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        asked = scope["path"]
        if asked == self._path:
            asked += "/"
        elif not asked.startswith(f"{self._path}/"):
            asked = self._path + asked
        raw = {key: value for key, value in scope.items() if key != "raw_path"}
        await self.inner({**raw, "path": asked, "root_path": self._path}, receive, send)
