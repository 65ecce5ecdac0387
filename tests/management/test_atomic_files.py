"""Private files are written atomically: complete or not at all, and readable only by their owner."""

from __future__ import annotations

import os
import stat

import pytest
from django.core.management import CommandError

from chat.management.arguments import write_atomically


def test_a_complete_file_replaces_an_earlier_one(tmp_path):
    target = tmp_path / "mine.json"
    target.write_text("earlier")
    with write_atomically(target) as half:
        half.write_text("new")
        assert target.read_text() == "earlier"
    assert target.read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.json"]


@pytest.mark.parametrize("why", [KeyboardInterrupt, SystemExit, RuntimeError])
def test_an_interrupted_write_leaves_nothing_behind(tmp_path, why):
    target = tmp_path / "mine.json"
    target.write_text("earlier")

    def interrupt_write() -> None:
        with write_atomically(target) as half:
            half.write_text("ne")
            raise why

    with pytest.raises(why):
        interrupt_write()
    assert target.read_text() == "earlier"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.json"]


def test_a_leftover_partial_file_is_emptied_and_made_private(tmp_path):
    left = tmp_path / "mine.json.part"
    left.write_text("left")
    left.chmod(0o644)
    with write_atomically(tmp_path / "mine.json") as half:
        assert half.read_text() == ""
        assert stat.S_IMODE(half.stat().st_mode) == 0o600


def test_a_folder_or_a_special_file_is_refused(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for target in (tmp_path, pipe):
        with pytest.raises(CommandError, match="is no file"), write_atomically(target):
            pass
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_missing_folder_is_named_in_the_error(tmp_path):
    target = tmp_path / "none" / "mine.json"
    with (
        pytest.raises(CommandError, match=r"mine\.json cannot be written: No such file"),
        write_atomically(target),
    ):
        pass
