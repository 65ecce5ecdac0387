"""One thread that owns the llama.cpp context; everybody else queues in lanes (design §4)."""

from __future__ import annotations

import itertools
import logging
import queue
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from . import meter
from .cache import PrefixCache
from .native import Native
from .parking import ParkingLot
from .sampler import Sampler, Sampling
from .slots import Slot
from .types import Finish, Lane, ModelNotReady, PromptTooLong, ProviderError, StopFlag, Usage

logger = logging.getLogger(__name__)

# Extraction, consolidation, summaries and app memories each keep a prefix of their own.
BACKGROUND_SEQUENCES = 4
_ticket = itertools.count()


@dataclass(eq=False)
class Request:
    """One call on its way through the engine; survives pre-emption with all it has generated."""

    tokens: list[int]
    slot: str
    lane: Lane
    max_tokens: int
    sampling: Sampling
    grammar: str | None = None
    stop: StopFlag = field(default_factory=StopFlag)
    background: bool = False
    # Takes no energy.
    free: bool = False
    pieces: queue.SimpleQueue[bytes | Exception | None] = field(default_factory=queue.SimpleQueue)
    generated: list[int] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    finish: Finish = "stop"
    ticket: int = field(default_factory=lambda: next(_ticket))
    submitted: float = field(default_factory=time.monotonic)
    sampler: Sampler | None = None

    def sequence(self) -> list[int]:
        """Return all that must be in the cache before the next token can be drawn."""
        return self.tokens + self.generated

    def __iter__(self) -> Iterator[bytes]:
        """Yield the bytes of each token as it comes; raises what went wrong in the engine."""
        while (item := self.pieces.get()) is not None:
            if isinstance(item, Exception):
                raise item
            yield item


class Interrupted(Exception):
    """The running request must give way, or was stopped."""


