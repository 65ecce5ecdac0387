"""A backup of PostgreSQL is a file as of SQLite, is written beside a server, and replaces all or nothing."""

from __future__ import annotations

import zipfile
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from chat.actions.owners import local_owner
from chat.actions.tombstones import add_tombstones, hash_facts
from chat.models import Fact, Process

from .filled_folder import manage, read_all, use_folder

pytestmark = pytest.mark.slow


@pytest.fixture
def backup(here: Path, tmp_path: Path) -> Path:
    """A backup of an SQLite file."""
    call_command("backup", str(tmp_path / "sqlite.backup"))
    return tmp_path / "sqlite.backup"


def without_logins(rows: dict[str, list[str]]) -> dict[str, list[str]]:
    """A restore ends all logins."""
    return {**rows, "django_session": []}


def test_a_backup_goes_from_sqlite_to_postgresql_and_back_beside_a_writer(
    here, url, backup, tmp_path, new_folder
):
    # Each command in a process of its own, as people run them.
    done = manage(here, "restore", str(backup), DATABASE_URL=url)
    assert done.returncode == 0, done.stderr
    with psycopg.connect(url) as writer:
        writer.execute("DELETE FROM chat_factevent")
        done = manage(here, "backup", str(tmp_path / "server.backup"), DATABASE_URL=url)
        assert done.returncode == 0, done.stderr
        writer.rollback()
    with zipfile.ZipFile(tmp_path / "server.backup") as archive:
        assert set(archive.namelist()) == {"manifest.json", "memoryapp.sqlite3", "secret_key"}
        assert archive.read("secret_key").decode() == (here / "secret_key").read_text()
    with use_folder(new_folder):
        call_command("restore", str(tmp_path / "server.backup"))
    assert without_logins(read_all(new_folder)) == without_logins(read_all(here))


def test_a_restore_keeps_a_backup_of_what_was_there_and_what_was_forgotten_stays_so(
    backup, on_postgresql, capsys
):
    owner = local_owner()
    before = Fact.objects.count()
    fact = Fact.objects.for_owner(owner)[0]
    add_tombstones(owner, hash_facts(owner, Fact.objects.filter(pk=fact.pk)), timezone.now())
    fact.delete()
    call_command("restore", str(backup))
    said = capsys.readouterr().out
    assert "not restored: 1 memories" in said
    (former,) = on_postgresql.glob("before-restore-*.backup")
    assert f"What was here is now {former}" in said
    assert Fact.objects.count() == before - 1


def test_nothing_is_restored_beside_a_process_or_with_another_key(backup, on_postgresql, tmp_path):
    now = timezone.now()
    running = Process.objects.create(
        pk=uuid4(), kind="serve", host="elsewhere", pid=7, runs_jobs=True, started_at=now, seen_at=now
    )
    with pytest.raises(CommandError, match="serve, process 7 on elsewhere"):
        call_command("restore", str(backup))
    running.delete()
    other = tmp_path / "other.backup"
    with zipfile.ZipFile(backup) as archive, zipfile.ZipFile(other, "w") as changed:
        for name in archive.namelist():
            changed.writestr(name, b"another key" if name == "secret_key" else archive.read(name))
    with pytest.raises(CommandError, match="made with another secret key"):
        call_command("restore", str(other))
    assert not list(on_postgresql.glob("before-restore-*"))
