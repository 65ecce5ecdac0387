"""Everything moves from SQLite to PostgreSQL and back, also when the move is killed; nothing is doubled."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from chat.management.engine_lock import lock_engine
from tests.data_folder import build_environment
from tests.page_client import ROOT
from tests.search.postgresql import make_database

from .filled_folder import manage, read_all, run

pytestmark = pytest.mark.slow

# A move that writes three rows at a time, and is gone at the given write as if it were killed.
_BREAK_OFF = """
import os, sys
import django
django.setup()
from django.core.management import call_command
from chat.management.copying import resumable, rows
rows._ROWS = rows._LARGE_ROWS = 3
write, left = resumable.write_rows, int(sys.argv[2])
def write_some(*arguments):
    global left
    left -= 1
    write(*arguments)
    if left == 0:
        os._exit(9)
resumable.write_rows = write_some
call_command("move", to=sys.argv[1])
"""


def fingerprint(folder: Path) -> str:
    return hashlib.sha256((folder / "memoryapp.sqlite3").read_bytes()).hexdigest()


def count_rows(url: str, table: str) -> int:
    with psycopg.connect(url) as connection:
        found = connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()  # noqa: S608
    assert found is not None
    return int(found[0])


def move_back(url: str, folder: Path) -> dict[str, list[str]]:
    """Move a PostgreSQL database into a new data folder and return all rows."""
    back = manage(folder, "move", "--to", f"sqlite://{folder.parent}/new", DATABASE_URL=url)
    assert back.returncode == 0, back.stderr
    return read_all(folder.parent / "new")


_USES_IT = """
from chat.actions.installation import require_same_secret
from chat.actions.messages import send_message
from chat.actions.owners import local_owner
from chat.models import SearchEntry
from chat.search.search import find
require_same_secret()
owner = local_owner()
highest = SearchEntry.objects.latest("pk").pk
asked, reply = send_message(owner, "a new message about hedgehogs")
print(find(owner, "fjord").total > 0, find(owner, "hedgehogs").total > 0)
print(SearchEntry.objects.get(message=asked).pk > highest)
"""


_SERVER_ELSEWHERE = """
INSERT INTO chat_process (id, kind, host, boot, pid, pid_started, runs_jobs, open_conversations,
caches_to_free, started_at, seen_at)
VALUES (gen_random_uuid(), 'serve', 'elsewhere', '', 7, '', true, '[]', '[]', now(), now())
"""


def test_everything_moves_to_postgresql_and_back(filled_copy, postgresql):
    before = fingerprint(filled_copy)
    with make_database(postgresql) as url:
        with_password = url.replace("memoryapp@", "memoryapp:hush-hush@", 1)
        there = manage(filled_copy, "move", "--to", with_password)
        assert there.returncode == 0, there.stderr
        shown = with_password.replace("hush-hush", "PASSWORD")
        assert f"DATABASE_URL='{shown}' python3 manage.py start" in there.stdout
        assert "hush-hush" not in there.stdout + there.stderr
        assert fingerprint(filled_copy) == before
        # Beside a server on another machine nothing moves back, until it is dead.
        with psycopg.connect(url) as connection:
            connection.execute(_SERVER_ELSEWHERE)
        refused = manage(filled_copy, "move", "--to", f"sqlite://{filled_copy.parent}/new", DATABASE_URL=url)
        assert refused.returncode == 1
        assert "serve, process 7 on elsewhere" in refused.stderr
        with psycopg.connect(url) as connection:
            connection.execute("UPDATE chat_process SET seen_at = now() - interval '1 minute'")
        old, new = read_all(filled_copy), move_back(url, filled_copy)
        different = [name for name in old if old[name] != new.get(name)]
        assert different == [], {name: (old[name][:1], new[name][:1]) for name in different}
        assert old.keys() == new.keys()
        new_key = filled_copy.parent / "new" / "secret_key"
        assert new_key.read_text() == (filled_copy / "secret_key").read_text()
        # The moved data can be searched, and new rows get keys of their own.
        used = manage(filled_copy, "shell", "-v0", "-c", _USES_IT, DATABASE_URL=url)
        assert used.stdout.split() == ["True", "True", "True"], used.stderr


def test_no_password_is_printed_for_an_url_with_a_mistake(filled_copy):
    refused = manage(filled_copy, "move", "--to", "postgresql://me:hush-hush@host:port/name")
    assert refused.returncode == 1
    assert "percent-encoded" in refused.stderr
    assert "hush-hush" not in refused.stdout + refused.stderr


def test_a_move_that_is_killed_again_and_again_goes_on_and_doubles_nothing(filled_copy, url):
    settings = {"DJANGO_SETTINGS_MODULE": "memoryapp.settings"}
    reached = []
    # At the first write, in the middle of tables and at borders between them.
    for writes in (1, 2, 9, 30, 4, 10_000):
        done = run(["-c", _BREAK_OFF, url, str(writes)], filled_copy, PYTHONPATH=str(ROOT), **settings)
        reached.append(done.returncode)
        if writes < 10_000:
            with psycopg.connect(url) as connection:
                assert connection.execute("SELECT count(*) FROM memoryapp_move").fetchone() is not None
    assert reached == [9, 9, 9, 9, 9, 0], done.stderr
    assert read_all(filled_copy) == move_back(url, filled_copy)


def test_what_changed_in_the_source_after_a_kill_is_copied_anew(filled_copy, url):
    settings = {"DJANGO_SETTINGS_MODULE": "memoryapp.settings"}
    killed = run(["-c", _BREAK_OFF, url, "60"], filled_copy, PYTHONPATH=str(ROOT), **settings)
    assert killed.returncode == 9
    with closing(sqlite3.connect(filled_copy / "memoryapp.sqlite3")) as opened:
        opened.execute("UPDATE auth_permission SET name = 'changed' WHERE id = 1")
        opened.execute("DELETE FROM django_session")
        opened.commit()
    done = manage(filled_copy, "move", "--to", url)
    assert done.returncode == 0, done.stderr
    assert count_rows(url, "django_session") == 0
    assert count_rows(url, "auth_permission WHERE name = 'changed'") == 1
    assert count_rows(url, "chat_fact") == len(read_all(filled_copy)["chat_fact"])


def test_nothing_uses_a_database_while_a_move_into_it_is_unfinished(filled_copy, url):
    settings = {"DJANGO_SETTINGS_MODULE": "memoryapp.settings"}
    run(["-c", _BREAK_OFF, url, "5"], filled_copy, PYTHONPATH=str(ROOT), **settings)
    refused = manage(filled_copy, "serve", "--no-browser", "--port", "0", DATABASE_URL=url)
    assert refused.returncode == 1
    assert "A move into this database was broken off" in refused.stderr


def test_an_unfinished_move_of_another_database_is_not_continued(filled_copy, url, tmp_path):
    settings = {"DJANGO_SETTINGS_MODULE": "memoryapp.settings"}
    run(["-c", _BREAK_OFF, url, "5"], filled_copy, PYTHONPATH=str(ROOT), **settings)
    other = tmp_path / "other"
    shutil.copytree(filled_copy, other)
    refused = manage(other, "move", "--to", url)
    assert "Another move into this database was broken off" in refused.stderr


def test_a_database_that_is_used_is_not_touched(filled_copy, url):
    assert manage(filled_copy, "move", "--to", url).returncode == 0
    messages = count_rows(url, "chat_message")
    again = manage(filled_copy, "move", "--to", url)
    assert again.returncode == 1
    assert "The new database is not empty" in again.stderr
    assert count_rows(url, "chat_message") == messages


def test_tables_of_another_program_are_not_touched(filled_copy, url):
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE bills (id int)")
    refused = manage(filled_copy, "move", "--to", url)
    assert "holds tables of another program" in refused.stderr


def test_beside_a_running_server_nothing_moves(filled_copy, url):
    with lock_engine(filled_copy, "http://127.0.0.1:8000/"):
        refused = manage(filled_copy, "move", "--to", url)
    assert refused.returncode == 1
    assert "memoryapp is running already" in refused.stderr


def test_another_writer_keeps_the_move_from_beginning(filled_copy, url):
    with closing(sqlite3.connect(filled_copy / "memoryapp.sqlite3", isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        refused = manage(filled_copy, "move", "--to", url)
    assert refused.returncode == 1
    assert "Another program is writing to the database" in refused.stderr


def test_encrypted_data_moves_when_it_is_opened(filled_copy, url):
    def with_passphrase(*command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        read, write = os.pipe()
        os.write(write, b"a long enough passphrase")
        os.close(write)
        environment = build_environment(filled_copy, PASSPHRASE_FD=str(read), **variables)
        return subprocess.run(
            [sys.executable, "manage.py", *command],
            cwd=ROOT,
            env=environment,
            pass_fds=[read],
            capture_output=True,
            text=True,
            timeout=200,
        )

    facts = len(read_all(filled_copy)["chat_fact"])
    assert with_passphrase("encrypt").returncode == 0
    moved = with_passphrase("move", "--to", url)
    assert moved.returncode == 0, moved.stderr
    assert "not encrypted by memoryapp" in moved.stdout
    assert count_rows(url, "chat_fact") == facts
