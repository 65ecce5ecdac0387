"""A file with everything of somebody in it is whole or not there, and for its owner's eyes alone."""

from __future__ import annotations

import os
import stat

import pytest
from django.core.management import CommandError

from chat.management.outputs import whole_file


def test_it_takes_the_place_of_an_earlier_one_when_it_is_whole(tmp_path):
    target = tmp_path / "mine.json"
    target.write_text("earlier")
    with whole_file(target) as half:
        half.write_text("new")
        assert target.read_text() == "earlier"
    assert target.read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.json"]


@pytest.mark.parametrize("why", [KeyboardInterrupt, SystemExit, RuntimeError])
def test_whatever_ends_it_leaves_nothing_behind(tmp_path, why):
    target = tmp_path / "mine.json"
    target.write_text("earlier")

    def break_off() -> None:
        with whole_file(target) as half:
            half.write_text("ne")
            raise why

    with pytest.raises(why):
        break_off()
    assert target.read_text() == "earlier"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.json"]


def test_what_another_time_left_behind_is_open_to_nobody(tmp_path):
    left = tmp_path / "mine.json.part"
    left.write_text("left")
    left.chmod(0o644)
    with whole_file(tmp_path / "mine.json") as half:
        assert half.read_text() == ""
        assert stat.S_IMODE(half.stat().st_mode) == 0o600


def test_a_folder_or_a_device_is_no_file(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for target in (tmp_path, pipe):
        with pytest.raises(CommandError, match="is no file"), whole_file(target):
            pass
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_place_that_is_not_there_is_named(tmp_path):
    target = tmp_path / "none" / "mine.json"
    with pytest.raises(CommandError, match=r"mine\.json cannot be written: No such file"), whole_file(target):
        pass
