"""Steps leave no stamp outside the test."""

from pathlib import Path

import pytest

from memoryapp.bootstrap import stamps


@pytest.fixture(autouse=True)
def _stamps_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(stamps, "FOLDER", tmp_path / "stamps")
