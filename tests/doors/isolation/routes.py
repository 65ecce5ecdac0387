"""Lists what the program answers: the routes of its URL table and its sockets, with their methods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from channels.routing import URLRouter
from django.urls import URLPattern, URLResolver, get_resolver

from .entries import name_route

ADMIN = "admin/"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def list_patterns(patterns: Any = None, prefix: str = "") -> Iterator[tuple[str, URLPattern]]:
    """Yield each URL pattern with its whole route."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        route = f"{prefix}{pattern.pattern}"
        if isinstance(pattern, URLResolver):
            yield from list_patterns(pattern.url_patterns, route)
        else:
            yield route, pattern


def list_routes() -> set[str]:
    """Return the routes outside the admin site."""
    named = {name_route(route, pattern.name) for route, pattern in list_patterns()}
    return {route for route in named if not route.startswith(ADMIN)}


def list_socket_routes() -> set[str]:
    """Return the routes of all sockets."""
    from memoryapp.asgi import application

    inner: Any = application.application_mapping["websocket"]
    while not isinstance(inner, URLRouter):
        inner = inner.inner
    return {str(route.pattern) for route in inner.routes}
