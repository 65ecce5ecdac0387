"""An update backs up first and is whole or not done; an older program does not touch a newer database."""

from __future__ import annotations

import sqlite3
import stat
from contextlib import closing

import pytest
from django.core.management import call_command
from django.db import connection

from chat.schema_version import NewerDatabase, list_known_migrations
from memoryapp.base.env import BadValue, data_dir, tighten_file
from memoryapp.bootstrap import preparation
from memoryapp.bootstrap.encrypted_data import EncryptedData
from memoryapp.bootstrap.errors import BootstrapError


def make_database(path, *names: str) -> bytes:
    with closing(sqlite3.connect(path)) as made, made:
        made.execute("CREATE TABLE django_migrations (app TEXT, name TEXT)")
        made.executemany("INSERT INTO django_migrations VALUES ('chat', ?)", [(name,) for name in names])
    return path.read_bytes()


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def managed(monkeypatch):
    """Records the commands that the bootstrap runs; `fails` is the name of one that fails."""
    commands = []

    def manage(interpreter, label, step, command, keep, encrypted):
        commands.append(command)
        if manage.fails in command:
            raise BootstrapError("It failed.")

    manage.fails = ""
    monkeypatch.setattr(preparation, "_manage", manage)
    monkeypatch.setattr(preparation.environment, "is_done", lambda *args: False)
    monkeypatch.setattr(preparation.environment, "mark_done", lambda *args: None)
    manage.commands = commands
    return manage


def test_start_backs_up_before_it_changes_the_database_and_says_where(data, managed, capsys):
    make_database(data / "memoryapp.sqlite3", "0001_initial")
    preparation.ensure_database(None, "", {}, 0, EncryptedData())
    (backup, target), migrate = managed.commands[0], managed.commands[1]
    assert (backup, migrate[0]) == ("backup", "migrate")
    assert target.startswith(str(data / "before-update-"))
    assert target in capsys.readouterr().out


@pytest.mark.parametrize("state", ["new", "current"])
def test_there_is_no_backup_without_a_change(data, managed, state):
    if state == "current":
        make_database(data / "memoryapp.sqlite3", *list_known_migrations())
    preparation.ensure_database(None, "", {}, 0, EncryptedData())
    assert [command[0] for command in managed.commands] == ["migrate"]


def test_a_failed_update_names_the_backup(data, managed):
    make_database(data / "memoryapp.sqlite3", "0001_initial")
    managed.fails = "migrate"
    with pytest.raises(BootstrapError, match=r"The data is as it was; a backup of it is .*before-update-"):
        preparation.ensure_database(None, "", {}, 0, EncryptedData())


def test_only_a_few_backups_of_updates_are_kept(data, managed):
    make_database(data / "memoryapp.sqlite3", "0001_initial")
    for day in range(10, 16):
        (data / f"before-update-202601{day}-120000.backup").touch()
    preparation.ensure_database(None, "", {}, 0, EncryptedData())
    assert sorted(path.name for path in data.glob("*.backup")) == [
        "before-update-20260114-120000.backup",
        "before-update-20260115-120000.backup",
    ]


def test_start_does_not_touch_a_newer_database(data, managed):
    before = make_database(data / "memoryapp.sqlite3", "0001_initial", "9999_of_tomorrow")
    with pytest.raises(BootstrapError, match="newer version of memoryapp"):
        preparation.ensure_database(None, "", {}, 0, EncryptedData())
    assert managed.commands == []
    assert (data / "memoryapp.sqlite3").read_bytes() == before


@pytest.mark.django_db(transaction=True)
def test_no_command_uses_a_newer_database(tmp_path, monkeypatch):
    if connection.vendor != "sqlite":
        pytest.skip("uses a database file of its own")
    path = tmp_path / "memoryapp.sqlite3"
    before = make_database(path, "9999_of_tomorrow")
    connection.close()
    monkeypatch.setitem(connection.settings_dict, "NAME", str(path))
    try:
        for command in ("migrate", "export_memory", "prune", "decay"):
            with pytest.raises(NewerDatabase, match="newer version"):
                call_command(command)
    finally:
        connection.close()
    with closing(sqlite3.connect(path)) as opened:
        assert opened.execute("SELECT count(*) FROM sqlite_master").fetchone() == (1,)
    assert before


@pytest.mark.django_db(transaction=True)
def test_a_failing_migration_leaves_the_database_as_it_was(tmp_path, monkeypatch):
    if connection.vendor != "sqlite":
        pytest.skip("uses a database file of its own")
    path = tmp_path / "memoryapp.sqlite3"
    connection.close()
    monkeypatch.setitem(connection.settings_dict, "NAME", str(path))
    try:
        call_command("migrate", "chat", "0020", verbosity=0)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

        def fail(*args):
            raise RuntimeError("a bug in the last migration")

        monkeypatch.setattr("django.db.migrations.operations.special.RunPython.database_forwards", fail)
        with pytest.raises(RuntimeError):
            call_command("migrate", verbosity=0)
        connection.close()
        with closing(sqlite3.connect(path)) as opened:
            rows = opened.execute("SELECT name FROM django_migrations WHERE app='chat' ORDER BY name")
            assert rows.fetchall()[-1][0].startswith("0020")
    finally:
        connection.close()


# -- modes of files and folders


def test_an_open_data_folder_of_the_program_is_closed(data):
    (data / "secret_key").touch()
    data.chmod(0o755)
    assert data_dir() == data
    assert stat.S_IMODE(data.stat().st_mode) == 0o700


def test_an_open_folder_with_other_files_is_refused_and_left_alone(data):
    (data / "thesis.odt").touch()
    data.chmod(0o755)
    with pytest.raises(BadValue, match="a folder of its own"):
        data_dir()
    assert stat.S_IMODE(data.stat().st_mode) == 0o755


def test_a_database_and_the_files_beside_it_are_closed_wherever_they_lie(tmp_path):
    for end in ("", "-wal", "-shm"):
        (tmp_path / f"mine.sqlite3{end}").touch(mode=0o644)
    tighten_file(tmp_path / "mine.sqlite3")
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}
