"""The threads in which requests and sockets use the database, and the limit of requests that wait for one.

Django's ASGI handler gives each request its own thread, with a database connection, until its response has
been sent. A hundred clients that wait for a reply would hold a hundred of both. Here all requests share one
pool, and all sockets another one; what waits in the event loop (`chat.later_response`, streams) holds none.
"""

from __future__ import annotations

import asyncio
import io
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from asgiref.sync import SyncToAsync, ThreadSensitiveContext, sync_to_async
from django.core.handlers.asgi import ASGIHandler, ASGIRequest
from django.core.handlers.exception import response_for_exception
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.translation import gettext as _

from chat.api import problems
from chat.api.problems import RETRY_HEADERS, Problem
from chat.later_response import LOOP_KEY, CountingPool, LaterResponse

# SQLite has one writer, and Python runs one thread at a time, so more threads would only need more memory.
# Requests that only read use another pool than requests that write. A writing request may wait up to 20 s for
# its turn and as long for another process, and must not keep a thread from a reading one meanwhile.
READING_THREADS, WRITING_THREADS, SOCKET_THREADS = 16, 8, 8
# Requests of either kind that run or wait for a thread. A page sends a few at a time.
MAX_WAITING = 200


class SharedThreads(ThreadSensitiveContext):
    """Lets synchronous code of an ASGI scope run in a shared pool instead of a thread of its own."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        super().__init__()
        self._pool = pool

    async def __aenter__(self) -> Any:
        entered = await super().__aenter__()  # type: ignore[no-untyped-call]
        SyncToAsync.context_to_thread_executor[self] = self._pool
        return entered

    async def __aexit__(self, *details: Any) -> None:
        # The base class shuts down the executor that it finds here, and other requests still use the pool.
        SyncToAsync.context_to_thread_executor.pop(self, None)
        await super().__aexit__(*details)  # type: ignore[no-untyped-call]


_reading = CountingPool(READING_THREADS, "request-reading")
_writing = CountingPool(WRITING_THREADS, "request-writing")
_sockets = CountingPool(SOCKET_THREADS, "socket")
# Of their own: they are answered also while all other threads wait, `/live` also without a database.
_health = {path: CountingPool(1, f"health-{path[1:]}") for path in ("/live", "/ready")}


class RequestHandler(ASGIHandler):
    """Django's handler in the shared pools; answers 503 beyond `MAX_WAITING` requests."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one HTTP request."""
        pool = _reading if scope["method"] in ("GET", "HEAD", "OPTIONS") else _writing
        pool = _health.get(scope["path"].removeprefix(scope.get("root_path", "")), pool)
        if pool.calls >= MAX_WAITING:
            await self.send_response(_refuse(ASGIRequest(scope, io.BytesIO())), send)
            return
        # In place: `LimitBody` adds to the same scope while the body is read.
        scope[LOOP_KEY] = asyncio.get_running_loop()
        async with SharedThreads(pool):
            await self.handle(scope, receive, send)

    async def run_get_response(self, request: HttpRequest) -> HttpResponseBase:
        """Return the response; where the view answers later, wait in the event loop."""
        response: HttpResponseBase = await super().run_get_response(request)
        if not isinstance(response, LaterResponse):
            return response
        try:
            found = await response.wait()
        except Exception as error:
            found = await sync_to_async(response_for_exception)(request, error)
        for name, value in response.items():
            if name.lower() not in ("content-type", "content-length"):
                found.headers.setdefault(name, value)
        found.cookies.update(response.cookies)
        found._resource_closers.extend(response._resource_closers)  # type: ignore[attr-defined]
        found._handler_class = self.__class__  # type: ignore[attr-defined]
        return found


class SocketHandler:
    """ASGI application that lets sockets use the database in their shared pool."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one socket."""
        async with SharedThreads(_sockets):
            await self.inner(scope, receive, send)


def _refuse(request: HttpRequest) -> HttpResponse:
    sentence = _("Too many requests wait here. Try again in a moment.")
    if problems.is_for_programs(request):
        return problems.build_response(request, Problem("busy", sentence, headers=RETRY_HEADERS))
    return HttpResponse(sentence, status=503, headers=RETRY_HEADERS, content_type="text/plain; charset=utf-8")
