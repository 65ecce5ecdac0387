"""Where a model's server is: which addresses are accepted, and how each of its paths is made."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

# Endings that no public name has: RFC 6762, RFC 8375, ICANN's .internal, and what routers hand out.
_PRIVATE_ENDINGS = (".local", ".localhost", ".home.arpa", ".internal", ".lan")
_IN_THE_OPEN = "Outside your own network the address must begin with https://."
# Of a few hosted ones the version is another, or does not stand at the end.
_VERSION = re.compile(r"/v\d\w*(/openai)?\Z", re.ASCII)
_HOST = re.compile(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?", re.ASCII)


class BadAddress(ValueError):
    """An address that is not accepted; the text says why in a sentence."""


@dataclass(frozen=True, slots=True)
class Address:
    """A server that speaks OpenAI's protocol: `api` is its /v1, `root` what lies above it.

    `private` is what its name or number says; a name that plain http goes to is also looked up.
    """

    root: str
    api: str
    host: str
    private: bool


def parse(text: str) -> Address:
    """Return the address that somebody typed, with or without /v1; raises BadAddress.

    Prompts hold what memory knows, so they go over the open network encrypted or not at all: plain http is
    for this machine and for names and addresses that lie in a private network.
    """
    try:
        parts = urlsplit(text.strip())
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        raise BadAddress("This is no address of a server.") from None
    if parts.scheme not in ("http", "https") or not host:
        raise BadAddress("The address begins with https:// or, on your own network, with http://.")
    if parts.username is not None or parts.password is not None:
        raise BadAddress("Write the key into its own field, not into the address.")
    if parts.query or parts.fragment:
        raise BadAddress("The address ends before ? and #.")
    private = _is_private(host)
    if parts.scheme == "http" and not private:
        raise BadAddress(_IN_THE_OPEN)
    shown = f"[{host}]" if ":" in host else host
    place = shown if port is None else f"{shown}:{port}"
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    version = _VERSION.search(path)
    server = f"{parts.scheme}://{place}"
    root = server + (path[: version.start()] if version else path)
    return Address(root, server + path if version else root + "/v1", place, private)


async def require_own_network(address: Address) -> None:
    """Raise BadAddress where plain http would leave the own network, whatever the server's name looks like.

    A provider's or a hotel's name server may lead any name to a machine of its own. A name that is not known
    is nobody's, and one of this network may have a public address beside its private one.
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
        raise BadAddress(_IN_THE_OPEN)


def _ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    found = ipaddress.ip_address(text)
    return getattr(found, "ipv4_mapped", None) or found


def _is_private(host: str) -> bool:
    try:
        found = _ip(host)
    except ValueError:
        # "2130706433" and "0x7f.1" are numbers too, which every system reads its own way.
        if not _HOST.fullmatch(host) or re.fullmatch(r"\d+|0x[\da-f]*", host.rpartition(".")[2]):
            raise BadAddress("This is no address of a server.") from None
        # A name without a dot is resolved on the own network only.
        return "." not in host or host.endswith(_PRIVATE_ENDINGS)
    if found.is_link_local or found.is_multicast or found.is_unspecified:
        # Where clouds hand out the keys of their machines; no model is served there.
        raise BadAddress("No model can be asked at this address.")
    return found.is_private
