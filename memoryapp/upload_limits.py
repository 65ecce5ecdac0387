"""Limits the size of request bodies before any of a body is stored.

Django reads a whole body, above 2.5 MB to the disk, before it authenticates the sender. Here no body may be
larger than what Django keeps in memory, except the file of an import by an authenticated sender.
"""

from __future__ import annotations

import io
from importlib import import_module
from typing import Any

from channels.db import database_sync_to_async
from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render, resolve_url
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _

from chat.actions.importing import uploads
from chat.actions.owners import is_local
from chat.error_messages import describe
from chat.origins import is_own_origin
from memoryapp.middleware import (
    API_PATHS,
    GetResponse,
    is_forwarded,
    parse_bearer,
)
from memoryapp.socket_guard import AsgiApp, Scope, find_token

# URLs that accept a file, for pages and for programs.
_UPLOADS = ("/settings/import/", "/api/import")
# Bytes of a form around its file.
_FORM_OVERHEAD = 64 << 10
# Key on the scope with the allowed bytes, set where the body was larger.
_LIMIT_KEY = "memoryapp.most"


class LimitBody:
    """ASGI middleware that passes on no more of a body than its URL and sender may send; `RejectTooLarge`
    answers larger ones.

    The rest of the body is read and dropped, so that the client receives the response.
    """

    def __init__(self, inner: AsgiApp) -> None:
        self.inner = inner

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        declared = _declared_length(scope)
        most = await _find_limit(scope, declared)
        scope = {**scope}
        whole, ended = 0, False

        async def limited_receive() -> Any:
            nonlocal whole, ended
            if not ended and declared is not None and declared > most:
                return refuse()
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    return message
                if ended:
                    continue
                whole += len(message.get("body", b""))
                if whole > most:
                    return refuse()
                ended = not message.get("more_body", False)
                return message

        def refuse() -> dict[str, Any]:
            nonlocal ended
            ended = True
            scope[_LIMIT_KEY] = most
            return {"type": "http.request", "body": b"", "more_body": False}

        await self.inner(scope, limited_receive, send)


class RejectTooLarge:
    """Answer 413 where the body was too large.

    `/api` and `/v1` do so themselves, once they have authenticated the sender.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        most = getattr(request, "scope", {}).get(_LIMIT_KEY)
        if most is None:
            return self.get_response(request)
        sentence = describe(uploads.too_large())
        if most <= settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            sentence = _("This is larger than %s and was not accepted.") % filesizeformat(most)
        if request.path_info.startswith(API_PATHS):
            request.too_large = sentence  # type: ignore[attr-defined]
            return self.get_response(request)
        if request.path_info in _UPLOADS and not request.user.is_authenticated:
            return redirect_to_login(resolve_url("settings"))
        if request.headers.get("HX-Request") == "true":
            return HttpResponse(sentence, status=413, content_type="text/plain; charset=utf-8")
        return render(request, "413.html", {"sentence": sentence}, status=413)


def _declared_length(scope: Scope) -> int | None:
    found = dict(scope["headers"]).get(b"content-length", b"")
    return int(found) if found.isdigit() else None


async def _find_limit(scope: Scope, declared: int | None) -> int:
    most = int(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
    if scope["path"].removeprefix(scope.get("root_path", "")) not in _UPLOADS or scope["method"] != "POST":
        return most
    if declared is not None and declared <= most:
        return most
    return uploads.most_bytes() + _FORM_OVERHEAD if await _may_bring_files(scope) else most


@database_sync_to_async
def _may_bring_files(scope: Scope) -> bool:
    """Return whether the sender is authenticated by the rules of all requests, before Django has read this
    one.
    """
    request: Any = ASGIRequest(scope, io.BytesIO())
    if find_token(parse_bearer(request.headers.get("Authorization"))) is not None:
        return True
    try:
        ours = is_own_origin(request.headers.get("Origin"), request.scheme, request.get_host())
    except DisallowedHost:
        return False
    if is_local():
        return ours and not is_forwarded(request.headers)
    sessions = import_module(settings.SESSION_ENGINE)
    request.session = sessions.SessionStore(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
    return ours and get_user(request).is_authenticated
