"""Checks of `manage.py doctor` in server mode: the database's clock, the public address, TLS, proxy, sockets.

The public address is asked as a browser asks it, without a login, so that what a proxy changes is seen.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
from django.conf import settings
from django.db import DatabaseError, connection
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from chat.origins import public_url

from .findings import Finding, broken, note, ok
from .streaming import check_streaming

# Seconds to wait for the proxy; days for which a certificate should be valid; seconds between two clocks.
_PATIENCE, _DAYS_LEFT, _CLOCK_NOTE, _CLOCK_BROKEN = 8.0, 14, 5.0, 60.0
_OLDEST_POSTGRESQL = 140_000
# Close codes of our sockets: no login, and another origin or host.
_NO_LOGIN, _OTHER_ORIGIN = 4401, 4403
# With what our server answers where it closes a socket before it was open, with whatever code.
_REFUSED = 403


def check_shared_database() -> Iterator[Finding]:
    """Check the version of PostgreSQL, and that its clock and ours agree."""
    try:
        with connection.cursor() as cursor:
            began = time.time()
            cursor.execute("SELECT extract(epoch FROM clock_timestamp())")
            ahead = float(cursor.fetchone()[0]) - (began + time.time()) / 2
        version = int(getattr(connection, "pg_version", _OLDEST_POSTGRESQL))
    except DatabaseError:
        # The check of the database says why.
        return
    if version < _OLDEST_POSTGRESQL:
        yield broken("postgresql", f"version {version // 10_000} is too old: version 14 or newer is needed.")
    yield judge_clock(ahead)


def judge_clock(ahead: float) -> Finding:
    """Return a finding on the clocks: that of the database is `ahead` seconds ahead of this machine's."""
    text = f"{abs(ahead):.1f} s {'behind' if ahead > 0 else 'ahead of'} the database's"
    if abs(ahead) < _CLOCK_NOTE:
        return ok("clock", "agrees with the database's")
    if abs(ahead) < _CLOCK_BROKEN:
        return note("clock", f"{text}. Let both machines use NTP.")
    return broken("clock", f"{text}: living processes are taken for dead. Let both machines use NTP.")


def check_static_files() -> Finding:
    """Check that the static files are collected."""
    folder = Path(settings.STATIC_ROOT)
    if (folder / "js" / "main.js").exists():
        return ok("static", str(folder))
    return broken("static", f"{folder} has no files. Run manage.py collectstatic --noinput.")


def check_public_address() -> Iterator[Finding]:
    """Ask the server as browsers do, through its proxy."""
    if not settings.TRUSTED_PROXIES:
        yield note(
            "proxy",
            "BEHIND_PROXY trusts whoever connects. Name your proxies in TRUSTED_PROXIES instead."
            if getattr(settings, "SECURE_PROXY_SSL_HEADER", None)
            else "no proxy is trusted. Behind one, name its addresses in TRUSTED_PROXIES.",
        )
    url = public_url("")
    if not url.startswith("http"):
        yield note("address", "not asked: name the public one in ALLOWED_ORIGINS.")
        return
    if urlsplit(url).scheme == "https":
        yield (certificate := check_certificate(url))
        if certificate.state.value == "broken":
            return
    finding = check_page(url)
    yield finding
    if finding.state.value == "ok":
        yield check_origin(url)
        yield check_socket(url)
        yield check_streaming(url)


def check_certificate(url: str) -> Finding:
    """Check that browsers trust the certificate, and for how long."""
    parts = urlsplit(url)
    name, port = parts.hostname or "", parts.port or 443
    try:
        with (
            socket.create_connection((name, port), _PATIENCE) as plain,
            ssl.create_default_context().wrap_socket(plain, server_hostname=name) as secured,
        ):
            ends = str((secured.getpeercert() or {}).get("notAfter", ""))
    except ssl.SSLError as error:
        return broken(
            "tls", f"{url} has no valid certificate: {getattr(error, 'verify_message', '') or error}."
        )
    except OSError as error:
        return broken(
            "tls", f"{name}:{port} cannot be reached: {error}. Does the proxy run, and the name lead here?"
        )
    days = (ssl.cert_time_to_seconds(ends) - time.time()) / 86_400
    if days < _DAYS_LEFT:
        return note("tls", f"the certificate ends in {days:.0f} days. Renew it.")
    return ok("tls", f"the certificate is valid for {days:.0f} days")


