"""A backup contains the whole database and is restored completely; replaced files are kept."""

from __future__ import annotations

import io
import json
import shutil
import sqlite3
import stat
import zipfile
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from chat.actions.owners import local_owner
from chat.management.backups import back_up, restore
from chat.management.engine_lock import lock_engine
from chat.models import Fact
from tests.porting.conftest import document
from tests.porting.sample_data import create_sample_data

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def exported(data_folder):
    """The export of an owner with sample data."""
    owner = local_owner()
    create_sample_data(owner)
    return document(owner)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"memoryapp.sqlite3-wal", "memoryapp.sqlite3-shm"}


def test_a_backup_is_one_private_file_with_database_and_key(exported, data_folder, tmp_path):
    target = tmp_path / "mine.backup"
    back_up(target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    with zipfile.ZipFile(target) as archive:
        assert set(archive.namelist()) == {"manifest.json", "memoryapp.sqlite3", "secret_key"}
        assert archive.read("secret_key") == b"the key"
        assert json.loads(archive.read("manifest.json"))["format"] == "memoryapp-backup"
    assert names(tmp_path) == {"mine.backup", "data"}
    assert names(data_folder) == {"memoryapp.sqlite3", "secret_key"}


def test_a_backup_has_the_key_in_effect_where_the_environment_sets_it(data_folder, settings, tmp_path):
    settings.SECRET_KEY = "the key of the environment"
    back_up(tmp_path / "mine.backup")
    with zipfile.ZipFile(tmp_path / "mine.backup") as archive:
        assert archive.read("secret_key").decode() == settings.SECRET_KEY


def test_the_log_of_another_database_is_not_applied_to_the_restored_one(exported, data_folder, tmp_path):
    target = tmp_path / "mine.backup"
    back_up(target)
    here, log = data_folder / "memoryapp.sqlite3", data_folder / "memoryapp.sqlite3-wal"
    with closing(sqlite3.connect(here)) as other:
        other.execute("PRAGMA journal_mode=WAL")
        other.execute("DELETE FROM chat_factevent")
        other.execute("DELETE FROM chat_relationship")
        other.commit()
        written = log.read_bytes()
    connection.close()
    # A restore that was killed after it moved the database, but before it moved the log.
    here.unlink()
    log.write_bytes(written)
    aside = restore(target, NOW)
    assert document(local_owner()) == exported
    assert [path.name for path in aside] == [
        "memoryapp-before-20260301-120000.sqlite3-wal",
        "secret_key-before-20260301-120000",
    ]


def test_a_full_disk_is_reported_and_leaves_nothing(exported, data_folder, tmp_path, monkeypatch):
    def full(_source, _target):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr("chat.management.backups._copy", full)
    with pytest.raises(CommandError, match=r"cannot be written: database or disk is full\.$"):
        back_up(tmp_path / "mine.backup")
    assert names(tmp_path) == {"data"}
    assert names(data_folder) == {"memoryapp.sqlite3", "secret_key"}


def test_an_interrupted_backup_leaves_nothing(exported, data_folder, tmp_path, monkeypatch):
    def interrupt(*_given):
        raise KeyboardInterrupt

    monkeypatch.setattr(zipfile.ZipFile, "write", interrupt)
    with pytest.raises(KeyboardInterrupt):
        back_up(tmp_path / "mine.backup")
    assert names(tmp_path) == {"data"}


def test_a_backup_is_restored_and_the_replaced_files_are_kept(exported, data_folder, tmp_path):
    target = tmp_path / "mine.backup"
    back_up(target)
    Fact.objects.all().delete()
    (data_folder / "secret_key").write_text("another key")
    (data_folder / "parked").mkdir()
    aside = restore(target, NOW)
    assert document(local_owner()) == exported
    assert (data_folder / "secret_key").read_text() == "the key"
    assert [path.name for path in aside] == [
        "memoryapp-before-20260301-120000.sqlite3",
        "secret_key-before-20260301-120000",
    ]
    with closing(sqlite3.connect(aside[0])) as old:
        assert old.execute("SELECT count(*) FROM chat_fact").fetchone() == (0,)
    assert not (data_folder / "parked").exists()
    assert stat.S_IMODE((data_folder / "secret_key").stat().st_mode) == 0o600


def test_a_backup_can_be_made_during_a_write_transaction(exported, data_folder, tmp_path):
    writing = sqlite3.connect(data_folder / "memoryapp.sqlite3", isolation_level=None)
    writing.execute("BEGIN IMMEDIATE")
    writing.execute("UPDATE chat_fact SET quote = 'not committed'")
    try:
        back_up(tmp_path / "mine.backup")
    finally:
        writing.execute("ROLLBACK")
        writing.close()
    restore(tmp_path / "mine.backup", NOW)
    assert document(local_owner()) == exported


def test_nothing_is_restored_while_the_server_runs(exported, data_folder, tmp_path):
    back_up(tmp_path / "mine.backup")
    with lock_engine(data_folder, "serve"), pytest.raises(CommandError, match="running already"):
        call_command("restore", tmp_path / "mine.backup")
    assert names(data_folder) == {"memoryapp.sqlite3", "secret_key", "engine.lock"}


def test_the_commands_report_what_they_did(exported, data_folder, tmp_path):
    out = io.StringIO()
    call_command("backup", tmp_path / "mine.backup", stdout=out)
    call_command("restore", tmp_path / "mine.backup", stdout=out)
    lines = out.getvalue().splitlines()
    assert lines[0].startswith(f"Written to {tmp_path / 'mine.backup'} (")
    assert lines[1].startswith(f"What was here is now {data_folder}/memoryapp-before-")
    assert lines[-1] == "Restored."
    assert document(local_owner()) == exported


def _without_manifest(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", "b")


def _cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-200])


