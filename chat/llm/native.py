"""A loaded model and a context with several sequences. Only this module and `engine_request` call llama.cpp.

Methods that use the context belong to the engine thread; those that read the vocabulary, such as `tokenize`
and `piece`, are callable from any thread.
"""

from __future__ import annotations

import copy
import ctypes
import logging
import os
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

# With OpenMP's default, threads spin for milliseconds at each of about 800 barriers a token, so that another
# busy program, such as a browser, slows generation down up to twentyfold (measured on two cores). With this
# short spin half the speed remains, at no cost on an idle machine. libgomp reads the variable once, when it
# is loaded.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

import llama_cpp as lib

from chat.errors import ProviderError

from .reasoning import TAGS

# Import `lib` from here only: llama_cpp must be loaded after the variable is set.
__all__ = ["ABORTED", "BATCH", "LIBRARY_VERSION", "NO_CELLS", "Native", "lib"]

# Saved states are valid for the llama.cpp of this version only.
LIBRARY_VERSION: str = lib.__version__

logger = logging.getLogger(__name__)

ABORTED = 2
NO_CELLS = 1
# Tokens evaluated at once. A pre-empted request loses the work on at most this many.
BATCH = 128
_LOG_ERROR = 4


@lib.llama_log_callback  # type: ignore[untyped-decorator]
def _log(level: int, text: bytes, _: Any) -> None:
    if level == _LOG_ERROR and b"ret = 2" not in text and b"status: 1" not in text and b"error 1" not in text:
        # The engine's own aborts are reported as three errors, which are not logged.
        logger.warning("llama.cpp: %s", text.decode(errors="replace").strip())


def _bytes_of(array: np.ndarray) -> Any:
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))


