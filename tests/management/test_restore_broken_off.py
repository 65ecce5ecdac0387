"""A restore that is killed anywhere leaves a whole database, and nothing starts until it was repeated."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from chat.actions import deletions, leftovers
from chat.actions.api_tokens import create_token, narrow_token, revoke_token
from chat.actions.facts import add_fact
from chat.actions.owners import local_owner
from chat.management import backups
from chat.management.engine_lock import lock_engine
from chat.models import ApiToken, Fact, Scope, Tombstone, User
from memoryapp.bootstrap import preparation
from memoryapp.bootstrap.encrypted_data import EncryptedData
from memoryapp.bootstrap.errors import BootstrapError


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.fixture
def backup(data_folder, tmp_path):
    """A backup with one memory; another one was added since."""
    add_fact(local_owner(), "I like tea")
    target = tmp_path / "mine.backup"
    backups.back_up(target)
    add_fact(local_owner(), "I like rye")
    return target


def texts() -> set[str]:
    connection.close()
    return set(Fact.objects.values_list("text", flat=True))


def whole_databases(folder: Path) -> list[set[str]]:
    """Return the memories of every database in the folder; each must be whole."""
    found = []
    for path in sorted(folder.glob("memoryapp*.sqlite3")):
        with closing(sqlite3.connect(path)) as opened:
            assert opened.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            found.append({text for (text,) in opened.execute("SELECT text FROM chat_fact")})
    return found


STEPS = [(name, number) for name in ("link", "fsync", "replace") for number in range(6)]


@pytest.mark.parametrize(("name", "number"), STEPS)
def test_a_restore_killed_at_any_step_loses_nothing_and_can_be_repeated(
    data_folder,
    backup,
    monkeypatch,
    name,
    number,
):
    calls = []
    real = getattr(os, name)

    def kill(*args, **more):
        calls.append(args)
        if len(calls) > number:
            raise Killed
        return real(*args, **more)

    with monkeypatch.context() as patch:
        patch.setattr(os, name, kill)
        try:
            call_command("restore", str(backup))
        except Killed:
            killed = True
        else:
            killed = False
    both = {"I like tea", "I like rye"}
    assert (data_folder / "memoryapp.sqlite3").exists()
    assert both in whole_databases(data_folder)
    if killed and (data_folder / "restore-unfinished").exists():
        with pytest.raises(CommandError, match="broken off"):
            lock_engine(data_folder, "serve")
    call_command("restore", str(backup))
    assert texts() == {"I like tea"}
    assert both in whole_databases(data_folder)
    lock_engine(data_folder, "serve").close()


def test_a_log_that_a_killed_restore_has_written_is_not_applied_to_the_next_one(data_folder, backup):
    backups.restore(backup, timezone.now())
    here = data_folder / "memoryapp.sqlite3"
    # Killed in the migration: its changes are in the log, and the process has not closed the database.
    script = (
        "import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('PRAGMA journal_mode=WAL');"
        "c.execute('CREATE TABLE junk AS SELECT * FROM chat_fact'); c.execute('DELETE FROM chat_fact');"
        "c.commit(); os._exit(1)"
    )
    subprocess.run([sys.executable, "-c", script, str(here)], check=False)
    assert (data_folder / "memoryapp.sqlite3-wal").stat().st_size
    call_command("restore", str(backup))
    assert texts() == {"I like tea"}
    with closing(sqlite3.connect(here)) as opened:
        assert opened.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert not opened.execute("SELECT 1 FROM sqlite_master WHERE name = 'junk'").fetchall()


def test_what_was_there_before_can_be_brought_back(data_folder, backup, capsys):
    with pytest.raises(CommandError, match="No restore was broken off"):
        call_command("restore", "--back")
    backups.restore(backup, timezone.now())
    assert texts() == {"I like tea"}
    call_command("restore", "--back")
    assert texts() == {"I like tea", "I like rye"}
    lock_engine(data_folder, "serve").close()
    assert "Back again" in capsys.readouterr().out


def test_tokens_and_accounts_get_no_rights_back(data_folder, tmp_path):
    owner = local_owner()
    create_token(owner, "narrowed")
    create_token(owner, "as it was")
    left = User.objects.create_user("left")
    backups.back_up(tmp_path / "mine.backup")
    narrow_token(ApiToken.objects.get(name="narrowed"), ["chat"])
    User.objects.filter(pk=left.pk).update(is_active=False)
    Session.objects.create(session_key="x", session_data="", expire_date=timezone.now() + timedelta(days=1))
    call_command("restore", str(tmp_path / "mine.backup"))
    assert ApiToken.objects.get(name="narrowed").scopes == ["chat"]
    assert set(ApiToken.objects.get(name="as it was").scopes) == set(Scope.values)
    assert not User.objects.get(pk=left.pk).is_active
    assert not Session.objects.exists()


def test_start_refuses_after_a_restore_that_was_broken_off(tmp_path, monkeypatch):
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    (tmp_path / "restore-unfinished").touch()
    with pytest.raises(BootstrapError, match="broken off"):
        preparation.ensure_database(None, "", {}, 0, EncryptedData())


def test_what_was_forgotten_and_revoked_since_the_backup_stays_so(data_folder, tmp_path, capsys):
    owner = local_owner()
    add_fact(owner, "I like tea")
    forgotten = add_fact(owner, "My therapist is called Rosalind")
    secret = create_token(owner, "a program")
    create_token(owner, "another")
    backups.back_up(tmp_path / "mine.backup")
    gone = deletions.forget_facts(owner, [forgotten.pk])
    assert deletions.finish_deletion(gone.pk, gone.expires_at + deletions.UNDO_GRACE)
    revoke_token(ApiToken.objects.get(name="a program"))
    call_command("restore", str(tmp_path / "mine.backup"))
    assert texts() == {"I like tea"}
    assert Tombstone.objects.exists()
    assert ApiToken.objects.valid(secret) is None
    assert ApiToken.objects.unrevoked().get().name == "another"
    assert "Forgotten since that backup, and not restored: 1 memories." in capsys.readouterr().out


def test_what_was_told_again_after_it_was_forgotten_is_restored(data_folder, tmp_path):
    owner = local_owner()
    first = add_fact(owner, "I like tea")
    gone = deletions.forget_facts(owner, [first.pk])
    assert deletions.finish_deletion(gone.pk, gone.expires_at + deletions.UNDO_GRACE)
    again = add_fact(owner, "I like tea")
    Fact.objects.filter(pk=again.pk).update(last_seen=gone.expires_at + 10 * deletions.UNDO_GRACE)
    backups.back_up(tmp_path / "mine.backup")
    call_command("restore", str(tmp_path / "mine.backup"))
    assert len(texts()) == 1


def test_a_backup_with_another_key_carries_nothing_over(data_folder, tmp_path):
    owner = local_owner()
    tea = add_fact(owner, "I like tea")
    backups.back_up(tmp_path / "mine.backup")
    (data_folder / "secret_key").write_text("another key")
    gone = deletions.forget_facts(owner, [tea.pk])
    assert deletions.finish_deletion(gone.pk, gone.expires_at + deletions.UNDO_GRACE)
    call_command("restore", str(tmp_path / "mine.backup"))
    assert len(texts()) == 1


def test_with_a_key_of_the_environment_what_was_forgotten_stays_so(data_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "the key")
    owner = local_owner()
    tea = add_fact(owner, "I like tea")
    backups.back_up(tmp_path / "mine.backup")
    (data_folder / "secret_key").write_text("another key, which is not used")
    gone = deletions.forget_facts(owner, [tea.pk])
    assert deletions.finish_deletion(gone.pk, gone.expires_at + deletions.UNDO_GRACE)
    call_command("restore", str(tmp_path / "mine.backup"))
    assert not texts()


# -- leftovers


def test_a_start_removes_what_killed_processes_left_and_nothing_that_is_in_use(tmp_path):
    names = [
        "working-dead/memoryapp.sqlite3",
        "tmpab12/memoryapp.sqlite3",
        "imports/1/a",
        "incoming/b.upload",
    ]
    for name in [*names, "parked/c.state", "old.backup.part", "mine.backup", "memoryapp.sqlite3"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("words")
    with leftovers.hold_working_folder(tmp_path) as living:
        (living / "memoryapp.sqlite3").write_text("words")
        found = {path.name for path in leftovers.find_leftovers(tmp_path)}
        assert found == {"working-dead", "tmpab12", "old.backup.part"}
        leftovers.remove_leftovers(tmp_path)
        assert (living / "memoryapp.sqlite3").exists()
    rest = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert rest == {"mine.backup", "memoryapp.sqlite3"}


def test_a_backup_that_is_being_written_is_no_leftover(data_folder, tmp_path, monkeypatch):
    seen = []
    real = backups._copy

    def look(source, target):
        seen.extend(leftovers.find_leftovers(data_folder))
        real(source, target)

    monkeypatch.setattr(backups, "_copy", look)
    backups.back_up(data_folder / "mine.backup")
    assert seen == []


def test_former_data_stays_until_it_is_removed_on_request(data_folder, backup, capsys):
    call_command("restore", str(backup))
    former = leftovers.find_former_data(data_folder)
    assert [path.name.split("-before-")[0] for path in former] == ["memoryapp", "secret_key"]
    leftovers.remove_leftovers(data_folder)
    assert leftovers.find_former_data(data_folder) == former
    call_command("doctor", "--remove-former")
    assert leftovers.find_former_data(data_folder) == []


def test_delete_everything_leaves_no_word_in_any_file(data_folder, backup, tmp_path):
    owner = local_owner()
    word = "Achterberg"
    fact = add_fact(owner, f"My therapist is called {word}")
    Fact.objects.filter(pk=fact.pk).update(quote=f"{word} it is")
    connection.close()
    shutil.copy(data_folder / "memoryapp.sqlite3", data_folder / "memoryapp-before-20260101-000000.sqlite3")
    pressed = deletions.erase_account(owner)
    assert deletions.finish_deletion(pressed.pk, pressed.expires_at + deletions.UNDO_GRACE)
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    holding = [
        path.name for path in data_folder.rglob("*") if path.is_file() and word.encode() in path.read_bytes()
    ]
    assert holding == []
