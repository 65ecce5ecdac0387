"""A stamps folder of its own for each test."""

from pathlib import Path

import pytest

from memoryapp.bootstrap import environment


@pytest.fixture(autouse=True)
def _private_stamps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(environment, "STAMPS", tmp_path / "stamps")
