"""Responses that come later, so that a view that waits for a reply holds no thread.

Views that themselves call a model or another process have a few threads of their own.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from asgiref.sync import async_to_sync, sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db import close_old_connections
from django.http import HttpRequest, HttpResponse, HttpResponseBase

from chat.errors import Overloaded


class CountingPool(ThreadPoolExecutor):
    """A pool of threads that counts the calls in it, both running and waiting."""

    def __init__(self, threads: int, name: str) -> None:
        super().__init__(threads, thread_name_prefix=name)
        self._lock = threading.Lock()
        self._calls = 0

    def submit(self, *args: Any, **kwargs: Any) -> Future[Any]:
        """Queue a call."""
        with self._lock:
            self._calls += 1
        future = super().submit(*args, **kwargs)
        future.add_done_callback(self._count_end)
        return future

    def _count_end(self, _future: Future[Any]) -> None:
        with self._lock:
            self._calls -= 1

    @property
    def calls(self) -> int:
        """How many calls run or wait."""
        return self._calls


# Each calls the model or another process, for up to minutes.
SLOW_THREADS = 4
MAX_SLOW_WAITING = 16
_slow = CountingPool(SLOW_THREADS, "slow-request")


class LaterResponse(HttpResponse):
    """Stands for the response that `wait` returns. The ASGI handler awaits it, without a thread.

    Headers that the middleware adds to this response are added to the other one.
    """

    def __init__(self, wait: Callable[[], Awaitable[HttpResponseBase]]) -> None:
        super().__init__()
        self.wait = wait


# Key on the ASGI scope with the event loop that serves it.
LOOP_KEY = "memoryapp.loop"


def find_event_loop(request: HttpRequest) -> asyncio.AbstractEventLoop | None:
    """Return the event loop that serves a request; None outside of a server."""
    found: asyncio.AbstractEventLoop | None = getattr(request, "scope", {}).get(LOOP_KEY)
    return found


def respond_later(request: HttpRequest, wait: Callable[[], Awaitable[HttpResponseBase]]) -> Any:
    """Return a response that the server completes by awaiting `wait`; outside of a server, wait here.

    `wait` runs in the event loop and uses the database by `sync_to_async`.
    """
    return LaterResponse(wait) if isinstance(request, ASGIRequest) else async_to_sync(wait)()


def respond_from_slow_thread(request: HttpRequest, respond: Callable[[], HttpResponseBase]) -> Any:
    """Return the response of a function that blocks for long, such as one that calls the model.

    A server runs `SLOW_THREADS` of these at a time. Raises Overloaded beyond `MAX_SLOW_WAITING` more.
    """
    if not isinstance(request, ASGIRequest):
        return respond()
    if _slow.calls >= SLOW_THREADS + MAX_SLOW_WAITING:
        raise Overloaded("server-overloaded")

    def run() -> HttpResponseBase:
        try:
            return respond()
        finally:
            close_old_connections()

    return LaterResponse(sync_to_async(run, thread_sensitive=False, executor=_slow))
