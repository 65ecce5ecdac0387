"""The secret key is made once, whole; a lost or another one is told instead of replaced in silence."""

from __future__ import annotations

import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from chat.actions import installation
from memoryapp.base.env import BadValue
from memoryapp.base.provider import ServerChoice
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
    with pytest.raises(BadValue, match="is empty"):
        load()
    assert (tmp_path / FILE).read_text() == ""


def test_the_settings_use_it_after_a_killed_first_start(tmp_path: Path):
    (tmp_path / FILE).touch()
    environment = build_environment(tmp_path, DJANGO_SETTINGS_MODULE="memoryapp.settings", SECRET_KEY="")
    run = subprocess.run(
        [sys.executable, "-c", CODE], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == (tmp_path / FILE).read_text() != ""


def test_a_missing_key_beside_a_database_is_told_and_not_replaced(tmp_path):
    database = tmp_path / "memoryapp.sqlite3"
    database.write_bytes(b"SQLite format 3")
    for command in ([], ["serve"], ["secret_key"]):
        with pytest.raises(BadValue, match="is missing, and the database was made with it"):
            load_secret_key(tmp_path, database, command)
    assert not (tmp_path / FILE).exists()


def test_a_restore_works_without_the_key_and_writes_none_of_its_own(tmp_path):
    database = tmp_path / "memoryapp.sqlite3"
    database.write_bytes(b"SQLite format 3")
    assert load_secret_key(tmp_path, database, ["restore", "a.backup"])
    assert not (tmp_path / FILE).exists()


def test_an_accepted_loss_makes_another_key(tmp_path):
    database = tmp_path / "memoryapp.sqlite3"
    database.write_bytes(b"SQLite format 3")
    key = load_secret_key(tmp_path, database, ["secret_key", "--accept-loss"])
    assert load_secret_key(tmp_path, database) == key


def test_a_new_data_folder_beside_a_database_server_gets_a_key(tmp_path):
    assert load_secret_key(tmp_path, None)


@pytest.mark.django_db
class TestFingerprint:
    """The database keeps a keyed hash, by which another key is recognised."""

    def test_the_first_start_stores_it_and_later_ones_compare(self):
        installation.require_same_secret()
        installation.require_same_secret()
        call_command("secret_key", stdout=(out := StringIO()))
        assert "is that of the database" in out.getvalue()

    def test_another_key_is_refused_with_what_to_do(self, settings):
        installation.require_same_secret()
        settings.SECRET_KEY = "another one"
        for command in (["run_jobs", "--once"], ["secret_key"], ["export_memory"]):
            with pytest.raises(installation.OtherSecretKey, match="set SECRET_KEY as on the machine"):
                call_command(*command)

    def test_an_accepted_loss_drops_what_the_lost_key_encrypted(self, settings):
        installation.require_same_secret()
        installation.store_model_server(ServerChoice("http://127.0.0.1:9", key="sk-secret"))
        before = installation.read_model_server_version()
        settings.SECRET_KEY = "another one"
        call_command("secret_key", "--accept-loss", stdout=(out := StringIO()))
        assert "log in again" in out.getvalue()
        installation.require_same_secret()
        assert installation.read_model_server() is None
        assert installation.read_model_server_version() > before
