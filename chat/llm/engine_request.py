"""One call of the model in the engine's queue."""

from __future__ import annotations

import itertools
import queue
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from .sampler import Sampler
from .types import Finish, GenerationOptions, StopFlag, Usage

_ticket = itertools.count()


@dataclass(eq=False)
class EngineRequest:
    """One call in the engine. Iterate over it for the bytes of each token; ends with the finish set.

    `background` selects the context of background prompts. A `fixed` request evaluates the beginning of all
    prompts of one kind: its state is read from the store where that has it and written there otherwise, and
    its work does not count against the background budget. `submitted_monotonic` is in seconds of the
    monotonic clock.
    """

    tokens: list[int]
    options: GenerationOptions
    background: bool = False
    fixed: bool = False
    stop: StopFlag = field(init=False)
    pieces: queue.SimpleQueue[bytes | Exception | None] = field(default_factory=queue.SimpleQueue)
    generated: list[int] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    finish: Finish = "stop"
    ticket: int = field(default_factory=lambda: next(_ticket))
    submitted_monotonic: float = field(default_factory=time.monotonic)
    sampler: Sampler | None = None

    def __post_init__(self) -> None:
        self.stop = self.options.stop or StopFlag()

    def sequence(self) -> list[int]:
        """Return all tokens that must be evaluated before the next one can be sampled."""
        return self.tokens + self.generated

    def __iter__(self) -> Iterator[bytes]:
        """Yield the bytes of each token as it comes; raises ProviderError."""
        while (item := self.pieces.get()) is not None:
            if isinstance(item, Exception):
                raise item
            yield item