class Native:
    """A loaded model and one context with `cells` cells (one a token), shared by `sequences` sequences.

    Raises ProviderError when the file cannot be loaded or memory is short. `vocab_only` loads no weights.
    """

    def __init__(
        self, path: Path, *, cells: int, sequences: int, threads: int, vocab_only: bool = False
    ) -> None:
        lib.llama_log_set(_log, ctypes.c_void_p(0))
        lib.llama_backend_init()
        params = lib.llama_model_default_params()
        params.vocab_only = vocab_only
        self.model = lib.llama_model_load_from_file(str(path).encode(), params)
        if not self.model:
            raise ProviderError("model-file-broken")
        self.vocab = lib.llama_model_get_vocab(self.model)
        self.trained_context = int(lib.llama_model_n_ctx_train(self.model))
        self.context: Any = None
        self._owns_model = True
        self._abort_flag = ctypes.create_string_buffer(2)
        if not vocab_only:
            self._open_context(cells, sequences, threads)

    def sibling(self, cells: int, *, sequences: int) -> Native:
        """Return a second context over the same weights, with the same abort flag.

        Close it before this one.
        """
        other = copy.copy(self)
        other._owns_model = False
        other._open_context(cells, sequences, self.threads)
        return other

    def _open_context(self, cells: int, sequences: int, threads: int) -> None:
        self.cells, self.sequences, self.threads = cells, sequences, threads
        # llama.cpp calls this function at every node of the graph to ask whether to stop. strlen of the flag
        # is C; a Python callback would wait for the GIL hundreds of times a token.
        strlen = ctypes.cast(ctypes.CDLL(None).strlen, lib.ggml_abort_callback)
        self._abort_callback = strlen
        params = lib.llama_context_default_params()
        params.n_ctx = cells
        params.n_batch = params.n_ubatch = BATCH
        params.n_seq_max = sequences
        params.n_threads = params.n_threads_batch = threads
        params.flash_attn_type = lib.LLAMA_FLASH_ATTN_TYPE_ENABLED
        params.kv_unified = True
        params.no_perf = True
        params.abort_callback = strlen
        params.abort_callback_data = ctypes.addressof(self._abort_flag)
        self.context = lib.llama_init_from_model(self.model, params)
        if not self.context:
            raise ProviderError("window-needs-memory")
        self.memory = lib.llama_get_memory(self.context)
        self._batch = lib.llama_batch_init(BATCH, 0, 1)
        self.n_vocab = int(lib.llama_vocab_n_tokens(self.vocab))

    # -- vocabulary: any thread ---------------------------------------------------------------------------

    def metadata(self, key: str) -> str:
        """Return a metadata value of the GGUF file, or an empty string."""
        buffer = ctypes.create_string_buffer(64 * 1024)
        size = lib.llama_model_meta_val_str(self.model, key.encode(), buffer, len(buffer))
        return buffer.value.decode(errors="replace") if size >= 0 else ""

    def chat_template(self) -> str | None:
        """Return the template in the GGUF file, None where it has none."""
        raw = lib.llama_model_chat_template(self.model, None)
        return raw.decode() if raw else None

    def tokenize(self, text: str, *, special: bool = True) -> list[int]:
        """Return token ids; with `special`, texts such as "<|im_end|>" become control tokens."""
        raw = text.encode()
        size = len(raw) + 8
        buffer = (lib.llama_token * size)()
        count = lib.llama_tokenize(self.vocab, raw, len(raw), buffer, size, False, special)
        if count < 0:
            raise ProviderError("text-not-tokenised")
        return list(buffer[:count])

    def count(self, text: str) -> int:
        """Return the number of tokens of a text; control tokens in it count as plain text."""
        raw = text.encode()
        # Without a buffer llama.cpp returns the needed size, negated.
        return -int(lib.llama_tokenize(self.vocab, raw, len(raw), None, 0, False, False))

    def piece(self, token: int) -> bytes:
        """Return the UTF-8 bytes of one token, which may be a part of a character."""
        size = 64
        while True:
            buffer = ctypes.create_string_buffer(size)
            count = lib.llama_token_to_piece(self.vocab, token, buffer, size, 0, False)
            if count >= 0:
                return bytes(buffer.raw[:count]) or self._reasoning_tags.get(token, b"")
            size = -count

    def is_end(self, token: int) -> bool:
        """Return whether the token ends a turn."""
        return bool(lib.llama_vocab_is_eog(self.vocab, token))

    def special_tokens(self) -> tuple[str, str]:
        """Return the texts of the tokens that begin and end a text (BOS and EOS), for chat templates."""
        return self.token_text(lib.llama_vocab_bos(self.vocab)), self.token_text(
            lib.llama_vocab_eos(self.vocab)
        )

    def token_text(self, token: int) -> str:
        """Return the text that stands for a token in the vocabulary."""
        raw = lib.llama_vocab_get_text(self.vocab, token) if token >= 0 else b""
        return (raw or b"").decode(errors="replace")

    @cached_property
    def _reasoning_tags(self) -> dict[int, bytes]:
        """Return the tags around reasoning by token; llama.cpp prints nothing for those that are control
        tokens.
        """
        tags = {tag: self.tokenize(tag) for pair in TAGS.items() for tag in pair}
        return {tokens[0]: tag.encode() for tag, tokens in tags.items() if len(tokens) == 1}

    @cached_property
    def control_tokens(self) -> tuple[str, ...]:
        """Return the texts of all control tokens, the longest first; they must be broken in users' text."""
        attributes = lib.LLAMA_TOKEN_ATTR_CONTROL | lib.LLAMA_TOKEN_ATTR_UNKNOWN
        count = int(lib.llama_vocab_n_tokens(self.vocab))
        marked = (t for t in range(count) if lib.llama_vocab_get_attr(self.vocab, t) & attributes)
        return tuple(
            sorted({text for t in marked if len(text := self.token_text(t)) > 1}, key=len, reverse=True)
        )

    # -- context: engine thread only ----------------------------------------------------------------------

    def decode(self, tokens: list[int], sequence: int, position: int) -> int:
        """Evaluate up to BATCH tokens of one sequence from `position` on; returns 0, NO_CELLS or ABORTED."""
        batch = self._batch
        batch.n_tokens = len(tokens)
        for i, token in enumerate(tokens):
            batch.token[i] = token
            batch.pos[i] = position + i
            batch.n_seq_id[i] = 1
            batch.seq_id[i][0] = sequence
            batch.logits[i] = False
        batch.logits[len(tokens) - 1] = True
        status = int(lib.llama_decode(self.context, batch))
        if status not in (0, NO_CELLS, ABORTED):
            raise ProviderError("engine-failed-reading")
        return status

    def last_logits(self) -> np.ndarray:
        """Return the logits of the last token: float32, shape (n_vocab,), a view that the next decode
        overwrites.
        """
        pointer = lib.llama_get_logits_ith(self.context, -1)
        return np.ctypeslib.as_array(pointer, shape=(self.n_vocab,))

    def length(self, sequence: int) -> int:
        """Return how many tokens of a sequence have cells."""
        return int(lib.llama_memory_seq_pos_max(self.memory, sequence)) + 1

    def truncate(self, sequence: int, length: int) -> bool:
        """Drop a sequence's cells from position `length` on; False where the model can only drop all."""
        return bool(lib.llama_memory_seq_rm(self.memory, sequence, length, -1))

    def copy_prefix(self, source: int, target: int, length: int) -> None:
        """Let one sequence share the cells of another's first `length` tokens; needs no new cells."""
        lib.llama_memory_seq_cp(self.memory, source, target, 0, length)

    def save(self, sequence: int) -> np.ndarray:
        """Return the state of a sequence: a flat array of uint8, 28 KiB a token with the default model."""
        state = np.empty(lib.llama_state_seq_get_size(self.context, sequence), np.uint8)
        written = lib.llama_state_seq_get_data(self.context, _bytes_of(state), state.nbytes, sequence)
        return state[:written]

    def restore(self, sequence: int, state: np.ndarray) -> bool:
        """Replace a sequence by a saved state; False when there are not enough cells."""
        return bool(lib.llama_state_seq_set_data(self.context, _bytes_of(state), state.nbytes, sequence))

    def set_abort(self, on: bool) -> None:
        """Set the abort flag: the running decode stops at its next graph node. Callable from any thread."""
        self._abort_flag[0] = b"\x01" if on else b"\x00"

    def close(self) -> None:
        """Free the context and the model."""
        if self.context:
            lib.llama_batch_free(self._batch)
            lib.llama_free(self.context)
            self.context = None
        if self.model and self._owns_model:
            lib.llama_model_free(self.model)
        self.model = None
