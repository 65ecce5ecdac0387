"""How the next token is drawn: greedily, by chance, or as a grammar allows. Engine thread only."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from .native import Native, lib
from .types import ProviderError

_TOKEN_DATA = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is drawn; the default is greedy. Values of Qwen2.5's own generation settings."""

    temperature: float = 0.0
    top_k: int = 20
    top_p: float = 0.8
    repeat_penalty: float = 1.05
    seed: int = 0xFFFFFFFF


class GrammarError(ProviderError):
    """A grammar that llama.cpp cannot read; it says so only by a NULL (design §4)."""


class Sampler:
    """Draws tokens for one request; lives in the engine thread and must be closed there."""

    def __init__(self, native: Native, sampling: Sampling, grammar: str | None) -> None:
        self._native = native
        self._chain = None
        self._grammar = None
        if grammar is not None:
            self._grammar = lib.llama_sampler_init_grammar(native.vocab, grammar.encode(), b"root")
            # An empty grammar gives a sampler that constrains nothing.
            if not self._grammar or not grammar.strip():
                raise GrammarError("The answer format could not be read by the model's engine.")
        if sampling.temperature > 0:
            self._chain = self._build_chain(sampling, native.n_vocab)

    @staticmethod
    def _build_chain(sampling: Sampling, n_vocab: int) -> Any:
        chain = lib.llama_sampler_chain_init(lib.llama_sampler_chain_default_params())
        for part in (
            # top-k first: penalties search the recent tokens for every candidate that is left.
            lib.llama_sampler_init_top_k(sampling.top_k),
            lib.llama_sampler_init_penalties(n_vocab, 256, sampling.repeat_penalty, 0.0, 0.0),
            lib.llama_sampler_init_top_p(sampling.top_p, 1),
            lib.llama_sampler_init_temp(sampling.temperature),
            lib.llama_sampler_init_dist(sampling.seed),
        ):
            lib.llama_sampler_chain_add(chain, part)
        return chain

    def sample(self) -> int:
        """Return the next token from the logits of the last decode."""
        if self._grammar is None and self._chain is not None:
            return int(lib.llama_sampler_sample(self._chain, self._native.context, -1))
        logits = self._native.last_logits()
        token = int(logits.argmax())
        if self._grammar is not None:
            # Most tokens pass: asking about one is a thousand times cheaper than masking the vocabulary.
            if not self._allowed(token):
                token = self._best_allowed(logits)
            lib.llama_sampler_accept(self._grammar, token)
        return token

    def _allowed(self, token: int) -> bool:
        data = np.array([(token, 1.0, 0.0)], dtype=_TOKEN_DATA)
        self._apply(data)
        return bool(np.isfinite(data["logit"][0]))

    def _best_allowed(self, logits: np.ndarray) -> int:
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
        """Free the C objects."""
        for sampler in (self._chain, self._grammar):
            if sampler:
                lib.llama_sampler_free(sampler)
        self._chain = self._grammar = None