class Engine:
    """Runs one request at a time; a higher lane takes over at the next token or inside a prompt."""

    def __init__(
        self,
        build: Callable[[], Native],
        *,
        background_cells: int,
        lot: ParkingLot,
        on_error: Callable[[Exception], None],
    ) -> None:
        self._build = build
        self._lot = lot
        self._background_cells = background_cells
        self._on_error = on_error
        self._wake = threading.Condition()
        self._waiting: list[Request] = []
        self._to_forget: set[str] = set()
        self._keep: Mapping[str, Sequence[int]] | None = None
        self._running: Request | None = None
        self._closed = False
        self.native: Native | None = None
        self._caches: dict[bool, PrefixCache] = {}
        self.ready = threading.Event()
        self.idle_since = time.monotonic()
        self._thread = threading.Thread(target=self._main, name="engine", daemon=True)

    def start(self) -> None:
        """Begin to load the model in the engine's own thread."""
        self._thread.start()

    def submit(self, request: Request) -> Request:
        """Queue a request from any thread; a lower lane that is running gives way at once."""
        with self._wake:
            if self._closed:
                raise ModelNotReady("The model has been shut down.")
            self._waiting.append(request)
            running = self._running
            if running and request.lane < running.lane and self.native:
                self.native.set_abort(True)
            self._wake.notify()
        return request

    def stop(self, request: Request) -> None:
        """Make a request look at its stop flag at the next graph node; it keeps what it has written."""
        with self._wake:
            if self._running is request and self.native:
                self.native.set_abort(True)
            waiting = request in self._waiting
            if waiting:
                self._waiting.remove(request)
        if waiting:
            request.finish = "cancelled"
            self._end(request, None)

    def forget(self, slots: Collection[str], keep: Mapping[str, Sequence[int]]) -> None:
        """Have these slots dropped, and all background slots cut back to the tokens in `keep`; any thread.

        It happens between two requests; a slot whose request waits to go on is dropped after that.
        """
        with self._wake:
            self._to_forget.update(slots)
            self._keep = keep
            self._wake.notify()

    def idle_seconds(self) -> float:
        """Return for how long the engine has had nothing to do; 0 while it works."""
        with self._wake:
            busy = self._running is not None or bool(self._waiting)
        return 0.0 if busy else time.monotonic() - self.idle_since

    def close(self) -> None:
        """Finish the token at hand, fail what waits and free the model."""
        with self._wake:
            self._closed = True
            if self.native:
                self.native.set_abort(True)
            self._wake.notify()
        self._thread.join(timeout=10)

    def _loaded(self) -> Native:
        if self.native is None:
            raise ModelNotReady("The model is still loading.")
        return self.native

    # -- the engine thread ----------------------------------------------------------------------------------

    def _main(self) -> None:
        try:
            self.native = self._build()
            # Attention runs over all used cells of a context, whoever's they are: the long prefixes of
            # background prompts beside a conversation made its tokens up to a fifth slower (measured).
            apart = self.native.sibling(self._background_cells, sequences=BACKGROUND_SEQUENCES)
            self._caches = {False: PrefixCache(self.native, self._lot), True: PrefixCache(apart)}
        except Exception as error:  # the state of the model is shown to the user, whatever went wrong
            logger.exception("the model could not be loaded")
            with self._wake:
                self._closed = True
                failed, self._waiting = self._waiting, []
            self._on_error(error)
            for request in failed:
                self._end(request, ModelNotReady(str(error)))
            return
        self.ready.set()
        while (current := self._next()) is not None:
            self._serve(current)
        for request in self._waiting:
            self._end(request, ModelNotReady("The model has been shut down."))
        self._lot.close()
        for cache in reversed(self._caches.values()):
            cache.native.close()

    def _next(self) -> Request | None:
        with self._wake:
            self._drop_forgotten()
        # Without the lock, at which whoever submits or stops something would wait for the disk.
        self._lot.settle(self._is_wanted)
        with self._wake:
            self._drop_forgotten()
            while not self._waiting and not self._closed:
                self._wake.wait()
                self._drop_forgotten()
            if self._closed:
                return None
            request = min(self._waiting, key=lambda r: (r.lane, r.ticket))
            self._waiting.remove(request)
            self._running = request
            self._loaded().set_abort(request.stop.is_set())
            return request

    def _is_wanted(self) -> bool:
        with self._wake:
            return self._closed or bool(self._waiting)

    def _drop_forgotten(self) -> None:
        """Drop the prefixes that are to be forgotten, but for those that a waiting request goes on with."""
        busy = {request.slot for request in self._waiting}
        for name in self._to_forget - busy:
            self._caches[False].forget(name)
        self._to_forget &= busy
        if self._keep is not None:
            apart = self._caches[True]
            names = {slot.name for slot in apart.table if slot.name is not None}
            for name in names - busy:
                apart.forget(name, self._keep.get(name, ()))
            self._keep = self._keep if names & busy else None

    def _serve(self, request: Request) -> None:
        error: Exception | None = None
        done = True
        began = time.monotonic()
        try:
            self._work(request)
        except Interrupted:
            done = request.stop.is_set() or self._closed
            request.finish = "cancelled"
        except ProviderError as problem:
            error = problem
        except Exception as problem:  # a bug must fail one request, not the thread that everybody needs
            logger.exception("a request failed in the engine")
            error = ProviderError(f"The model's engine failed ({type(problem).__name__}).")
        # A try that had to give way has taken its time too.
        _account(request, time.monotonic() - began)
        with self._wake:
            self._running = None
            self.idle_since = time.monotonic()
            if not done:
                self._waiting.append(request)
        if done:
            self._end(request, error)

    def _end(self, request: Request, error: Exception | None) -> None:
        if request.sampler:
            request.sampler.close()
        request.usage.seconds = time.monotonic() - request.submitted
        request.pieces.put(error)

    def _must_yield(self, request: Request) -> bool:
        with self._wake:
            return request.stop.is_set() or self._closed or any(r.lane < request.lane for r in self._waiting)

    def _work(self, request: Request) -> None:
        cache = self._caches[request.background]
        native = cache.native
        request.finish = "stop"
        if len(request.tokens) + request.max_tokens > native.cells or not request.tokens:
            raise PromptTooLong("This conversation is longer than the model's window.")
        request.sampler = request.sampler or Sampler(native, request.sampling, request.grammar)
        slot = cache.acquire(request.slot, request.sequence())
        if request.usage.prompt_tokens == 0:
            request.usage.prompt_tokens = len(request.tokens)
            request.usage.cached_tokens = min(len(slot.tokens), len(request.tokens))
        self._fill(request, cache, slot)
        while len(request.generated) < request.max_tokens:
            token = request.sampler.sample()
            if native.is_end(token):
                return
            request.generated.append(token)
            request.usage.completion_tokens += 1
            if request.usage.first_token_seconds is None:
                request.usage.first_token_seconds = time.monotonic() - request.submitted
            request.pieces.put(native.piece(token))
            self._fill(request, cache, slot)
        request.finish = "length"

    def _fill(self, request: Request, cache: PrefixCache, slot: Slot) -> None:
        """Evaluate what the slot lacks; raises Interrupted between batches, at tokens and inside a batch."""
        wanted = request.sequence()
        while len(slot.tokens) < len(wanted):
            if self._must_yield(request):
                raise Interrupted
            cache.read_more(slot, wanted)
        if self._must_yield(request):
            raise Interrupted


def _account(request: Request, seconds: float) -> None:
    request.usage.worked += seconds
    if request.lane is Lane.BACKGROUND and not request.free:
        meter.background.add(seconds)
