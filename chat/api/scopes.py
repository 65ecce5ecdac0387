"""Which scopes of a token a request needs, by its route and method."""

from __future__ import annotations

import re
from collections.abc import Iterable

from chat.models import ApiToken, Scope

# Sets of scopes, of which a token needs one whole set. An empty set: any token. No set: only full tokens.
Needed = tuple[frozenset[str], ...]

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


def _all_of(*scopes: Scope) -> Needed:
    return (frozenset(scopes),)


def _any_of(*scopes: Scope) -> Needed:
    return tuple(frozenset([scope]) for scope in scopes)


_CHAT, _MODEL = _all_of(Scope.CHAT), _all_of(Scope.MODEL)
_READ_CHATS, _READ_MEMORY = _all_of(Scope.READ_CHATS), _all_of(Scope.READ_MEMORY)
_WRITE_MEMORY = _all_of(Scope.WRITE_MEMORY)
_READ_BOTH = _all_of(Scope.READ_CHATS, Scope.READ_MEMORY)
_WRITE_EITHER = _any_of(Scope.CHAT, Scope.WRITE_MEMORY)
_IMPORT = _all_of(Scope.IMPORT)
_ANY: Needed = (frozenset(),)
_NOBODY: Needed = ()

# The first pattern that matches the beginning of a route decides: what reading needs, and what other methods
# need. Routes without a pattern are pages for people.
_ROUTES: tuple[tuple[re.Pattern[str], Needed, Needed], ...] = tuple(
    (re.compile(pattern), reading, writing)
    for pattern, reading, writing in (
        (r"v1/", _CHAT, _CHAT),
        # It deletes for good and many chats at once.
        (r"api/conversations/prune$", _NOBODY, _NOBODY),
        (r"metrics$", _MODEL, _MODEL),
        (r"settings/provider/$", _MODEL, _MODEL),
        (r"api/(docs|openapi\.json)?$", _ANY, _ANY),
        (r"api/conversations/[^/]+/(extractions|requests)$", _READ_MEMORY, _WRITE_MEMORY),
        (r"api/(conversations|messages|topics)(/|$)", _READ_CHATS, _CHAT),
        (r"api/apps/[^/]+/memories(/|$)", _READ_MEMORY, _WRITE_MEMORY),
        (r"api/apps(/|$)", _READ_CHATS, _CHAT),
        (r"api/(facts|entities|graph|extract)(/|$)", _READ_MEMORY, _WRITE_MEMORY),
        # A program must be able to undo its own deletion, of a chat or of a memory.
        (r"api/deletions/", _WRITE_EITHER, _WRITE_EITHER),
        (r"api/search$", _READ_BOTH, _READ_BOTH),
        (r"api/recall$", _READ_CHATS, _READ_CHATS),
        (r"api/metrics$", _MODEL, _MODEL),
        (r"api/settings$", _ANY, _all_of(Scope.CHAT, Scope.WRITE_MEMORY)),
        (r"api/export$", _READ_BOTH, _READ_BOTH),
        (r"api/import$", _IMPORT, _IMPORT),
        # Unknown addresses.
        (r"api/$", _ANY, _ANY),
    )
)
# A page's socket sends the texts of chats and memories, and can stop a reply.
SOCKET_SCOPES = frozenset({Scope.CHAT, Scope.READ_CHATS, Scope.READ_MEMORY})


def find_needed_scopes(route: str, method: str) -> Needed | None:
    """Return what a request to a route (as in `resolver_match.route`) needs; None for a page for people."""
    for pattern, reading, writing in _ROUTES:
        if pattern.match(route):
            return reading if method in _SAFE else writing
    return None


def is_allowed(token: ApiToken, route: str, method: str) -> bool:
    """Return whether a token may send this request."""
    needed = find_needed_scopes(route, method)
    return token.is_full or (needed is not None and any(token.allows(scopes) for scopes in needed))


def list_names(needed: Needed) -> str:
    """Return the scopes of a requirement for a sentence, such as "memory:read" or "chat or memory:write"."""
    return " or ".join(" and ".join(_in_order(scopes)) for scopes in needed)


def _in_order(scopes: Iterable[str]) -> list[str]:
    return [scope.value for scope in Scope if scope in scopes]
