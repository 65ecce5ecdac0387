"""A data folder with some data, plain and encrypted. Both are made once and copied."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.data_folder import make_data_folder
from tests.installation import FILL, Installation


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """The plain data folder from which others are copied."""
    made = Installation(tmp_path_factory.mktemp("filled") / "data")
    make_data_folder(made.folder)
    made.run("shell", "-v0", "-c", FILL)
    return made


@pytest.fixture(scope="session")
def filled_and_encrypted(filled: Installation, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """The encrypted data folder from which others are copied."""
    made = Installation(tmp_path_factory.mktemp("encrypted") / "data")
    shutil.copytree(filled.folder, made.folder)
    made.encrypt()
    return made


@pytest.fixture
def plain(filled: Installation, tmp_path: Path) -> Installation:
    """A data folder that is not encrypted."""
    shutil.copytree(filled.folder, tmp_path / "plain")
    return Installation(tmp_path / "plain")


@pytest.fixture
def encrypted(filled_and_encrypted: Installation, tmp_path: Path) -> Installation:
    """An encrypted data folder."""
    shutil.copytree(filled_and_encrypted.folder, tmp_path / "encrypted")
    return Installation(tmp_path / "encrypted", filled_and_encrypted.keys)
