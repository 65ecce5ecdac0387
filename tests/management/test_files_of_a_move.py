"""A move to a new data folder brings the secret key first, so that no kill leaves a database without it."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from chat.management.copying.journal import Journal

from .filled_folder import copy_folder, read_all


class Killed(BaseException):
    """Stands for the end of the process."""


def test_a_move_that_is_killed_at_its_end_has_brought_the_key(on_postgresql, new_folder, monkeypatch):
    drop = Journal.drop

    def kill(journal: Journal) -> None:
        drop(journal)
        journal._target.connection.commit()
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "drop", kill)
        with pytest.raises(Killed):
            call_command("move", to=f"sqlite://{new_folder}")
    assert read_all(new_folder) == read_all(on_postgresql)
    assert (new_folder / "secret_key").read_text() == settings.SECRET_KEY


def test_an_empty_key_is_filled(on_postgresql, new_folder):
    (new_folder / "secret_key").touch()
    call_command("move", to=f"sqlite://{new_folder}")
    assert (new_folder / "secret_key").read_text() == settings.SECRET_KEY


def test_a_folder_that_is_used_gets_no_key(on_postgresql, filled, tmp_path):
    used = copy_folder(filled, tmp_path / "used")
    (used / "secret_key").unlink()
    with pytest.raises(CommandError, match="not empty"):
        call_command("move", to=f"sqlite://{used}")
    assert not (used / "secret_key").exists()
