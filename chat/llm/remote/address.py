"""The address of a model server: which addresses are accepted, and the base URLs derived from one."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from chat.errors import BadAddress

# Endings of names that are not public: RFC 6762, RFC 8375, ICANN's .internal, and .lan of home routers.
_PRIVATE_ENDINGS = (".local", ".localhost", ".home.arpa", ".internal", ".lan")
# The version in a path; some hosted servers use another one than v1, or put /openai after it.
_VERSION = re.compile(r"/v\d\w*(/openai)?\Z", re.ASCII)
_HOST = re.compile(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?", re.ASCII)
# Servers of one model; each is monitored by a thread of its own.
MAX_ADDRESSES = 32


@dataclass(frozen=True, slots=True)
class Address:
    """A server that speaks OpenAI's protocol: `api` is the URL that ends in /v1, `root` the URL above it.

    `private` is decided by the name or number alone; with plain http the name is also resolved.
    """

    root: str
    api: str
    host: str
    private: bool


def parse_address(text: str) -> Address:
    """Return the address that a user typed, with or without /v1; raises BadAddress.

    Prompts contain the user's memory, so plain http is accepted only for this machine and private networks.
    """
    try:
        parts = urlsplit(text.strip())
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        raise BadAddress("address-malformed") from None
    if parts.scheme not in ("http", "https") or not host:
        raise BadAddress("address-scheme")
    if parts.username is not None or parts.password is not None:
        raise BadAddress("address-holds-key")
    if parts.query or parts.fragment:
        raise BadAddress("address-holds-query")
    private = _is_private(host)
    if parts.scheme == "http" and not private:
        raise BadAddress("address-needs-https")
    shown = f"[{host}]" if ":" in host else host
    place = shown if port is None else f"{shown}:{port}"
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    version = _VERSION.search(path)
    server = f"{parts.scheme}://{place}"
    root = server + (path[: version.start()] if version else path)
    return Address(root, server + path if version else root + "/v1", place, private)


def parse_addresses(text: str) -> tuple[Address, ...]:
    """Return the addresses in a text, separated by commas or blanks, each once; raises BadAddress."""
    found = dict.fromkeys(parse_address(part) for part in re.split(r"[,\s]+", text) if part)
    if not found:
        raise BadAddress("address-scheme")
    if len(found) > MAX_ADDRESSES:
        raise BadAddress("addresses-too-many", most=MAX_ADDRESSES)
    return tuple(found)


async def require_own_network(address: Address) -> None:
    """Raise BadAddress where plain http would leave the private network, whatever the server's name looks
    like.

    Some name servers resolve every name to a public machine. A name that does not resolve is accepted, as is
    one with a private address beside public ones. Resolves the name: call it in an event loop.
    """
    parts = urlsplit(address.root)
    host = parts.hostname or ""
    if parts.scheme != "http" or host == "localhost":
        return
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return
    if found and all(_ip(str(place[0])).is_global for *_kind, place in found):
        raise BadAddress("address-needs-https")


def _ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    found = ipaddress.ip_address(text)
    return getattr(found, "ipv4_mapped", None) or found


def _is_private(host: str) -> bool:
    try:
        found = _ip(host)
    except ValueError:
        # "2130706433" and "0x7f.1" are IP addresses too, which systems interpret differently.
        if not _HOST.fullmatch(host) or re.fullmatch(r"\d+|0x[\da-f]*", host.rpartition(".")[2]):
            raise BadAddress("address-malformed") from None
        # A name without a dot is resolved in the local network only.
        return "." not in host or host.endswith(_PRIVATE_ENDINGS)
    if found.is_link_local or found.is_multicast or found.is_unspecified:
        # Link-local addresses serve cloud credentials; no model server runs there.
        raise BadAddress("address-unusable")
    return found.is_private
