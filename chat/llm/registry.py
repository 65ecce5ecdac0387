"""The process's one language model and one embedder: loaded on request and replaceable at run time."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from chat.errors import ModelNotReady, ProviderError, Reason, ServerAway, reason_of

from . import weights
from .model_status import ModelState, ModelStatus, shorten_model_name, shorten_title
from .refcount import Closable, ProviderRefcounts
from .types import Provider

if TYPE_CHECKING:
    from chat.llm.remote.health import HealthMonitor
    from memoryapp.base.encryption import TemporaryCipher

    from .embedder import Embedder
    from .llama import LlamaProvider
    from .remote.provider import RemoteProvider
    from .remote.server import ModelServer

logger = logging.getLogger(__name__)
_MIB = 1024**2
_RETRYING = Reason("server-retrying")


class Registry:
    """Holds the model, its status and the embedder. Callable from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._provider: Provider | None = None
        self._loading: LlamaProvider | None = None
        self._monitor: HealthMonitor | None = None
        self._refcounts = ProviderRefcounts()
        self._embedder: Embedder | None = None
        self._status = ModelStatus(ModelState.MISSING, reason=Reason("no-model"))
        # When the first model on servers was chosen in this process.
        self._first_connect_monotonic: float | None = None
        self._listeners: list[Callable[[ModelStatus], None]] = []

    def status(self) -> ModelStatus:
        """Return the status of the model."""
        return self._status

    def add_listener(self, listener: Callable[[ModelStatus], None]) -> None:
        """Call the listener with each new status, in the thread that caused it."""
        self._listeners.append(listener)

    def remove_listener(self, listener: Callable[[ModelStatus], None]) -> None:
        """Stop calling the listener."""
        self._listeners.remove(listener)

    def provider(self) -> Provider:
        """Return the loaded model; raises ModelNotReady with the reason."""
        with self._lock:
            return self._require_ready()

    @contextmanager
    def hold_provider(self) -> Iterator[Provider]:
        """Yield the loaded model, which stays open until the block ends even if another model is chosen.

        Used for replies. Background work calls `provider` instead: a new choice ends it with Unfinished, and
        the job runs again. Raises ModelNotReady.
        """
        with self._lock:
            provider = self._require_ready()
            self._refcounts.acquire(provider)
        try:
            yield provider
        finally:
            self._refcounts.release(provider)

    def retry_connection(self) -> None:
        """Attempt to connect to an unreachable model server now instead of at the next scheduled attempt."""
        if (monitor := self._monitor) is not None and self._status.state is ModelState.AWAY:
            monitor.retry_now()

    def is_first_connecting(self, seconds: float) -> bool:
        """Return whether the first model on servers is still being connected, for at most `seconds`."""
        began = self._first_connect_monotonic
        is_loading = self._status.remote and self._status.state is ModelState.LOADING
        return is_loading and began is not None and time.monotonic() - began < seconds

    def list_servers(self) -> Sequence[ModelServer]:
        """Return the servers of the model, none for a model in this process."""
        provider = self._provider
        return getattr(provider, "servers", ()) if self._status.remote else ()

    def wait_ready(self, timeout: float) -> bool:
        """Wait up to `timeout` seconds while the model loads; return whether it is ready."""
        with self._changed:
            self._changed.wait_for(lambda: self._status.state is not ModelState.LOADING, timeout)
            return self._status.state is ModelState.READY

    def embedder(self) -> Embedder | None:
        """Return the embedder, None where its weights are not installed."""
        return self._embedder

    def connect(self, provider: RemoteProvider, *, label: str = "") -> None:
        """Use a model on servers from now on, monitor the servers, and return at once.

        The previous model is closed when its current replies have ended.
        """
        from chat.llm.remote.health import HealthMonitor

        self._retire()
        if self._first_connect_monotonic is None:
            self._first_connect_monotonic = time.monotonic()
        self._load_embedder()

        def set_state(state: ModelState, reason: Reason | None = None) -> None:
            # Without a configured model, its name is known after the first probe only.
            shown = label or shorten_model_name(provider.name) or "Model"
            status = ModelStatus(state, provider.name, shown, reason, remote=True, host=provider.host)
            self.set_status(status, monitor)

        def handle_ready() -> None:
            set_state(ModelState.READY)

        def handle_away(problem: ProviderError) -> None:
            is_retried = isinstance(problem, ServerAway)
            set_state(ModelState.AWAY, _RETRYING if is_retried else problem.reason)

        monitor = HealthMonitor(provider, handle_ready, handle_away)
        with self._lock:
            self._monitor, self._provider = monitor, provider
        set_state(ModelState.LOADING, Reason("server-connecting"))
        monitor.start()

    def use(self, provider: Provider, *, label: str = "", embedder: Embedder | None = None) -> None:
        """Use a provider that is ready; for tests and programs that bring their own."""
        with self._lock:
            self._provider, self._embedder = provider, embedder
        self.set_status(
            ModelStatus(ModelState.READY, provider.name, label or provider.name, remote=provider.remote)
        )

    def load(
        self,
        *,
        window: int = 0,
        state_memory_mib: int = 0,
        state_folder: Path | None = None,
        state_disk_mib: int = 0,
        state_cipher: TemporaryCipher | None = None,
        fixed_prompts_folder: Path | None = None,
        run_selftest: Callable[[Path], None] | None = None,
    ) -> None:
        """Start to load the model that the environment chooses, and the embedder; return at once.

        Saved prompt states take up to `state_memory_mib` of memory, and `state_disk_mib` of disk in
        `state_folder`, encrypted with `state_cipher`. States of fixed prompts stay in `fixed_prompts_folder`
        between starts. `run_selftest` is called with the model's file in the engine's thread before the file
        is loaded, and raises
        ProviderError where it must not be. If the same model still finishes a reply, it is reused: loading it
        again would need the memory twice.
        """
        from .machine_defaults import default_threads, default_window
        from .state_cache import DiskCache, StateCache

        self._retire()
        self._load_embedder()
        try:
            from .llama import LlamaProvider
        except ModuleNotFoundError:
            # A server whose model is elsewhere needs no engine.
            self.set_status(ModelStatus(ModelState.MISSING, reason=Reason("no-engine")))
            return
        try:
            entry = weights.choose_model(os.environ)
            name, label = entry.name, shorten_title(entry.title)
            path = weights.require(entry)
        except weights.WeightsError as error:
            self.set_status(ModelStatus(ModelState.MISSING, reason=error.reason, command=error.command))
            return
        window = window or default_window()
        if self._reuse_retired(path, window, label):
            return
        self.set_status(ModelStatus(ModelState.LOADING, name, label, Reason("model-loading")))
        disk = DiskCache(state_folder, state_disk_mib * _MIB, state_cipher)
        self._loading = provider = LlamaProvider(
            name,
            path,
            window=window,
            threads=default_threads(),
            before_load=partial(self._before_load, run_selftest),
            on_error=lambda error: self._handle_load_error(provider, error),
            state_cache=StateCache(state_memory_mib * _MIB, disk),
            fixed_prompts_folder=fixed_prompts_folder,
        )
        provider.engine.start()
        threading.Thread(
            target=self._await_engine, args=(provider, label), name="model-loading", daemon=True
        ).start()

    def set_failed(self, reason: Reason) -> None:
        """Set the reason why no model can be used, until another one is chosen."""
        self._retire()
        self._load_embedder()
        self.set_status(ModelStatus(ModelState.FAILED, reason=reason))

    def close(self) -> None:
        """Close the model, also one that is still loading, and all retired models; waits for them."""
        if (monitor := self._monitor) is not None:
            monitor.stop()
        current: object = self._provider or self._loading
        if isinstance(current, Closable):
            current.close()
        self._refcounts.close()

    def _require_ready(self) -> Provider:
        if self._provider is None or self._status.state is not ModelState.READY:
            reason = self._status.reason or Reason("no-model")
            raise ModelNotReady("server-unreachable" if reason == _RETRYING else reason)
        return self._provider

    def _retire(self) -> None:
        """Stop using the current model; it is closed when its current replies have ended."""
        with self._lock:
            old = self._provider or self._loading
            monitor, self._monitor = self._monitor, None
            self._provider = self._loading = None
        if monitor is not None:
            monitor.stop()
        if old is not None:
            self._refcounts.retire(old)

    def _before_load(self, run_selftest: Callable[[Path], None] | None, path: Path) -> None:
        # A model that is being closed still uses memory and the processor.
        self._refcounts.wait()
        if run_selftest is not None:
            run_selftest(path)

    def _reuse_retired(self, path: Path, window: int, label: str) -> bool:
        from .llama import LlamaProvider

        def is_same(one: object) -> bool:
            return isinstance(one, LlamaProvider) and one.source == (path, window)

        provider = self._refcounts.reclaim(is_same)
        if not isinstance(provider, LlamaProvider):
            return False
        with self._lock:
            self._provider = provider
        self.set_status(ModelStatus(ModelState.READY, provider.name, label))
        return True

    def _await_engine(self, provider: LlamaProvider, label: str) -> None:
        while not provider.engine.ready.wait(0.5):
            if self._loading is not provider or self._status.state is ModelState.FAILED:
                return
        with self._lock:
            if self._loading is not provider:
                return
            self._provider = provider
        self.set_status(ModelStatus(ModelState.READY, provider.name, label))

    def _handle_load_error(self, provider: LlamaProvider, error: Exception) -> None:
        if self._loading is not provider:
            return
        status = self._status
        reason = Reason("model-not-loaded", {"why": reason_of(error)})
        self.set_status(
            ModelStatus(ModelState.FAILED, status.name, status.label, reason, "python3 manage.py doctor")
        )

    def _load_embedder(self) -> None:
        from .embedder import load_embedder

        try:
            self._embedder = load_embedder(weights.embedder()) or self._embedder
        except weights.UnknownModel as error:
            logger.warning("memory compares words only: %s", error)

    def set_status(self, status: ModelStatus, monitor: HealthMonitor | None = None) -> None:
        """Set the status of the model and call the listeners in this thread.

        A status that a monitor found is ignored when another model has been chosen since.
        """
        with self._changed:
            if monitor is not None and monitor is not self._monitor:
                return
            self._status = status
            self._changed.notify_all()
        for listener in tuple(self._listeners):
            try:
                listener(status)
            except Exception:  # a bug in a listener must not end the thread that monitors the server
                logger.exception("a listener failed on a new status of the model")


registry = Registry()
