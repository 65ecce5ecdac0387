"""Reads how browsers reach a server: its origins, the path in front of all addresses, and its proxies.

Standard library only.
"""

import os
import re
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from .env import BadValue, envlist

_BASE_PATH = re.compile(r"(?:/[A-Za-z0-9_-]+)+")
# With what our own addresses begin, see `memoryapp.urls` and `memoryapp.asgi`. Where a proxy leaves BASE_PATH
# out, /memory/add/ would be taken for /add/ below a BASE_PATH of /memory.
OWN_PLACES = {
    *("account", "admin", "api", "apps", "c", "first", "invite", "live", "login", "logout", "m", "memory"),
    *("metrics", "model", "old-chats", "people", "poll", "quotations", "ready", "search", "send", "settings"),
    *("signup", "static", "statistics", "topics", "v1", "ws"),
}


def envorigins(name: str) -> list[str]:
    """Return the variable's origins, such as https://chat.example.org:8443. Raises BadValue."""
    return [_parse_origin(name, text) for text in envlist(name)]


def _parse_origin(name: str, text: str) -> str:
    try:
        parts = urlsplit(text.rstrip("/"))
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    host = parts.hostname or ""
    rest = parts.path + parts.query + parts.fragment + (parts.username or "")
    if parts.scheme not in ("http", "https") or not host or rest or "*" in host:
        raise BadValue(f"{name} must be origins such as https://chat.example.org:8443, not {text!r}.")
    host = f"[{host}]" if ":" in host else host
    # Browsers leave out the usual port.
    usual = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{host}" + (f":{port}" if port not in (None, usual) else "")


def envnetworks(name: str) -> list[str]:
    """Return the variable's addresses and networks, such as 10.0.0.0/8. Raises BadValue."""
    found = envlist(name)
    for text in found:
        try:
            if "/" in text:
                ip_network(text)
            else:
                ip_address(text)
        except ValueError:
            raise BadValue(
                f"{name} must be addresses or networks such as 127.0.0.1 or 10.0.0.0/8, not {text!r}."
            ) from None
    return found


def envpath(name: str) -> str:
    """Return the variable as a path such as /chat, without a last slash; "" for none. Raises BadValue."""
    text = os.environ.get(name, "").strip().rstrip("/")
    if text and not _BASE_PATH.fullmatch(text):
        raise BadValue(f"{name} must be a path such as /chat, not {text!r}.")
    if (place := text.split("/")[1] if text else "") in OWN_PLACES:
        raise BadValue(
            f"{name} must be another path than {text!r}, such as /chat: memoryapp has addresses of its own "
            f"that begin with /{place}."
        )
    return text
