"""The connection to a model's server: a loop of its own in a thread, so that any call can be ended at once.

A blocking read could not be: closing a socket does not wake the thread that waits on it.
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

from chat.llm.types import ProviderError

from . import troubles
from .address import Address, BadAddress, require_own_network
from .events import Json, choice_of, is_last

logger = logging.getLogger(__name__)

T = TypeVar("T")
# A server may close a connection that was kept open in the moment in which it is used again.
_CLOSED_MEANWHILE = (httpx2.RemoteProtocolError, httpx2.ReadError, httpx2.WriteError)


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds that are waited: for a connection, a plain answer, the first word, the next one, what it cost.

    A long prompt on a small machine takes minutes to be read before the first word comes (design §4).
    """

    connect: float = 5.0
    answer: float = 20.0
    first: float = 600.0
    next: float = 90.0
    cost: float = 5.0


class Line:
    """One streamed answer: iterate over its events; `hang_up` ends it from any thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._events: queue.SimpleQueue[Json | ProviderError | None] = queue.SimpleQueue()
        self._task: asyncio.Task[None] | None = None
        self._hung_up = False

    def __iter__(self) -> Iterator[Json]:
        while (event := self._events.get()) is not None:
            if isinstance(event, ProviderError):
                raise event
            yield event

    def hang_up(self) -> None:
        """Close the connection, which is how a server learns that nobody listens; the iteration ends."""
        self._hung_up = True
        with suppress(RuntimeError):  # the loop has ended, and every line with it
            self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def run(self, reading: Callable[[Line], Coroutine[Any, Any, None]]) -> None:
        """Run the reading and pass on how it ended; on the loop."""
        self._task = asyncio.ensure_future(reading(self))
        if self._hung_up:
            self._task.cancel()
        end: ProviderError | None = None
        try:
            await self._task
        except asyncio.CancelledError:
            end = None
        except ProviderError as problem:
            end = problem
        except Exception:  # what was read so far must not be taken for a whole answer
            logger.warning("a server's answer made no sense", exc_info=True)
            end = ProviderError(troubles.NO_SENSE)
        finally:
            self._events.put(end)

    def end(self) -> None:
        """Let the iteration end, also where the reading never began."""
        self._events.put(None)

    def put(self, event: Json) -> None:
        """Pass an event on."""
        self._events.put(event)


@dataclass
class Wire:
    """Requests to one server, from any thread; nothing is sent anywhere else, whatever the server says."""

    address: Address
    key: str = field(repr=False)
    patience: Patience = field(default_factory=Patience)

    def __post_init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._client: httpx2.AsyncClient | None = None
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False

    def get(self, url: str) -> Any:
        """Return the JSON at a URL; raises ProviderError."""
        return self._wait(self._plain("GET", url, None))

    def post(self, url: str, body: Json, *, seconds: float | None = None) -> Any:
        """Return the JSON that answers a request; raises ProviderError."""
        return self._wait(self._plain("POST", url, body, seconds))

    def stream(self, url: str, body: Json) -> Line:
        """Ask for a streamed answer and return at once; what goes wrong is raised by iterating."""
        line = Line(self._loop)
        run = self._begin(line.run(lambda line: self._streamed(url, body, line)))
        run.add_done_callback(lambda _run: line.end())
        return line

    def close(self) -> None:
        """End all lines and the thread."""
        with self._lock:
            self._closed = True
            thread, self._thread = self._thread, None
        if thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join(timeout=5)

    def _wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        try:
            return self._begin(coroutine).result()
        except CancelledError:
            raise troubles.ServerAway(troubles.CLOSED) from None

    def _begin(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        with self._lock:
            if self._closed:
                coroutine.close()
                raise troubles.ServerAway(troubles.CLOSED)
            if self._thread is None:
                self._thread = threading.Thread(target=self._main, name="remote-model", daemon=True)
                self._thread.start()
            # Before the lock is given back: what a stopped loop is handed would never run.
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    # -- the thread of the connection -----------------------------------------------------------------------

    def _main(self) -> None:
        loop = self._loop
        loop.run_forever()
        loop.run_until_complete(self._end(asyncio.all_tasks(loop)))
        loop.close()

    async def _end(self, left: Collection[asyncio.Task[Any]]) -> None:
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()

    def _http(self) -> httpx2.AsyncClient:
        if self._client is None:
            headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
            waits = httpx2.Timeout(None, connect=self.patience.connect, write=self.patience.answer)
            self._client = httpx2.AsyncClient(
                headers=headers,
                timeout=waits,
                follow_redirects=False,
                # A proxy that leads out of a private network knows no way into it; SSL_CERT_FILE may well.
                trust_env=not self.address.private,
                verify=httpx2.create_ssl_context(trust_env=True),
            )
        return self._client

    async def _reached(self) -> httpx2.AsyncClient:
        """Return the client, once it is sure that the server lies where its address says."""
        try:
            async with asyncio.timeout(self.patience.connect):
                await require_own_network(self.address)
        except BadAddress as problem:
            raise ProviderError(str(problem)) from problem
        except TimeoutError as error:
            raise troubles.ServerAway(troubles.AWAY) from error
        return self._http()

    async def _plain(self, method: str, url: str, body: Json | None, seconds: float | None = None) -> Any:
        try:
            async with asyncio.timeout(seconds or self.patience.answer):
                client = await self._reached()
                try:
                    response = await client.request(method, url, json=body)
                except _CLOSED_MEANWHILE:
                    response = await client.request(method, url, json=body)
        except (httpx2.HTTPError, OSError, TimeoutError) as error:
            raise troubles.of_transport(error, begun=False) from error
        if (
            problem := troubles.of_answer(response.status_code, response.content, response.headers)
        ) is not None:
            raise problem
        try:
            return response.json()
        except ValueError as error:
            raise ProviderError(troubles.NO_SENSE) from error

    async def _streamed(self, url: str, body: Json, line: Line) -> None:
        begun = ended = False
        try:
            async with asyncio.timeout(self.patience.first) as limit:
                client = await self._reached()
                async with client.stream("POST", url, json=body) as response:
                    if not 200 <= response.status_code < 300:
                        content = await response.aread()
                        problem = troubles.of_answer(response.status_code, content, response.headers)
                        raise problem or ProviderError(troubles.NO_SENSE)
                    if "json" in response.headers.get("content-type", ""):
                        line.put(_whole(await response.aread()))
                        return
                    async for event in httpx2.EventSource(response):
                        data = event.data.strip()
                        if data == "[DONE]":
                            return
                        if not data:
                            # Only a number, a pause to keep, or a sign of life.
                            continue
                        line.put(found := _read(data, begun=begun, is_error=event.event == "error"))
                        begun, ended = True, ended or is_last(found)
                        patience = self.patience.cost if ended else self.patience.next
                        limit.reschedule(asyncio.get_running_loop().time() + patience)
            # A connection that is cut looks like one that was closed.
            if not ended:
                raise troubles.of_transport(ConnectionError(), begun=begun)
        except httpx2.SSEError as error:
            raise ProviderError(troubles.NO_SENSE) from error
        except (httpx2.HTTPError, OSError, TimeoutError) as error:
            # Once the answer has ended, nothing of it is missing.
            if not ended:
                raise troubles.of_transport(error, begun=begun) from error


def _whole(content: bytes) -> Json:
    """Return an answer in one piece, of a server that does not stream."""
    found = _read(content.decode(errors="replace"), begun=False)
    if not choice_of(found):
        raise ProviderError(troubles.NO_SENSE)
    return found


def _read(data: str, *, begun: bool, is_error: bool = False) -> Json:
    try:
        event = json.loads(data)
    except ValueError as error:
        raise ProviderError(troubles.NO_SENSE) from error
    if not isinstance(event, dict):
        raise ProviderError(troubles.NO_SENSE)
    if (problem := troubles.of_event(event, begun=begun, is_error=is_error)) is not None:
        raise problem
    return event
