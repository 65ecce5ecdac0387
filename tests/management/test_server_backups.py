"""A backup of PostgreSQL is a file as of SQLite, is written beside a server, and replaces all or nothing."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from .filled_folder import manage, read_all

pytestmark = pytest.mark.slow


def succeed(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def on_postgresql(filled_copy: Path, url: str, tmp_path: Path) -> str:
    """The URL of a database with the data of the folder, restored from a backup of its SQLite file."""
    succeed(manage(filled_copy, "backup", str(tmp_path / "sqlite.backup")))
    succeed(manage(filled_copy, "restore", str(tmp_path / "sqlite.backup"), DATABASE_URL=url))
    return url


def without_logins(rows: dict[str, list[str]]) -> dict[str, list[str]]:
    """A restore ends all logins."""
    return {**rows, "django_session": []}


def test_a_backup_goes_from_sqlite_to_postgresql_and_back_beside_a_writer(
    filled_copy, on_postgresql, tmp_path
):
    new = tmp_path / "new"
    new.mkdir(mode=0o700)
    with psycopg.connect(on_postgresql) as writer:
        writer.execute("DELETE FROM chat_factevent")
        succeed(manage(filled_copy, "backup", str(tmp_path / "server.backup"), DATABASE_URL=on_postgresql))
        writer.rollback()
    with zipfile.ZipFile(tmp_path / "server.backup") as archive:
        assert set(archive.namelist()) == {"manifest.json", "memoryapp.sqlite3", "secret_key"}
        assert archive.read("secret_key").decode() == (filled_copy / "secret_key").read_text()
    succeed(manage(new, "restore", str(tmp_path / "server.backup")))
    assert without_logins(read_all(new)) == without_logins(read_all(filled_copy))


def test_a_restore_keeps_a_backup_of_what_was_there_and_what_was_forgotten_stays_so(
    filled_copy, on_postgresql, tmp_path
):
    succeed(manage(filled_copy, "shell", "-v0", "-c", _FORGET, DATABASE_URL=on_postgresql))
    restored = manage(filled_copy, "restore", str(tmp_path / "sqlite.backup"), DATABASE_URL=on_postgresql)
    assert "not restored: 1 memories" in succeed(restored)
    (former,) = filled_copy.glob("before-restore-*.backup")
    assert f"What was here is now {former}" in restored.stdout
    with psycopg.connect(on_postgresql) as connection:
        found = connection.execute("SELECT count(*) FROM chat_fact").fetchone()
    assert found == (len(read_all(filled_copy)["chat_fact"]) - 1,)


_FORGET = """
from django.utils import timezone
from chat.actions.owners import local_owner
from chat.actions.tombstones import add_tombstones, hash_facts
from chat.models import Fact
owner = local_owner()
fact = Fact.objects.for_owner(owner).first()
add_tombstones(owner, hash_facts(owner, Fact.objects.filter(pk=fact.pk)), timezone.now())
fact.delete()
"""


def test_nothing_is_restored_beside_a_process_or_with_another_key(filled_copy, on_postgresql, tmp_path):
    with psycopg.connect(on_postgresql) as connection:
        connection.execute(
            "INSERT INTO chat_process (id, kind, host, boot, pid, pid_started, runs_jobs, "
            "open_conversations, caches_to_free, started_at, seen_at) VALUES (%s, 'serve', 'elsewhere', '', "
            "7, '', true, '[]', '[]', now(), now())",
            [uuid4()],
        )
    refused = manage(filled_copy, "restore", str(tmp_path / "sqlite.backup"), DATABASE_URL=on_postgresql)
    assert refused.returncode == 1
    assert "serve, process 7 on elsewhere" in refused.stderr
    with psycopg.connect(on_postgresql) as connection:
        connection.execute("DELETE FROM chat_process")
    other = tmp_path / "other.backup"
    with zipfile.ZipFile(tmp_path / "sqlite.backup") as archive, zipfile.ZipFile(other, "w") as changed:
        for name in archive.namelist():
            changed.writestr(name, b"another key" if name == "secret_key" else archive.read(name))
    refused = manage(filled_copy, "restore", str(other), DATABASE_URL=on_postgresql)
    assert refused.returncode == 1
    assert "made with another secret key" in refused.stderr
    assert not list(filled_copy.glob("before-restore-*"))
