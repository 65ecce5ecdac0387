"""How much a request may bring: looked at before any of it is kept, whoever asks.

Django reads a whole body, beyond 2.5 MB onto the disk, before it asks who sends it. So here nothing is larger
than what it reads into memory, but the file of an import from somebody who may bring one.
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
from memoryapp.middleware import (
    OWN_DOORS,
    AsgiApp,
    GetResponse,
    Scope,
    bearer,
    is_forwarded,
    is_local,
    owner_of,
    same_origin,
)

# Where a file comes in, by a page and by a program.
_UPLOADS = ("/settings/import/", "/api/import")
# Bytes around a file in a form.
_AROUND = 64 << 10
# On the scope: the bytes that were allowed, where more came.
_MOST = "memoryapp.most"


class BoundedBody:
    """Hands no more of a body on than its address and its sender may bring; `TooLarge` answers the rest.

    The rest is read and let go, so that whoever sends it hears the answer.
    """

    def __init__(self, inner: AsgiApp) -> None:
        self.inner = inner

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        declared = _declared(scope)
        most = await _most(scope, declared)
        scope = {**scope}
        whole, ended = 0, False

        async def bounded() -> Any:
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
            scope[_MOST] = most
            return {"type": "http.request", "body": b"", "more_body": False}

        await self.inner(scope, bounded, send)


class TooLarge:
    """Says so where more came than may come; /api and /v1 do so themselves, once they know who asks."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        most = getattr(request, "scope", {}).get(_MOST)
        if most is None:
            return self.get_response(request)
        sentence = uploads.too_large()
        if most <= settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            sentence = _("This is larger than %s, so nothing of it was taken.") % filesizeformat(most)
        if request.path_info.startswith(OWN_DOORS):
            request.too_large = sentence  # type: ignore[attr-defined]
            return self.get_response(request)
        if request.path_info in _UPLOADS and not request.user.is_authenticated:
            return redirect_to_login(resolve_url("settings"))
        if request.headers.get("HX-Request") == "true":
            return HttpResponse(sentence, status=413, content_type="text/plain; charset=utf-8")
        return render(request, "413.html", {"sentence": sentence}, status=413)


def _declared(scope: Scope) -> int | None:
    found = dict(scope["headers"]).get(b"content-length", b"")
    return int(found) if found.isdigit() else None


async def _most(scope: Scope, declared: int | None) -> int:
    most = int(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
    if scope["path"] not in _UPLOADS or scope["method"] != "POST":
        return most
    if declared is not None and declared <= most:
        return most
    return uploads.MOST_UPLOADED + _AROUND if await _may_bring_files(scope) else most


@database_sync_to_async
def _may_bring_files(scope: Scope) -> bool:
    """Return whether the sender is known, by the rules for all requests, before Django has read this one."""
    request: Any = ASGIRequest(scope, io.BytesIO())
    if owner_of(bearer(request.headers.get("Authorization"))) is not None:
        return True
    try:
        ours = same_origin(request.headers.get("Origin"), request.scheme, request.get_host())
    except DisallowedHost:
        return False
    if is_local():
        return ours and not is_forwarded(request.headers)
    sessions = import_module(settings.SESSION_ENGINE)
    request.session = sessions.SessionStore(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
    return ours and get_user(request).is_authenticated
