"""One call of the model in the engine's queue, and the sampler that chooses its tokens.

The next token is the likeliest, a random one, or the likeliest that a grammar allows.
"""

from __future__ import annotations

import ctypes
import itertools
import queue
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chat.errors import GrammarError

from .native import Native, lib
from .types import Finish, GenerationOptions, Lane, StopFlag, Usage

_TOKEN_DATA = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])

# The sampling parameters that Qwen2.5 ships with (generation_config.json).
_TOP_K, _TOP_P, _REPEAT_PENALTY = 20, 0.8, 1.05
_PENALISED_TOKENS = 256  # the repeat penalty looks at so many last tokens
_RANDOM_SEED = 0xFFFFFFFF  # LLAMA_DEFAULT_SEED: llama.cpp chooses a random seed


class Sampler:
    """Chooses the tokens of one request. Use and close it in the engine thread.

    Temperature 0 chooses the likeliest token; with a GBNF grammar the temperature is ignored. Raises
    GrammarError.
    """

    def __init__(self, native: Native, temperature: float, grammar: str | None) -> None:
        self._native = native
        self._chain = None
        self._grammar = None
        if grammar is not None:
            self._grammar = lib.llama_sampler_init_grammar(native.vocab, grammar.encode(), b"root")
            # llama.cpp accepts an empty grammar and then constrains nothing.
            if not self._grammar or not grammar.strip():
                raise GrammarError("engine-grammar-unreadable")
        if temperature > 0:
            self._chain = self._build_chain(temperature, native.n_vocab)

    @staticmethod
    def _build_chain(temperature: float, n_vocab: int) -> Any:
        chain = lib.llama_sampler_chain_init(lib.llama_sampler_chain_default_params())
        for part in (
            # top-k first: the penalties search the recent tokens for each remaining candidate.
            lib.llama_sampler_init_top_k(_TOP_K),
            lib.llama_sampler_init_penalties(n_vocab, _PENALISED_TOKENS, _REPEAT_PENALTY, 0.0, 0.0),
            lib.llama_sampler_init_top_p(_TOP_P, 1),
            lib.llama_sampler_init_temp(temperature),
            lib.llama_sampler_init_dist(_RANDOM_SEED),
        ):
            lib.llama_sampler_chain_add(chain, part)
        return chain

    def sample(self) -> int:
        """Return the next token, chosen from the logits of the last decode."""
        if self._grammar is None and self._chain is not None:
            return int(lib.llama_sampler_sample(self._chain, self._native.context, -1))
        logits = self._native.last_logits()
        token = int(logits.argmax())
        if self._grammar is not None:
            # The likeliest token is usually allowed, and checking one is 1,000 times cheaper than all.
            if not self._is_allowed(token):
                token = self._likeliest_allowed(logits)
            lib.llama_sampler_accept(self._grammar, token)
        return token

    def _is_allowed(self, token: int) -> bool:
        data = np.array([(token, 1.0, 0.0)], dtype=_TOKEN_DATA)
        self._apply(data)
        return bool(np.isfinite(data["logit"][0]))

    def _likeliest_allowed(self, logits: np.ndarray) -> int:
        data = np.empty(len(logits), dtype=_TOKEN_DATA)
        data["id"] = np.arange(len(logits), dtype=np.int32)
        data["logit"] = logits
        data["p"] = 0.0
        self._apply(data)
        return int(data["id"][int(data["logit"].argmax())])

    def _apply(self, data: np.ndarray) -> None:
        array = lib.llama_token_data_array(
            data=data.ctypes.data_as(lib.llama_token_data_p), size=len(data), selected=-1, sorted=False
        )
        lib.llama_sampler_apply(self._grammar, ctypes.byref(array))

    def close(self) -> None:
        """Free the C objects; safe to call twice."""
        for sampler in (self._chain, self._grammar):
            if sampler:
                lib.llama_sampler_free(sampler)
        self._chain = self._grammar = None


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
    # Its turn has begun, though a request of a higher lane may have interrupted it since.
    has_begun: bool = False
    submitted_monotonic: float = field(default_factory=time.monotonic)
    sampler: Sampler | None = None

    def __post_init__(self) -> None:
        self.stop = self.options.stop or StopFlag()

    @property
    def lane(self) -> Lane:
        """Return the priority of the call."""
        return self.options.lane

    @property
    def owner(self) -> str:
        """Return whose call it is."""
        return self.options.owner

    def sequence(self) -> list[int]:
        """Return all tokens that must be evaluated before the next one can be sampled."""
        return self.tokens + self.generated

    def __iter__(self) -> Iterator[bytes]:
        """Yield the bytes of each token as it comes; raises ProviderError."""
        while (item := self.pieces.get()) is not None:
            if isinstance(item, Exception):
                raise item
            yield item
