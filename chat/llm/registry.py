"""The process's one model and one embedder: loaded on request, shown with a state, swapped at run time."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from . import weights
from .types import ModelNotReady, Provider

if TYPE_CHECKING:
    from .embedder import Embedder
    from .llama import LlamaProvider

logger = logging.getLogger(__name__)
_MIB = 1024**2


class ModelState(StrEnum):
    """What the page says about the model."""

    MISSING = "missing"
    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Status:
    """The model's state in plain words, with the command that mends it where there is one."""

    state: ModelState
    name: str = ""
    label: str = ""
    sentence: str = ""
    command: str = ""
    remote: bool = False


class Registry:
    """Holds what is loaded; every method may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._provider: Provider | None = None
        self._loading: LlamaProvider | None = None
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
            if self._provider is None or self._status.state is not ModelState.READY:
                raise ModelNotReady(self._status.sentence)
            return self._provider

    def wait_ready(self, timeout: float) -> bool:
        """Wait while the model loads; False when the time is over or it will not come."""
        with self._changed:
            self._changed.wait_for(lambda: self._status.state is not ModelState.LOADING, timeout)
            return self._status.state is ModelState.READY

    def embedder(self) -> Embedder | None:
        """Return the embedder, None where it is not installed: memory works without one."""
        return self._embedder

    def use(self, provider: Provider, *, label: str = "", embedder: Embedder | None = None) -> None:
        """Make this the process's model at once."""
        with self._lock:
            self._provider, self._embedder = provider, embedder
        self._set(Status(ModelState.READY, provider.name, label or provider.name, remote=provider.remote))

    def load(
        self, *, window: int = 0, parking_mib: int = 0, folder: Path | None = None, folder_mib: int = 0
    ) -> None:
        """Begin to load the chosen model and the embedder, and return at once.

        Prompt caches that wait their turn take up to `parking_mib` of memory and `folder_mib` in `folder`.
        """
        from .garage import Garage
        from .llama import LlamaProvider, default_threads, default_window
        from .parking import ParkingLot

        self._load_embedder()
        try:
            entry = weights.choose_model(os.environ)
            name, label = entry.name, short_title(entry.title)
            path = weights.require(entry)
        except weights.WeightsError as error:
            self._set(Status(ModelState.MISSING, sentence=error.sentence, command=error.command))
            return
        self._set(Status(ModelState.LOADING, name, label, "The model is loading. You can write already."))
        self._loading = provider = LlamaProvider(
            name,
            path,
            window=window or default_window(),
            threads=default_threads(),
            on_error=self._failed,
            lot=ParkingLot(parking_mib * _MIB, Garage(folder, folder_mib * _MIB)),
        )
        provider.engine.start()
        threading.Thread(
            target=self._when_ready, args=(provider, label), name="model-loading", daemon=True
        ).start()

    def close(self) -> None:
        """Stop the engine, where there is one, also one that is still loading."""
        if (close := getattr(self._provider or self._loading, "close", None)) is not None:
            close()

    def _when_ready(self, provider: LlamaProvider, label: str) -> None:
        while not provider.engine.ready.wait(0.5):
            if self._status.state is ModelState.FAILED:
                return
        with self._lock:
            self._provider = provider
        self._set(Status(ModelState.READY, provider.name, label))

    def _failed(self, error: Exception) -> None:
        status = self._status
        sentence = f"The model could not be loaded. {error}"
        self._set(Status(ModelState.FAILED, status.name, status.label, sentence, "python3 manage.py doctor"))

    def _load_embedder(self) -> None:
        from .embedder import Embedder

        entry = weights.embedder()
        if weights.is_present(entry):
            paths = {path.suffix: path for path in (weights.path_of(entry, file) for file in entry.files)}
            self._embedder = Embedder(paths[".onnx"], paths[".json"])

    def _set(self, status: Status) -> None:
        with self._changed:
            self._status = status
            self._changed.notify_all()
        for listener in tuple(self._listeners):
            listener(status)


def short_title(title: str) -> str:
    """Return a model's title as a header has room for it: without its tuning and quantisation."""
    return title.partition(",")[0].removesuffix(" Instruct")


registry = Registry()
