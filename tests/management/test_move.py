"""Everything moves from SQLite to PostgreSQL and back, also when the move is killed; nothing is doubled."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing, nullcontext
from pathlib import Path

import psycopg
import pytest
from django.core.management import CommandError, call_command

from chat.actions.installation import UnfinishedMove, require_same_secret
from chat.actions.messages import send_message
from chat.actions.owners import local_owner
from chat.management.copying import resumable, rows
from chat.management.engine_lock import EngineTaken, lock_engine
from chat.models import SearchEntry
from chat.search.search import find
from tests.data_folder import build_environment
from tests.page_client import ROOT

from .filled_folder import copy_folder, manage, read_all, run, use_folder

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


class BrokenOff(BaseException):
    """Stands for the end of the process."""


@pytest.fixture
def break_off(monkeypatch):
    """A function that moves into a database and is broken off at the given write."""

    def move(url: str, writes: int) -> None:
        write, left = resumable.write_rows, writes

        def write_some(*arguments: object) -> None:
            nonlocal left
            left -= 1
            write(*arguments)
            if left == 0:
                raise BrokenOff

        with monkeypatch.context() as patch:
            patch.setattr(rows, "_ROWS", 3)
            patch.setattr(rows, "_LARGE_ROWS", 3)
            patch.setattr(resumable, "write_rows", write_some)
            with pytest.raises(BrokenOff):
                call_command("move", to=url)

    return move


def fingerprint(folder: Path) -> str:
    return hashlib.sha256((folder / "memoryapp.sqlite3").read_bytes()).hexdigest()


def count_rows(url: str, table: str) -> int:
    with psycopg.connect(url) as connection:
        found = connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()  # noqa: S608
    assert found is not None
    return int(found[0])


_SERVER_ELSEWHERE = """
INSERT INTO chat_process (id, kind, host, boot, pid, pid_started, runs_jobs, open_conversations,
caches_to_free, started_at, seen_at)
VALUES (gen_random_uuid(), 'serve', 'elsewhere', '', 7, '', true, '[]', '[]', now(), now())
"""


def test_everything_moves_to_postgresql_and_back(filled_copy, url, new_folder):
    before = fingerprint(filled_copy)
    with_password = url.replace("memoryapp@", "memoryapp:hush-hush@", 1)
    there = manage(filled_copy, "move", "--to", with_password)
    assert there.returncode == 0, there.stderr
    shown = with_password.replace("hush-hush", "PASSWORD")
    assert f"DATABASE_URL='{shown}' python3 manage.py start" in there.stdout
    assert "hush-hush" not in there.stdout + there.stderr
    assert fingerprint(filled_copy) == before
    back = manage(filled_copy, "move", "--to", f"sqlite://{new_folder}", DATABASE_URL=url)
    assert back.returncode == 0, back.stderr
    old, new = read_all(filled_copy), read_all(new_folder)
    different = [name for name in old if old[name] != new.get(name)]
    assert different == [], {name: (old[name][:1], new[name][:1]) for name in different}
    assert old.keys() == new.keys()
    assert (new_folder / "secret_key").read_text() == (filled_copy / "secret_key").read_text()


def test_a_move_makes_the_tables_of_a_new_data_folder(on_postgresql, tmp_path):
    call_command("move", to=f"sqlite://{tmp_path}/made")
    assert read_all(tmp_path / "made") == read_all(on_postgresql)


def test_moved_data_can_be_searched_and_new_rows_get_keys_of_their_own(on_postgresql):
    require_same_secret()
    owner = local_owner()
    highest = SearchEntry.objects.latest("pk").pk
    asked, _reply = send_message(owner, "a new message about hedgehogs")
    assert find(owner, "fjord").total > 0
    assert find(owner, "hedgehogs").total > 0
    assert SearchEntry.objects.get(message=asked).pk > highest


def test_beside_a_server_on_another_machine_nothing_moves_until_it_is_dead(
    on_postgresql, filled_url, new_folder
):
    with psycopg.connect(filled_url) as connection:
        connection.execute(_SERVER_ELSEWHERE)
    with pytest.raises(CommandError, match="serve, process 7 on elsewhere"):
        call_command("move", to=f"sqlite://{new_folder}")
    with psycopg.connect(filled_url) as connection:
        connection.execute("UPDATE chat_process SET seen_at = now() - interval '1 minute'")
    call_command("move", to=f"sqlite://{new_folder}")


def test_no_password_is_printed_for_an_url_with_a_mistake(filled_copy):
    refused = manage(filled_copy, "move", "--to", "postgresql://me:hush-hush@host:port/name")
    assert refused.returncode == 1
    assert "percent-encoded" in refused.stderr
    assert "hush-hush" not in refused.stdout + refused.stderr


def test_a_move_that_is_killed_again_and_again_goes_on_and_doubles_nothing(here, url, new_folder, break_off):
    settings = {"DJANGO_SETTINGS_MODULE": "memoryapp.settings"}
    # One kill of a process; the other times its end is played: at the first write, in the middle of tables
    # and at borders between them.
    killed = run(["-c", _BREAK_OFF, url, "30"], here, PYTHONPATH=str(ROOT), **settings)
    assert killed.returncode == 9, killed.stderr
    for writes in (1, 2, 9, 4):
        break_off(url, writes)
        assert count_rows(url, "memoryapp_move") > 0
    call_command("move", to=url)
    with use_folder(here, url):
        call_command("move", to=f"sqlite://{new_folder}")
    assert read_all(here) == read_all(new_folder)


def test_what_changed_in_the_source_after_a_kill_is_copied_anew(here, url, break_off):
    break_off(url, 60)
    with closing(sqlite3.connect(here / "memoryapp.sqlite3")) as opened:
        opened.execute("UPDATE auth_permission SET name = 'changed' WHERE id = 1")
        opened.execute("DELETE FROM django_session")
        opened.commit()
    call_command("move", to=url)
    assert count_rows(url, "django_session") == 0
    assert count_rows(url, "auth_permission WHERE name = 'changed'") == 1
    assert count_rows(url, "chat_fact") == len(read_all(here)["chat_fact"])


def test_nothing_uses_a_database_while_a_move_into_it_is_unfinished(here, url, break_off):
    break_off(url, 5)
    refused = manage(here, "serve", "--no-browser", "--port", "0", DATABASE_URL=url)
    assert refused.returncode == 1
    assert "A move into this database was broken off" in refused.stderr
    with use_folder(here, url), pytest.raises(UnfinishedMove):
        require_same_secret()


def test_an_unfinished_move_of_another_database_is_not_continued(here, url, tmp_path, break_off):
    break_off(url, 5)
    other = copy_folder(here, tmp_path / "other")
    with (
        use_folder(other),
        pytest.raises(CommandError, match="Another move into this database was broken off"),
    ):
        call_command("move", to=url)


def test_a_database_that_is_used_is_not_touched(here, filled_url):
    messages = count_rows(filled_url, "chat_message")
    with pytest.raises(CommandError, match="The new database is not empty"):
        call_command("move", to=filled_url)
    assert count_rows(filled_url, "chat_message") == messages


def test_tables_of_another_program_are_not_touched(here, url):
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE bills (id int)")
    with pytest.raises(CommandError, match="holds tables of another program"):
        call_command("move", to=url)


def test_beside_a_running_server_nothing_moves(here, url):
    with lock_engine(here, "http://127.0.0.1:8000/"), pytest.raises(EngineTaken, match="is running already"):
        call_command("move", to=url)


def test_another_writer_keeps_the_move_from_beginning(here, url):
    with closing(sqlite3.connect(here / "memoryapp.sqlite3", isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(CommandError, match="Another program is writing to the database"):
            call_command("move", to=url)


@pytest.mark.parametrize(("seconds", "moves"), [(1.0, True), (None, False)])
def test_a_move_from_postgresql_waits_for_a_short_lock_as_of_autovacuum(
    on_postgresql, filled_url, new_folder, seconds, moves
):
    with psycopg.connect(filled_url) as other:
        # The lock that autovacuum holds.
        other.execute("LOCK TABLE chat_message IN SHARE UPDATE EXCLUSIVE MODE")
        if seconds is not None:
            threading.Timer(seconds, other.rollback).start()
        with nullcontext() if moves else pytest.raises(CommandError, match="Another program is writing"):
            call_command("move", to=f"sqlite://{new_folder}")


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
