"""The HTTP connection to a model server: an event loop in a thread of its own, so that any call can be
cancelled.

A blocking read cannot be cancelled: closing a socket does not wake the thread that waits on it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import queue
import threading
from collections.abc import Callable, Collection, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx2

from chat.errors import BadAddress, ProviderError, ServerAway

from . import errors
from .address import Address, require_own_network
from .events import Json, get_choice, is_last_event

logger = logging.getLogger(__name__)

T = TypeVar("T")
# A server may close a kept-alive connection at the moment when it is used again; such a request is sent once
# more.
_STALE_CONNECTION = (httpx2.RemoteProtocolError, httpx2.ReadError, httpx2.WriteError)


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Timeouts in seconds: for the connection, a plain answer, the first event, the next one, and the usage.

    A small machine evaluates a long prompt for minutes before the first event comes.
    """

    connect: float = 5.0
    answer: float = 20.0
    first: float = 600.0
    next: float = 90.0
    cost: float = 5.0


class EventStream:
    """One streamed answer. Iterate over its events; raises ProviderError.

    `cancel` ends it from any thread.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._events: queue.SimpleQueue[Json | ProviderError | None] = queue.SimpleQueue()
        self._task: asyncio.Task[None] | None = None
        self._cancelled = False

    def __iter__(self) -> Iterator[Json]:
        while (event := self._events.get()) is not None:
            if isinstance(event, ProviderError):
                raise event
            yield event

    def cancel(self) -> None:
        """Close the connection, so that the server stops generating; the iteration ends."""
        self._cancelled = True
        with suppress(RuntimeError):  # the loop has been closed, and every stream with it
            self._loop.call_soon_threadsafe(self._cancel_task)

    def _cancel_task(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def run(self, reader: Callable[[EventStream], Coroutine[Any, Any, None]]) -> None:
        """Run the reader on the loop and pass on its error."""
        self._task = asyncio.ensure_future(reader(self))
        if self._cancelled:
            self._task.cancel()
        end: ProviderError | None = None
        try:
            await self._task
        except asyncio.CancelledError:
            end = None
        except ProviderError as problem:
            end = problem
        except Exception:  # a bug must not make a partial answer look complete
            logger.warning("the answer of the model server could not be parsed", exc_info=True)
            end = ProviderError("server-not-a-model-server")
        finally:
            self._events.put(end)

    def end(self) -> None:
        """End the iteration, even if the reader was never started."""
        self._events.put(None)

    def put(self, event: Json) -> None:
        """Add an event."""
        self._events.put(event)


@dataclass
class Transport:
    """Sends requests to one server; redirects are not followed. Callable from any thread."""

    address: Address
    key: str = field(repr=False)
    timeouts: Timeouts = field(default_factory=Timeouts)

    def __post_init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._client: httpx2.AsyncClient | None = None
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False

    def get(self, url: str) -> Any:
        """Return the JSON at a URL; raises ProviderError."""
        return self._wait(self._request("GET", url, None))

    def post(self, url: str, body: Json, *, seconds: float | None = None) -> Any:
        """Return the JSON that answers a request, waiting up to `seconds`; raises ProviderError."""
        return self._wait(self._request("POST", url, body, seconds))

    def stream(self, url: str, body: Json) -> EventStream:
        """Start a streamed request and return at once; errors are raised by the iteration."""
        stream = EventStream(self._loop)
        run = self._submit(stream.run(lambda stream: self._read_stream(url, body, stream)))
        run.add_done_callback(lambda _run: stream.end())
        return stream

    def close(self) -> None:
        """Cancel all streams and end the thread; waits up to 5 s."""
        with self._lock:
            self._closed = True
            thread, self._thread = self._thread, None
        if thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join(timeout=5)

    def _wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        try:
            return self._submit(coroutine).result()
        except CancelledError:
            raise ServerAway("model-closed") from None

    def _submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        with self._lock:
            if self._closed:
                coroutine.close()
                raise ServerAway("model-closed")
            if self._thread is None:
                self._thread = threading.Thread(target=self._main, name="remote-model", daemon=True)
                self._thread.start()
            # Under the lock: a coroutine that is given to a stopped loop would never run.
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    # -- the thread of the connection -----------------------------------------------------------------------

    def _main(self) -> None:
        loop = self._loop
        loop.run_forever()
        loop.run_until_complete(self._shut_down(asyncio.all_tasks(loop)))
        loop.close()

    async def _shut_down(self, left: Collection[asyncio.Task[Any]]) -> None:
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()

    def _get_client(self) -> httpx2.AsyncClient:
        if self._client is None:
            headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
            waits = httpx2.Timeout(None, connect=self.timeouts.connect, write=self.timeouts.answer)
            self._client = httpx2.AsyncClient(
                headers=headers,
                timeout=waits,
                follow_redirects=False,
                # No proxy for a private address: a proxy outside cannot reach it. SSL_CERT_FILE still
                # applies.
                trust_env=not self.address.private,
                verify=httpx2.create_ssl_context(trust_env=True),
            )
        return self._client

    async def _checked_client(self) -> httpx2.AsyncClient:
        """Return the client after checking where the address leads; raises ProviderError."""
        try:
            async with asyncio.timeout(self.timeouts.connect):
                await require_own_network(self.address)
        except BadAddress as problem:
            raise ProviderError(problem.reason) from problem
        except TimeoutError as error:
            raise ServerAway("server-unreachable") from error
        return self._get_client()

    async def _request(self, method: str, url: str, body: Json | None, seconds: float | None = None) -> Any:
        try:
            async with asyncio.timeout(seconds or self.timeouts.answer):
                client = await self._checked_client()
                try:
                    response = await client.request(method, url, json=body)
                except _STALE_CONNECTION:
                    response = await client.request(method, url, json=body)
        except (httpx2.HTTPError, OSError, TimeoutError) as error:
            raise errors.from_transport_error(error, begun=False) from error
        if (
            problem := errors.from_response(response.status_code, response.content, response.headers)
        ) is not None:
            raise problem
        try:
            return response.json()
        except ValueError as error:
            raise ProviderError("server-not-a-model-server") from error

    async def _read_stream(self, url: str, body: Json, stream: EventStream) -> None:
        begun = ended = False
        try:
            async with asyncio.timeout(self.timeouts.first) as limit:
                client = await self._checked_client()
                async with client.stream("POST", url, json=body) as response:
                    if not 200 <= response.status_code < 300:
                        content = await response.aread()
                        problem = errors.from_response(response.status_code, content, response.headers)
                        raise problem or ProviderError("server-not-a-model-server")
                    if "json" in response.headers.get("content-type", ""):
                        stream.put(_parse_whole(await response.aread()))
                        return
                    async for event in httpx2.EventSource(response):
                        data = event.data.strip()
                        if data == "[DONE]":
                            return
                        if not data:
                            # An event without data: an id, a retry interval or a keep-alive.
                            continue
                        stream.put(found := _parse_event(data, begun=begun, is_error=event.event == "error"))
                        begun, ended = True, ended or is_last_event(found)
                        timeouts = self.timeouts.cost if ended else self.timeouts.next
                        limit.reschedule(asyncio.get_running_loop().time() + timeouts)
            # A connection that broke looks like one that was closed.
            if not ended:
                raise errors.from_transport_error(ConnectionError(), begun=begun)
        except httpx2.SSEError as error:
            raise ProviderError("server-not-a-model-server") from error
        except (httpx2.HTTPError, OSError, TimeoutError) as error:
            # After the last event nothing is missing.
            if not ended:
                raise errors.from_transport_error(error, begun=begun) from error


def _parse_whole(content: bytes) -> Json:
    """Return the answer of a server that ignores `stream`."""
    found = _parse_event(content.decode(errors="replace"), begun=False)
    if not get_choice(found):
        raise ProviderError("server-not-a-model-server")
    return found


def _parse_event(data: str, *, begun: bool, is_error: bool = False) -> Json:
    try:
        event = json.loads(data)
    except ValueError as error:
        raise ProviderError("server-not-a-model-server") from error
    if not isinstance(event, dict):
        raise ProviderError("server-not-a-model-server")
    if (problem := errors.from_event(event, begun=begun, is_error=is_error)) is not None:
        raise problem
    return event
