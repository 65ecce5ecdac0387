"""A restore into PostgreSQL takes the backup's secret key when it has succeeded, and keeps the former one."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from chat.actions.installation import OtherSecretKey, require_same_secret
from chat.management import backups, server_backups
from chat.models import Fact, Installation

from .filled_folder import use_folder


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.fixture
def backup(here: Path, tmp_path: Path) -> Path:
    """A backup of another machine with a key of its own."""
    backups.back_up(tmp_path / "mine.backup")
    return tmp_path / "mine.backup"


@pytest.fixture
def new_machine(backup: Path, tmp_path: Path, url: str):
    """A data folder with a key, whose empty database in PostgreSQL this process uses."""
    folder = tmp_path / "new"
    folder.mkdir(mode=0o700)
    (folder / "secret_key").write_text("the key of the new machine")
    with use_folder(folder, url):
        yield folder


def test_a_restore_that_fails_changes_no_key(new_machine, backup, monkeypatch):
    def fail(*_arguments: object) -> None:
        raise CommandError("It fails.")

    monkeypatch.setattr(server_backups, "copy_everything", fail)
    with pytest.raises(CommandError, match="It fails"):
        call_command("restore", str(backup))
    assert [path.read_text() for path in new_machine.glob("secret_key*")] == ["the key of the new machine"]


def test_a_restore_keeps_the_former_key_aside(new_machine, backup, capsys):
    call_command("restore", str(backup))
    assert (new_machine / "secret_key").read_text() == "the key of the filled folder"
    (aside,) = new_machine.glob("secret_key-before-*")
    assert aside.read_text() == "the key of the new machine"
    assert str(aside) in capsys.readouterr().out


@pytest.fixture
def kill_before_key(monkeypatch):
    """A function that restores a backup, and is killed when it would write the key."""

    def kill(*_arguments: object) -> None:
        raise Killed

    def restore(backup: Path, folder: Path, url: str) -> None:
        with monkeypatch.context() as patch, use_folder(folder, url):
            patch.setattr(server_backups, "write_private_file", kill)
            with pytest.raises(Killed):
                call_command("restore", str(backup))

    return restore


def test_a_restore_killed_before_it_writes_the_key_can_be_repeated_in_the_same_second(
    new_machine, backup, url, kill_before_key, monkeypatch
):
    now = timezone.localtime()
    monkeypatch.setattr(timezone, "localtime", lambda *_arguments: now)
    kill_before_key(backup, new_machine, url)
    with use_folder(new_machine, url):
        assert Fact.objects.exists()
        with pytest.raises(OtherSecretKey):
            require_same_secret()
        call_command("restore", str(backup))
    with use_folder(new_machine, url):
        require_same_secret()
    assert (new_machine / "secret_key").read_text() == "the key of the filled folder"


def test_a_killed_restore_of_an_older_backup_lets_no_process_start_with_the_former_key(
    here, new_machine, tmp_path, url, kill_before_key
):
    with use_folder(here):
        Installation.objects.all().delete()
        backups.back_up(tmp_path / "older.backup")
    kill_before_key(tmp_path / "older.backup", new_machine, url)
    with use_folder(new_machine, url), pytest.raises(OtherSecretKey):
        require_same_secret()


def test_a_database_that_was_made_with_a_third_key_is_not_replaced(new_machine, backup, filled_url):
    with use_folder(new_machine, filled_url):
        Installation.objects.update(key_fingerprint="of a third key")
        with pytest.raises(CommandError, match="another secret key"):
            call_command("restore", str(backup))
    assert (new_machine / "secret_key").read_text() == "the key of the new machine"
