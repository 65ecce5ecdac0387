"""The secret key is made once, whole, and a lost one is told instead of replaced in silence."""

from __future__ import annotations

import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memoryapp.base.env import BadValue
from memoryapp.base.secret_key import FILE, load_secret_key
from tests.data_folder import build_environment
from tests.page_client import ROOT

CODE = "import django; django.setup(); from django.conf import settings; print(settings.SECRET_KEY)"


@pytest.fixture
def load(tmp_path):
    """Return a function that loads the key of a folder without a database."""
    return lambda: load_secret_key(tmp_path, tmp_path / "memoryapp.sqlite3")


def test_the_key_is_made_once_and_only_its_owner_reads_it(load, tmp_path):
    key = load()
    assert len(key) > 60
    assert load() == key
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600


@pytest.mark.parametrize("left", [FILE, f"{FILE}.new"])
def test_what_a_killed_first_start_left_is_replaced(load, tmp_path, left):
    (tmp_path / left).touch()
    key = load()
    assert key
    assert load() == key


def test_first_starts_at_once_get_one_key(load):
    with ThreadPoolExecutor(8) as pool:
        assert len({future.result() for future in [pool.submit(load) for _ in range(8)]}) == 1


def test_an_empty_key_beside_a_database_is_told_and_not_replaced(load, tmp_path):
    (tmp_path / FILE).touch()
    (tmp_path / "memoryapp.sqlite3").write_bytes(b"SQLite format 3")
    with pytest.raises(BadValue, match="is empty.*restore both from a backup"):
        load()
    assert (tmp_path / FILE).read_text() == ""


def test_the_settings_use_it_after_a_killed_first_start(tmp_path: Path):
    (tmp_path / FILE).touch()
    environment = build_environment(tmp_path, DJANGO_SETTINGS_MODULE="memoryapp.settings", SECRET_KEY="")
    run = subprocess.run(
        [sys.executable, "-c", CODE], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == (tmp_path / FILE).read_text() != ""
