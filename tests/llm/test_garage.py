"""Prefixes that memory has no room for wait in files, and nothing of them is left behind."""

from __future__ import annotations

import numpy as np
import pytest

from chat.llm.garage import Garage
from chat.llm.parking import Parked, ParkingLot


def car(size: int, tokens: list[int] | None = None) -> Parked:
    return Parked(tokens or [size], np.arange(size, dtype=np.uint8))


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "parked"


def test_what_memory_has_no_room_for_comes_back_from_its_file_byte_for_byte(folder):
    lot = ParkingLot(10, Garage(folder, 100))
    lot.put("a", car(9, [1, 2]))
    lot.put("b", car(9))
    lot.settle()
    assert len(list(folder.iterdir())) == 1
    taken = lot.take("a")
    assert taken is not None
    assert (taken.tokens, taken.state.tolist()) == ([1, 2], list(range(9)))
    assert list(folder.iterdir()) == []


def test_the_folder_is_for_its_owner_alone_and_has_a_budget_of_its_own(folder):
    garage = Garage(folder, 20)
    for name in "abc":
        garage.put(name, [1], np.zeros(9, np.uint8))
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [name in garage for name in "abc"] == [False, True, True]
    assert garage.used() == sum(f.stat().st_size for f in folder.iterdir()) == 18


def test_a_forgotten_prefix_leaves_no_file(folder):
    lot = ParkingLot(0, Garage(folder, 100))
    lot.put("a", car(9))
    lot.settle()
    assert "a" in lot
    lot.forget("a")
    assert "a" not in lot
    assert list(folder.iterdir()) == []


def test_what_another_process_left_is_removed_at_the_start_and_everything_at_the_end(folder):
    folder.mkdir()
    (folder / "old.state").write_bytes(b"words")
    garage = Garage(folder, 100)
    assert not folder.exists()
    garage.put("a", [1], np.zeros(9, np.uint8))
    garage.close()
    assert not folder.exists()


def test_a_damaged_or_missing_file_is_no_prefix(folder):
    garage = Garage(folder, 100)
    for name in "ab":
        garage.put(name, [1], np.zeros(9, np.uint8))
    first, second = sorted(folder.iterdir())
    first.unlink()
    second.write_bytes(b"half")
    assert garage.take("a") is None
    assert garage.take("b") is None


def test_a_folder_that_cannot_be_written_only_means_that_it_is_read_again(tmp_path):
    (tmp_path / "parked").write_text("a file where a folder should be")
    garage = Garage(tmp_path / "parked" / "deeper", 100)
    garage.put("a", [1], np.zeros(9, np.uint8))
    assert "a" not in garage


def test_a_prefix_in_a_file_is_borrowed_from_as_one_in_memory(folder):
    lot = ParkingLot(0, Garage(folder, 100))
    lot.put("a", car(9, [1, 2, 3]))
    lot.settle()
    parked, length = lot.best_source([1, 2, 4])
    assert parked is not None
    assert (parked.tokens, length) == ([1, 2, 3], 2)
