"""Everything moves from SQLite to PostgreSQL and back, also when the move is killed; nothing is doubled."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from chat.management.engine_lock import lock_engine
from tests.data_folder import build_environment, make_data_folder
from tests.page_client import ROOT
from tests.search.postgresql import (
    PostgresqlUnavailable,
    make_database,
    run_postgresql,
    skip_without_server,
)

pytestmark = pytest.mark.slow

_FILL = """
from django.contrib.sessions.backends.db import SessionStore
from allauth.socialaccount.models import SocialAccount
from chat.actions.indexing import fill_index
from chat.actions.installation import require_same_secret
from chat.actions.owners import local_owner
from chat.models import Conversation, Message, Fact
from tests.porting.sample_data import create_sample_data
require_same_secret()
owner = local_owner()
create_sample_data(owner, messages=90, facts=12)
while fill_index(list(Conversation.objects.values_list("pk", flat=True))):
    pass
session = SessionStore()
session["a"] = 1
session.save()
chat = Conversation.objects.first()
chat.metadata = {"large": 1e16, "small": -0.0, "text": "a\\0b", "none": None}
chat.save(update_fields=["metadata"])
fact = Fact.objects.first()
Fact.objects.filter(pk=fact.pk).update(text="a\\0b", embedding=bytes(range(256)))
account = SocialAccount.objects.create(user=owner, provider="x", uid="1")
SocialAccount.objects.update(date_joined="2020-01-02T03:04:05.678901Z")
"""
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


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    try:
        with run_postgresql() as url:
            yield url
    except PostgresqlUnavailable as reason:
        skip_without_server(reason)


@pytest.fixture(scope="module")
def migrated(server: str, filled: Path) -> Iterator[str]:
    """The URL of a database with tables and without data."""
    with make_database(server) as made:
        assert manage(filled, "migrate", "-v0", DATABASE_URL=made).returncode == 0
        yield made


@pytest.fixture
def url(server: str, migrated: str) -> Iterator[str]:
    """A copy of it, which saves each move the seconds for making the tables."""
    with make_database(server, migrated) as made:
        yield made


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a bit of everything."""
    folder = tmp_path_factory.mktemp("filled") / "data"
    make_data_folder(folder)
    folder.chmod(0o700)
    done = manage(folder, "shell", "-v0", "-c", _FILL)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def folder(filled: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    shutil.copytree(filled, tmp_path / "data")
    (tmp_path / "data").chmod(0o700)
    return tmp_path / "data"


def manage(folder: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command of manage.py with a data folder."""
    return run([str(ROOT / "manage.py"), *command], folder, **variables)


def run(command: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = build_environment(folder, **variables)
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=200
    )


def read_all(folder: Path) -> dict[str, list[str]]:
    """Return the rows of all tables of a data folder that a move copies."""
    with closing(sqlite3.connect(folder / "memoryapp.sqlite3")) as opened:
        names = opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        left_out = ("sqlite_", "django_migrations", "chat_process", "chat_searchwords")
        tables = [name for (name,) in names if not name.startswith(left_out)]
        rows = {name: opened.execute(f"SELECT * FROM {name}").fetchall() for name in tables}  # noqa: S608
    return {name: sorted(repr([normal(v) for v in row]) for row in rows[name]) for name in tables}


def normal(value: Any) -> Any:
    """PostgreSQL sorts the names in JSON, stores numbers by their value, and has no character 0."""
    if not isinstance(value, str):
        return value
    if value[:1] in ("{", "["):
        value = json.dumps(json.loads(value, parse_float=lambda number: float(number) + 0.0), sort_keys=True)
        value = value.replace("1e+16", "10000000000000000").replace("\\u0000", "\\ufffd")
    return value.replace("\0", "\ufffd")


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


def test_everything_moves_to_postgresql_and_back(folder, server):
    before = fingerprint(folder)
    with make_database(server) as url:
        with_password = url.replace("memoryapp@", "memoryapp:hush-hush@", 1)
        there = manage(folder, "move", "--to", with_password)
        assert there.returncode == 0, there.stderr
        shown = with_password.replace("hush-hush", "PASSWORD")
        assert f"DATABASE_URL='{shown}' python3 manage.py start" in there.stdout
        assert "hush-hush" not in there.stdout + there.stderr
        assert fingerprint(folder) == before
        # Beside a server on another machine nothing moves back, until it is dead.
        with psycopg.connect(url) as connection:
            connection.execute(_SERVER_ELSEWHERE)
        refused = manage(folder, "move", "--to", f"sqlite://{folder.parent}/new", DATABASE_URL=url)
        assert refused.returncode == 1
        assert "serve, process 7 on elsewhere" in refused.stderr
        with psycopg.connect(url) as connection:
            connection.execute("UPDATE chat_process SET seen_at = now() - interval '1 minute'")
        old, new = read_all(folder), move_back(url, folder)
        different = [name for name in old if old[name] != new.get(name)]
        assert different == [], {name: (old[name][:1], new[name][:1]) for name in different}
        assert old.keys() == new.keys()
        new_key = folder.parent / "new" / "secret_key"
        assert new_key.read_text() == (folder / "secret_key").read_text()
        # The moved data can be searched, and new rows get keys of their own.
        used = manage(folder, "shell", "-v0", "-c", _USES_IT, DATABASE_URL=url)
        assert used.stdout.split() == ["True", "True", "True"], used.stderr


def test_no_password_is_printed_for_an_url_with_a_mistake(folder):
    refused = manage(folder, "move", "--to", "postgresql://me:hush-hush@host:port/name")
    assert refused.returncode == 1
    assert "percent-encoded" in refused.stderr
    assert "hush-hush" not in refused.stdout + refused.stderr


def test_a_move_that_is_killed_again_and_again_goes_on_and_doubles_nothing(folder, url):
    settings = {"DJANGO_SETTINGS_MODULE": "memoryapp.settings"}
    reached = []
    # At the first write, in the middle of tables and at borders between them.
    for writes in (1, 2, 9, 30, 4, 10_000):
        done = run(["-c", _BREAK_OFF, url, str(writes)], folder, PYTHONPATH=str(ROOT), **settings)
        reached.append(done.returncode)
        if writes < 10_000:
            with psycopg.connect(url) as connection:
                assert connection.execute("SELECT count(*) FROM memoryapp_move").fetchone() is not None
    assert reached == [9, 9, 9, 9, 9, 0], done.stderr
    assert read_all(folder) == move_back(url, folder)


def test_what_changed_in_the_source_after_a_kill_is_copied_anew(folder, url):
    settings = {"DJANGO_SETTINGS_MODULE": "memoryapp.settings"}
    killed = run(["-c", _BREAK_OFF, url, "60"], folder, PYTHONPATH=str(ROOT), **settings)
    assert killed.returncode == 9
    with closing(sqlite3.connect(folder / "memoryapp.sqlite3")) as opened:
        opened.execute("UPDATE auth_permission SET name = 'changed' WHERE id = 1")
        opened.execute("DELETE FROM django_session")
        opened.commit()
    done = manage(folder, "move", "--to", url)
    assert done.returncode == 0, done.stderr
    assert count_rows(url, "django_session") == 0
    assert count_rows(url, "auth_permission WHERE name = 'changed'") == 1
    assert count_rows(url, "chat_fact") == len(read_all(folder)["chat_fact"])


def test_nothing_uses_a_database_while_a_move_into_it_is_unfinished(folder, url):
    settings = {"DJANGO_SETTINGS_MODULE": "memoryapp.settings"}
    run(["-c", _BREAK_OFF, url, "5"], folder, PYTHONPATH=str(ROOT), **settings)
    refused = manage(folder, "serve", "--no-browser", "--port", "0", DATABASE_URL=url)
    assert refused.returncode == 1
    assert "A move into this database was broken off" in refused.stderr


def test_an_unfinished_move_of_another_database_is_not_continued(folder, url, tmp_path):
    settings = {"DJANGO_SETTINGS_MODULE": "memoryapp.settings"}
    run(["-c", _BREAK_OFF, url, "5"], folder, PYTHONPATH=str(ROOT), **settings)
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    refused = manage(other, "move", "--to", url)
    assert "Another move into this database was broken off" in refused.stderr


def test_a_database_that_is_used_is_not_touched(folder, url):
    assert manage(folder, "move", "--to", url).returncode == 0
    messages = count_rows(url, "chat_message")
    again = manage(folder, "move", "--to", url)
    assert again.returncode == 1
    assert "The new database is not empty" in again.stderr
    assert count_rows(url, "chat_message") == messages


def test_tables_of_another_program_are_not_touched(folder, url):
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE bills (id int)")
    refused = manage(folder, "move", "--to", url)
    assert "holds tables of another program" in refused.stderr


def test_beside_a_running_server_nothing_moves(folder, url):
    with lock_engine(folder, "http://127.0.0.1:8000/"):
        refused = manage(folder, "move", "--to", url)
    assert refused.returncode == 1
    assert "memoryapp is running already" in refused.stderr


def test_another_writer_keeps_the_move_from_beginning(folder, url):
    with closing(sqlite3.connect(folder / "memoryapp.sqlite3", isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        refused = manage(folder, "move", "--to", url)
    assert refused.returncode == 1
    assert "Another program is writing to the database" in refused.stderr


def test_encrypted_data_moves_when_it_is_opened(folder, url):
    def with_passphrase(*command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        read, write = os.pipe()
        os.write(write, b"a long enough passphrase")
        os.close(write)
        environment = build_environment(folder, PASSPHRASE_FD=str(read), **variables)
        return subprocess.run(
            [sys.executable, "manage.py", *command],
            cwd=ROOT,
            env=environment,
            pass_fds=[read],
            capture_output=True,
            text=True,
            timeout=200,
        )

    facts = len(read_all(folder)["chat_fact"])
    assert with_passphrase("encrypt").returncode == 0
    moved = with_passphrase("move", "--to", url)
    assert moved.returncode == 0, moved.stderr
    assert "not encrypted by memoryapp" in moved.stdout
    assert count_rows(url, "chat_fact") == facts
