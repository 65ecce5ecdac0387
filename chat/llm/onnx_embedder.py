"""Sentence vectors from an ONNX model that averages its last layer, such as all-MiniLM-L6-v2.

MiniLM knows English only and takes about 9 ms a text.
"""

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

MAX_TOKENS = 256  # the limit in MiniLM's card; longer texts are truncated
# A larger batch only pads more texts to the longest one, since one thread computes it.
_BATCH = 32


class OnnxEmbedder:
    """Turns texts into unit vectors; see `Embedder`."""

    def __init__(self, name: str, model_path: Path | str, tokenizer_path: Path | str) -> None:
        self.name = name
        self._model_path = Path(model_path)
        self._tokenizer_path = Path(tokenizer_path)
        self._lock = threading.Lock()
        self._loaded: tuple[ort.InferenceSession, Tokenizer] | None = None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array of float32, shape (len(texts), dimensions), each row of length 1.

        Without texts it has no rows and no columns. Raises OSError without weights.
        """
        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        session, tokenizer = self._load()
        rows = [
            self._embed_batch(session, tokenizer, texts[start : start + _BATCH])
            for start in range(0, len(texts), _BATCH)
        ]
        return np.concatenate(rows)

    def knows_word(self, word: str) -> bool:
        """Return whether the vocabulary has this word as a whole. Raises OSError without weights."""
        _, tokenizer = self._load()
        return len(tokenizer.encode(word, add_special_tokens=False).ids) == 1

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
        # The mask excludes padding from the mean.
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
        # One thread: more would compete with the language model for the cores.
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
