"""Sentence vectors from all-MiniLM-L6-v2, int8, on onnxruntime (design §4)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import onnxruntime as ort
    from tokenizers import Tokenizer

MAX_TOKENS = 256  # the model's own limit (its card); longer texts are cut
DIMENSIONS = 384
# More rows at once only pad short texts to the longest one, on one thread.
_BATCH = 32


class Embedder:
    """Turns texts into unit vectors; the weights are read at the first use, from any thread."""

    name = "minilm-l6-int8"
    dimensions = DIMENSIONS

    def __init__(self, model_path: Path | str, tokenizer_path: Path | str) -> None:
        self._model_path = Path(model_path)
        self._tokenizer_path = Path(tokenizer_path)
        self._lock = threading.Lock()
        self._last: tuple[int, NDArray[np.float32]] | None = None
        self._loaded: tuple[ort.InferenceSession, Tokenizer] | None = None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one L2-normalised float32 row of 384 numbers a text; OSError without the weights."""
        if not texts:
            return np.zeros((0, DIMENSIONS), dtype=np.float32)
        session, tokenizer = self._load()
        if len(texts) == 1:
            return self._embed_one(session, tokenizer, texts[0])
        rows = [
            self._embed_batch(session, tokenizer, texts[start : start + _BATCH])
            for start in range(0, len(texts), _BATCH)
        ]
        return np.concatenate(rows)

    def _embed_one(
        self, session: ort.InferenceSession, tokenizer: Tokenizer, text: str
    ) -> NDArray[np.float32]:
        """Embed a single text, or give back what the last one gave: its topic and its memory ask for both."""
        # By the text's hash, so that no word stays here.
        last = self._last
        if last is not None and last[0] == hash(text):
            return last[1].copy()
        row = self._embed_batch(session, tokenizer, [text])
        self._last = (hash(text), row)
        return row.copy()

    def _embed_batch(
        self, session: ort.InferenceSession, tokenizer: Tokenizer, texts: Sequence[str]
    ) -> NDArray[np.float32]:
        encoded = tokenizer.encode_batch(list(texts))
        mask = np.array([e.attention_mask for e in encoded], dtype=np.int64)
        feeds: dict[str, Any] = {
            "input_ids": np.array([e.ids for e in encoded], dtype=np.int64),
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(mask),
        }
        wanted = {node.name for node in session.get_inputs()}
        hidden = np.asarray(session.run(None, {k: v for k, v in feeds.items() if k in wanted})[0])
        weight = mask[:, :, None].astype(np.float32)
        # Padding must not pull the mean towards zero.
        mean = (hidden * weight).sum(axis=1) / np.maximum(weight.sum(axis=1), 1.0)
        length = np.linalg.norm(mean, axis=1, keepdims=True)
        return np.asarray(mean / np.maximum(length, 1e-9), dtype=np.float32)

    def _load(self) -> tuple[ort.InferenceSession, Tokenizer]:
        with self._lock:
            if self._loaded is None:
                self._loaded = (self._session(), self._tokenizer())
            return self._loaded

    def _session(self) -> ort.InferenceSession:
        import onnxruntime as ort

        if not self._model_path.is_file():
            raise FileNotFoundError(self._model_path)
        options = ort.SessionOptions()
        # The language model owns the cores; a second pool of threads would only fight it.
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        return ort.InferenceSession(str(self._model_path), options, providers=["CPUExecutionProvider"])

    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        if not self._tokenizer_path.is_file():
            raise FileNotFoundError(self._tokenizer_path)
        tokenizer = Tokenizer.from_file(str(self._tokenizer_path))
        tokenizer.enable_truncation(max_length=MAX_TOKENS)
        tokenizer.enable_padding()
        return tokenizer
