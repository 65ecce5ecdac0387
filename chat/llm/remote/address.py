"""Where a model's server is: which addresses are accepted, and how each of its paths is made."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

# Endings that no public name has: RFC 6762, RFC 8375, ICANN's .internal, and what routers hand out.
_PRIVATE_ENDINGS = (".local", ".localhost", ".home.arpa", ".internal", ".lan")
_HOST = re.compile(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?", re.ASCII)


class BadAddress(ValueError):
    """An address that is not accepted; the text says why in a sentence."""


@dataclass(frozen=True, slots=True)
class Address:
    """A server that speaks OpenAI's protocol: `api` is its /v1, `root` what lies above it."""

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
        raise BadAddress("Outside your own network the address must begin with https://.")
    shown = f"[{host}]" if ":" in host else host
    place = shown if port is None else f"{shown}:{port}"
    path = parts.path.rstrip("/")
    above = path.removesuffix("/v1")
    root = f"{parts.scheme}://{place}{above}"
    return Address(root, root + "/v1", place, private)


def _is_private(host: str) -> bool:
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        if not _HOST.fullmatch(host):
            raise BadAddress("This is no address of a server.") from None
        # A name without a dot is resolved on the own network only.
        return "." not in host or host.endswith(_PRIVATE_ENDINGS)
    if found.is_link_local or found.is_multicast or found.is_unspecified:
        # Where clouds hand out the keys of their machines; no model is served there.
        raise BadAddress("No model can be asked at this address.")
    return found.is_private
