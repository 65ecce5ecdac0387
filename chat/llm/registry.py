"""The process's one model and one embedder: loaded on request, shown with a state, swapped at run time."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from . import weights
from .lending import Closable, Lending
from .state import ModelState, Status, short_name, short_title
from .types import ModelNotReady, Provider, ProviderError

if TYPE_CHECKING:
    from .embedder import Embedder
    from .llama import LlamaProvider
    from .remote.provider import RemoteProvider
    from .remote.watch import Watch

logger = logging.getLogger(__name__)
_MIB = 1024**2
_UNREACHED = "The model's server cannot be reached. You can write already; it is tried again and again."
_AWAY = "Couldn't reach the model. Your message is saved."


class Registry:
    """Holds what is loaded; every method may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._provider: Provider | None = None
        self._loading: LlamaProvider | None = None
        self._watch: Watch | None = None
        self._lending = Lending()
        self._embedder: Embedder | None = None
        self._status = Status(ModelState.MISSING, sentence="No model is loaded in this process.")
        self._listeners: list[Callable[[Status], None]] = []

    def status(self) -> Status:
        """Return the model's state."""
        return self._status

    def on_change(self, listener: Callable[[Status], None]) -> None:
        """Call the listener with each new state, from the thread that caused it."""
        self._listeners.append(listener)

    def off_change(self, listener: Callable[[Status], None]) -> None:
        """Call the listener no more."""
        self._listeners.remove(listener)

    def provider(self) -> Provider:
        """Return the loaded model; raises ModelNotReady with the reason in words."""
        with self._lock:
            return self._ready()

    @contextmanager
    def lend(self) -> Iterator[Provider]:
        """Give the loaded model until the block ends, also where another is chosen meanwhile.

        For what somebody reads while it is written. Work in the background takes `provider`: it gives way to
        the new choice, as Unfinished, and is done again. Raises ModelNotReady as `provider` does.
        """
        with self._lock:
            provider = self._ready()
            self._lending.take(provider)
        try:
            yield provider
        finally:
            self._lending.give_back(provider)

    def nudge(self) -> None:
        """Try to reach the model's server now, where it is away: somebody waits for it."""
        if (watch := self._watch) is not None and self._status.state is ModelState.AWAY:
            watch.nudge()

    def wait_ready(self, timeout: float) -> bool:
        """Wait while the model loads; False when the time is over or it will not come."""
        with self._changed:
            self._changed.wait_for(lambda: self._status.state is not ModelState.LOADING, timeout)
            return self._status.state is ModelState.READY

    def embedder(self) -> Embedder | None:
        """Return the embedder, None where it is not installed: memory works without one."""
        return self._embedder

    def connect(self, provider: RemoteProvider, *, label: str = "") -> None:
        """Use a model on a server from now on, keep in touch with it, and return at once.

        What was used before ends what it has begun, and is closed then.
        """
        from .remote import troubles
        from .remote.watch import Watch

        self._retire()
        self._load_embedder()
        host = provider.address.host

        def say(state: ModelState, sentence: str = "") -> None:
            # Which of its models it is may have to be asked first.
            named = label or short_name(provider.name) or "Model"
            # Another one may have been chosen while this one was asked.
            self._set(Status(state, provider.name, named, sentence, remote=True, host=host), watch)

        def ready() -> None:
            say(ModelState.READY)

        def away(problem: ProviderError) -> None:
            lost = isinstance(problem, troubles.ServerAway)
            say(ModelState.AWAY, _UNREACHED if lost else str(problem))

        watch = Watch(provider, ready, away)
        with self._lock:
            self._watch, self._provider = watch, provider
        say(ModelState.LOADING, "Connecting to the model's server. You can write already.")
        watch.start()

    def use(self, provider: Provider, *, label: str = "", embedder: Embedder | None = None) -> None:
        """Make this the process's model at once."""
        with self._lock:
            self._provider, self._embedder = provider, embedder
        self._set(Status(ModelState.READY, provider.name, label or provider.name, remote=provider.remote))

    def load(
        self,
        *,
        window: int = 0,
        parking_mib: int = 0,
        folder: Path | None = None,
        folder_mib: int = 0,
        prove: Callable[[Path], None] | None = None,
    ) -> None:
        """Begin to load the chosen model and the embedder, and return at once.

        Prompt caches that wait their turn take up to `parking_mib` of memory and `folder_mib` in `folder`.
        `prove` is called with the model's file before this process loads it, in the engine's thread, and
        raises ProviderError where it must not. The same model that still ends a reply is taken back as it is:
        two of them at once would need the memory twice.
        """
        from .garage import Garage
        from .llama import LlamaProvider, default_threads, default_window
        from .parking import ParkingLot

        self._retire()
        self._load_embedder()
        try:
            entry = weights.choose_model(os.environ)
            name, label = entry.name, short_title(entry.title)
            path = weights.require(entry)
        except weights.WeightsError as error:
            self._set(Status(ModelState.MISSING, sentence=error.sentence, command=error.command))
            return
        window = window or default_window()
        if self._take_back(path, window, label):
            return
        self._set(Status(ModelState.LOADING, name, label, "The model is loading. You can write already."))
        self._loading = provider = LlamaProvider(
            name,
            path,
            window=window,
            threads=default_threads(),
            first=partial(self._before_loading, prove),
            on_error=lambda error: self._failed(provider, error),
            lot=ParkingLot(parking_mib * _MIB, Garage(folder, folder_mib * _MIB)),
        )
        provider.engine.start()
        threading.Thread(
            target=self._when_ready, args=(provider, label), name="model-loading", daemon=True
        ).start()

    def fail(self, sentence: str) -> None:
        """Say why no model can be used, until another choice is made."""
        self._retire()
        self._load_embedder()
        self._set(Status(ModelState.FAILED, sentence=sentence))

    def close(self) -> None:
        """Stop the engine, where there is one, also one that is still loading, and what was used before."""
        if (watch := self._watch) is not None:
            watch.stop()
        current: object = self._provider or self._loading
        if isinstance(current, Closable):
            current.close()
        self._lending.close()

    def _ready(self) -> Provider:
        if self._provider is None or self._status.state is not ModelState.READY:
            away = self._status.sentence == _UNREACHED
            raise ModelNotReady(_AWAY if away else self._status.sentence)
        return self._provider

    def _retire(self) -> None:
        """Take the model that was used so far out of use; replies begun with it come to their end."""
        with self._lock:
            old = self._provider or self._loading
            watch, self._watch = self._watch, None
            self._provider = self._loading = None
        if watch is not None:
            watch.stop()
        if old is not None:
            self._lending.retire(old)

    def _before_loading(self, prove: Callable[[Path], None] | None, path: Path) -> None:
        # What is about to go needs its memory, and the processor, until it has gone.
        self._lending.wait()
        if prove is not None:
            prove(path)

    def _take_back(self, path: Path, window: int, label: str) -> bool:
        from .llama import LlamaProvider

        def is_same(one: object) -> bool:
            return isinstance(one, LlamaProvider) and one.source == (path, window)

        provider = self._lending.reclaim(is_same)
        if not isinstance(provider, LlamaProvider):
            return False
        with self._lock:
            self._provider = provider
        self._set(Status(ModelState.READY, provider.name, label))
        return True

    def _when_ready(self, provider: LlamaProvider, label: str) -> None:
        while not provider.engine.ready.wait(0.5):
            if self._loading is not provider or self._status.state is ModelState.FAILED:
                return
        with self._lock:
            if self._loading is not provider:
                return
            self._provider = provider
        self._set(Status(ModelState.READY, provider.name, label))

    def _failed(self, provider: LlamaProvider, error: Exception) -> None:
        if self._loading is not provider:
            return
        status = self._status
        sentence = f"The model could not be loaded. {error}"
        self._set(Status(ModelState.FAILED, status.name, status.label, sentence, "python3 manage.py doctor"))

    def _load_embedder(self) -> None:
        from .embedder import Embedder

        entry = weights.embedder()
        if weights.is_present(entry):
            paths = {path.suffix: path for path in (weights.path_of(entry, file) for file in entry.files)}
            self._embedder = Embedder(paths[".onnx"], paths[".json"])

    def _set(self, status: Status, watch: Watch | None = None) -> None:
        """Tell a state, one that a watch found only while it is the chosen one's."""
        with self._changed:
            if watch is not None and watch is not self._watch:
                return
            self._status = status
            self._changed.notify_all()
        for listener in tuple(self._listeners):
            try:
                listener(status)
            except Exception:  # whoever tells it must go on: a watch that ended would never connect again
                logger.exception("a new state of the model was not passed on")


registry = Registry()
