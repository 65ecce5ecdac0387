"""A models folder and an index of the test's own."""

from pathlib import Path

import pytest

from tests.weights.toy import PIECES, Index


@pytest.fixture(autouse=True)
def models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = tmp_path / "models"
    monkeypatch.setenv("MODEL_DIR", str(folder))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nobody listens there
    return folder


@pytest.fixture
def index() -> Index:
    return Index(PIECES)
