"""The real embedder, where its weights are."""

from pathlib import Path

import pytest

from chat.llm.embedder import DIMENSIONS, Embedder


def test_missing_weights_are_an_os_error_at_the_first_use_not_before(tmp_path: Path) -> None:
    embedder = Embedder(tmp_path / "model.onnx", tmp_path / "tokenizer.json")
    with pytest.raises(OSError, match=r"model\.onnx"):
        embedder.embed(["anything"])


def test_no_texts_give_no_rows_and_load_nothing(tmp_path: Path) -> None:
    embedder = Embedder(tmp_path / "none", tmp_path / "none")
    assert embedder.embed([]).shape == (0, DIMENSIONS)
