"""The engine: one thread that owns the llama.cpp contexts and serves requests by lane, and in turns by owner.

llama.cpp aborts the process when two threads use one context, so every other thread queues a request here.
The conversations and the background prompts have a context each, and still share this thread: two contexts
that compute at once would compete for the same cores and slow each other down. (The `threads` of `llm.native`
are those with which llama.cpp computes one batch.)

A request of a higher lane pre-empts the running one at its next token, or inside a batch through the abort
flag; the pre-empted request goes on later with all that it has generated.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence

from chat.errors import ModelNotReady, PromptTooLong, ProviderError, reason_of

from . import meter
from .engine_request import EngineRequest, Sampler
from .fixed_prompts import FixedPromptStore
from .native import Native
from .prefix_cache import PrefixCache, Slot
from .state_cache import StateCache
from .turns import Turns
from .types import Lane

logger = logging.getLogger(__name__)

# Extraction, consolidation, summaries and app memories each keep a cached prefix of their own.
BACKGROUND_SEQUENCES = 4


class Interrupted(Exception):
    """The running request must yield to a higher lane, or was stopped."""


class Engine:
    """Serves one request at a time. Methods without a leading underscore are callable from any thread.

    `build` loads the model in the engine's thread. `on_error` is called there when that fails.
    """

    def __init__(
        self,
        build: Callable[[], Native],
        *,
        background_cells: int,
        state_cache: StateCache,
        on_error: Callable[[Exception], None],
        fixed_prompts: FixedPromptStore | None = None,
    ) -> None:
        self._build = build
        self._state_cache = state_cache
        self._fixed_prompts = fixed_prompts
        self._background_cells = background_cells
        self._on_error = on_error
        self._wake = threading.Condition()
        self._waiting: list[EngineRequest] = []
        self._turns = Turns()
        self._to_forget: set[str] = set()
        self._forgets_all = False
        self._keep: Mapping[str, Sequence[int]] | None = None
        self._running: EngineRequest | None = None
        self._closed = False
        self.native: Native | None = None
        self._caches: dict[bool, PrefixCache] = {}
        self.ready = threading.Event()
        self.idle_since_monotonic = time.monotonic()
        self._thread = threading.Thread(target=self._main, name="engine", daemon=True)

    def start(self) -> None:
        """Start the engine's thread, which loads the model."""
        self._thread.start()

    def submit(self, request: EngineRequest) -> EngineRequest:
        """Queue a request; a running one of a lower lane is aborted. Raises ModelNotReady after `close`."""
        with self._wake:
            if self._closed:
                raise ModelNotReady("model-closed")
            self._waiting.append(request)
            running = self._running
            if running and request.options.lane < running.options.lane and self.native:
                self.native.set_abort(True)
            self._wake.notify()
        return request

    def stop(self, request: EngineRequest) -> None:
        """Make a request check its stop flag at the next graph node; its text so far is kept."""
        with self._wake:
            if self._running is request and self.native:
                self.native.set_abort(True)
            waiting = request in self._waiting
            if waiting:
                self._waiting.remove(request)
        if waiting:
            request.finish = "cancelled"
            self._end(request, None)

    def forget(self, slots: Collection[str] | None, keep: Mapping[str, Sequence[int]]) -> None:
        """Delete these slots' prefixes, None for those of all conversations, and truncate all background
        slots to the tokens in `keep`.

        Done between two requests; a slot with a waiting request is deleted after that request.
        """
        with self._wake:
            self._to_forget.update(slots or ())
            self._forgets_all |= slots is None
            self._keep = keep
            self._wake.notify()

    def idle_seconds(self) -> float:
        """Return how many seconds the engine has been idle; 0 while it works."""
        with self._wake:
            busy = self._running is not None or bool(self._waiting)
        return 0.0 if busy else time.monotonic() - self.idle_since_monotonic

    def close(self) -> None:
        """Finish the current token, fail the waiting requests and free the model; waits up to 10 s."""
        with self._wake:
            self._closed = True
            if self.native:
                self.native.set_abort(True)
            self._wake.notify()
        self._thread.join(timeout=10)

    def _loaded(self) -> Native:
        if self.native is None:
            raise ModelNotReady("model-still-loading")
        return self.native

    # -- the engine thread ----------------------------------------------------------------------------------

    def _main(self) -> None:
        try:
            self.native = self._build()
            # A context of its own for background prompts: attention runs over all used cells of a context,
            # and their long prefixes made the tokens of a conversation up to 20 % slower (measured).
            background = self.native.sibling(self._background_cells, sequences=BACKGROUND_SEQUENCES)
            self._caches = {False: PrefixCache(self.native, self._state_cache), True: PrefixCache(background)}
        except Exception as error:  # whatever the error, the user must see that the model failed to load
            logger.exception("the model could not be loaded")
            with self._wake:
                self._closed = True
                failed, self._waiting = self._waiting, []
            self._on_error(error)
            for request in failed:
                self._end(request, ModelNotReady(reason_of(error)))
            return
        self.ready.set()
        while (current := self._next()) is not None:
            self._serve(current)
        for request in self._waiting:
            self._end(request, ModelNotReady("model-closed"))
        self._state_cache.close()
        for cache in reversed(self._caches.values()):
            cache.native.close()

    def _next(self) -> EngineRequest | None:
        with self._wake:
            self._delete_forgotten()
        # Outside the lock: `submit` and `stop` must not wait for the disk.
        self._state_cache.shrink_to_budget(self._has_work)
        with self._wake:
            self._delete_forgotten()
            while not self._waiting and not self._closed:
                self._wake.wait()
                self._delete_forgotten()
            if self._closed:
                return None
            request = self._turns.find_next(self._waiting)
            if request is None:
                raise LookupError("nothing waits")
            self._waiting.remove(request)
            self._turns.begin(request)
            self._running = request
            self._loaded().set_abort(request.stop.is_set())
            return request

    def _has_work(self) -> bool:
        with self._wake:
            return self._closed or bool(self._waiting)

    def _delete_forgotten(self) -> None:
        """Delete the prefixes that `forget` named, except those of waiting requests. Needs the lock."""
        busy = {request.options.slot for request in self._waiting}
        if self._forgets_all:
            self._to_forget.update(self._caches[False].list_names())
            self._forgets_all = False
        for name in self._to_forget - busy:
            self._caches[False].forget(name)
        self._to_forget &= busy
        if self._keep is not None:
            background = self._caches[True]
            names = {slot.name for slot in background.table if slot.name is not None}
            for name in names - busy:
                background.forget(name, self._keep.get(name, ()))
            self._keep = self._keep if names & busy else None

    def _serve(self, request: EngineRequest) -> None:
        error: Exception | None = None
        done = True
        began = time.monotonic()
        try:
            if not request.has_begun:
                request.has_begun = True
                request.options.announce_begin()
            self._work(request)
        except Interrupted:
            done = request.stop.is_set() or self._closed
            request.finish = "cancelled"
        except ProviderError as problem:
            error = problem
        except Exception as problem:  # a bug must fail one request, not the engine's thread
            logger.exception("a request failed in the engine")
            error = ProviderError("engine-failed", what=type(problem).__name__)
        # Pre-empted work counts too.
        _record_work(request, time.monotonic() - began)
        with self._wake:
            self._running = None
            self.idle_since_monotonic = time.monotonic()
            if not done:
                self._waiting.append(request)
        if done:
            self._end(request, error)

    def _end(self, request: EngineRequest, error: Exception | None) -> None:
        if request.sampler:
            request.sampler.close()
        request.usage.seconds = time.monotonic() - request.submitted_monotonic
        request.pieces.put(error)

    def _must_yield(self, request: EngineRequest) -> bool:
        with self._wake:
            return (
                request.stop.is_set()
                or self._closed
                or any(r.options.lane < request.options.lane for r in self._waiting)
            )

    def _work(self, request: EngineRequest) -> None:
        cache = self._caches[request.background]
        native, options = cache.native, request.options
        request.finish = "stop"
        if len(request.tokens) + options.max_tokens > native.cells or not request.tokens:
            raise PromptTooLong("conversation-too-long")
        request.sampler = request.sampler or Sampler(native, options.temperature, options.grammar)
        if request.fixed:
            cache.add_public_prompt(request.tokens)
        slot = cache.acquire(options.slot, request.sequence(), options.owner)
        store = self._fixed_prompts if request.fixed else None
        restored = store is not None and cache.restore_fixed(slot, request.tokens, store)
        if request.usage.prompt_tokens == 0:
            request.usage.prompt_tokens = len(request.tokens)
            request.usage.cached_tokens = min(len(slot.tokens), len(request.tokens))
        self._evaluate(request, cache, slot)
        if store is not None and not restored:
            store.save(slot.tokens, native.save(slot.sequence))
        while len(request.generated) < options.max_tokens:
            token = request.sampler.sample()
            if native.is_end(token):
                return
            request.generated.append(token)
            request.usage.completion_tokens += 1
            if request.usage.first_token_seconds is None:
                request.usage.first_token_seconds = time.monotonic() - request.submitted_monotonic
            request.pieces.put(native.piece(token))
            self._evaluate(request, cache, slot)
        request.finish = "length"

    def _evaluate(self, request: EngineRequest, cache: PrefixCache, slot: Slot) -> None:
        """Evaluate the tokens that the slot lacks; raises Interrupted between batches and inside a batch."""
        wanted = request.sequence()
        while len(slot.tokens) < len(wanted):
            if self._must_yield(request):
                raise Interrupted
            cache.evaluate_batch(slot, wanted)
        if self._must_yield(request):
            raise Interrupted


def _record_work(request: EngineRequest, seconds: float) -> None:
    request.usage.worked_seconds += seconds
    if request.options.lane is Lane.BACKGROUND and not request.fixed:
        meter.background.add(seconds, request.owner)