def _not_an_archive(path: Path) -> None:
    path.write_text("hello")


def _missing(path: Path) -> None:
    path.unlink()


def _change(path: Path, change) -> None:
    """Change the database in a backup."""
    folder = path.with_suffix(".unpacked")
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    change(folder / "memoryapp.sqlite3")
    with zipfile.ZipFile(path, "w") as archive:
        for file in folder.iterdir():
            archive.write(file, file.name)
    shutil.rmtree(folder)


def _with_damaged_database(path: Path) -> None:
    def spoil(database):
        content = bytearray(database.read_bytes())
        content[4096:12288] = b"x" * 8192
        database.write_bytes(content)

    _change(path, spoil)


def _of_newer_version(path: Path) -> None:
    def update(database):
        with closing(sqlite3.connect(database)) as opened:
            later = ("chat", "9999_later", "2030-01-01")
            opened.execute("INSERT INTO django_migrations (app, name, applied) VALUES (?, ?, ?)", later)
            opened.commit()

    _change(path, update)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (_without_manifest, "no backup of memoryapp"),
        (_cut_off, "no backup of memoryapp"),
        (_not_an_archive, "no backup of memoryapp"),
        (_missing, "cannot be read: No such file"),
        (_with_damaged_database, "damaged"),
        (_of_newer_version, r"newer version of memoryapp \(9999_later\)"),
    ],
)
def test_an_invalid_backup_changes_nothing(exported, data_folder, tmp_path, spoil, sentence):
    target = tmp_path / "mine.backup"
    back_up(target)
    spoil(target)
    with pytest.raises(CommandError, match=sentence):
        restore(target, NOW)
    assert document(local_owner()) == exported
    assert names(data_folder) == {"memoryapp.sqlite3", "secret_key"}


def test_a_missing_target_folder_is_reported_and_nothing_is_left(exported, data_folder, tmp_path):
    with pytest.raises(CommandError, match="cannot be written"):
        back_up(tmp_path / "none" / "mine.backup")
    assert names(data_folder) == {"memoryapp.sqlite3", "secret_key"}


def test_without_a_database_there_is_nothing_to_back_up(data_folder, tmp_path, monkeypatch):
    monkeypatch.setitem(connection.settings_dict, "NAME", str(tmp_path / "none.sqlite3"))
    with pytest.raises(CommandError, match="nothing to back up"):
        back_up(tmp_path / "mine.backup")
    assert names(tmp_path) == {"data"}
