"""Bare llama.cpp for comparison: the same build and weights without queue, database and page."""

from __future__ import annotations

import time
from pathlib import Path

from chat.llm.engine_request import Sampler
from chat.llm.machine_defaults import default_threads
from chat.llm.native import BATCH, Native
from chat.llm.template import ChatTemplate


class BareLlama:
    """A minimal decode loop over one sequence; `cells` is the size of the context in tokens."""

    def __init__(self, path: Path, cells: int = 8192) -> None:
        self.native = Native(path, cells=cells, sequences=1, threads=default_threads())
        self.template = ChatTemplate(self.native)
        self.have: list[int] = []

    def read(self, tokens: list[int]) -> float:
        """Decode the tokens after the cached prefix; return seconds until the first token is sampled."""
        shared = 0
        while shared < min(len(self.have), len(tokens) - 1) and self.have[shared] == tokens[shared]:
            shared += 1
        self.native.truncate(0, shared)
        began = time.perf_counter()
        for start in range(shared, len(tokens), BATCH):
            self.native.decode(tokens[start : start + BATCH], 0, start)
        sampler = Sampler(self.native, 0.7, None)
        sampler.sample()
        seconds = time.perf_counter() - began
        sampler.close()
        self.have = list(tokens)
        return seconds

    def write(self, tokens: list[int], count: int) -> float:
        """Generate `count` tokens after a prompt; return tokens per second from the first to the last."""
        self.read(tokens)
        sampler = Sampler(self.native, 0.7, None)
        token = sampler.sample()
        began = time.perf_counter()
        for position in range(len(tokens), len(tokens) + count - 1):
            self.native.decode([token], 0, position)
            token = sampler.sample()
            self.native.piece(token)
            self.have.append(token)
        seconds = time.perf_counter() - began
        sampler.close()
        self.have = list(tokens)
        return (count - 1) / seconds
