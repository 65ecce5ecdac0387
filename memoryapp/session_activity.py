"""Records when and from where each login session was last used, for the list of a person's sessions."""

from __future__ import annotations

from collections.abc import Callable

from django.core.cache import cache
from django.http import HttpRequest, HttpResponse

from chat.accounts import client_address
from chat.actions.login_sessions import record_session
from chat.actions.owners import is_local

# Seconds between two records of one session: each is a write.
RECORDED_EVERY = 60


class RecordSessions:
    """Record the session of a request at most once a minute. Local mode has no sessions to show."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not is_local() and not hasattr(request, "bearer_owner"):
            key = request.session.session_key
            if key and request.user.is_authenticated and cache.add(f"session-{key}", 1, RECORDED_EVERY):
                device = request.headers.get("User-Agent", "")
                record_session(request.user, key, client_address(request), device)
        return self.get_response(request)