def check_page(url: str) -> Finding:
    """Ask for the login page."""
    address = f"{url}/login/"
    try:
        answer = httpx2.get(address, timeout=_PATIENCE, follow_redirects=False)
    except httpx2.HTTPError as error:
        return broken("address", f"{address} cannot be reached: {error}. Does the proxy run?")
    if answer.is_redirect and answer.headers.get("location", "").rstrip("/") == address.rstrip("/"):
        return broken(
            "address",
            f"{address} leads to itself: the proxy's X-Forwarded-Proto does not count. Let it send the "
            "header, and put its address into TRUSTED_PROXIES.",
        )
    if answer.status_code == 400:
        return broken(
            "address", f"{address} is refused: put the name into ALLOWED_HOSTS. The log says which came."
        )
    if answer.status_code in (502, 503, 504):
        return broken("address", f"the proxy answers {answer.status_code}: it does not reach this server.")
    if answer.status_code != 200 or "csrftoken" not in answer.headers.get("set-cookie", ""):
        return broken(
            "address", f"{address} answers {answer.status_code}, and not with the login of memoryapp."
        )
    return ok("address", url)


def check_origin(url: str) -> Finding:
    """Send a form as a page does, without its CSRF token: only another origin is refused with plain text."""
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    try:
        answer = httpx2.post(f"{url}/login/", headers={"Origin": origin}, timeout=_PATIENCE)
    except httpx2.HTTPError as error:
        return broken("origin", f"a form cannot be sent: {error}.")
    if answer.status_code == 403 and answer.headers.get("content-type", "").startswith("text/plain"):
        return broken("origin", f"forms from {origin} are refused. Put it into ALLOWED_ORIGINS.")
    return ok("origin", f"forms from {origin} are accepted")


def check_socket(url: str) -> Finding:
    """Open a WebSocket as a page does. Without a login the server closes it, with a code of its own."""
    parts = urlsplit(url)
    origin = Origin(f"{parts.scheme}://{parts.netloc}")
    address = f"{'wss' if parts.scheme == 'https' else 'ws'}{url[len(parts.scheme) :]}/ws/"
    try:
        with connect(address, origin=origin, open_timeout=_PATIENCE, proxy=None) as opened:
            opened.recv(timeout=_PATIENCE)
    except ConnectionClosed as closed:
        return judge_close_code(closed.rcvd.code if closed.rcvd else 0, str(origin))
    except (InvalidHandshake, OSError) as error:
        if isinstance(error, InvalidStatus) and error.response.status_code == _REFUSED:
            return judge_close_code(_OTHER_ORIGIN, str(origin))
        return broken(
            "websocket",
            f"the proxy passes no WebSocket ({_shorten(error)}). Pages work, but ask every second. Let it "
            "pass the headers Upgrade and Connection, see .deploy/nginx.conf.",
        )
    return ok("websocket", "passes")


def judge_close_code(code: int, origin: str) -> Finding:
    """Judge with which code the server closed a socket without a login."""
    if code == _OTHER_ORIGIN:
        return broken(
            "websocket",
            f"sockets from {origin} are refused. Put it into ALLOWED_ORIGINS, and its name into "
            "ALLOWED_HOSTS. The log says what came.",
        )
    if code == _NO_LOGIN:
        return ok("websocket", "passes")
    return note("websocket", f"was closed with the unexpected code {code}.")


def _shorten(error: Any) -> str:
    return str(error).strip().splitlines()[0][:120] if str(error).strip() else type(error).__name__
