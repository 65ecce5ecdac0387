"""States that do not fit into memory are stored in files, which are always removed."""

from __future__ import annotations

import numpy as np
import pytest

from chat.llm.state_cache import DiskCache, SavedState, StateCache, WantedPrefix


def state_of_size(size: int, tokens: list[int] | None = None) -> SavedState:
    return SavedState(tokens or [size], np.arange(size, dtype=np.uint8))


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "saved"


def test_a_state_moved_to_disk_is_restored_unchanged(folder):
    cache = StateCache(10, DiskCache(folder, 100))
    cache.put("a", state_of_size(9, [1, 2]))
    cache.put("b", state_of_size(9))
    cache.shrink_to_budget()
    assert len(list(folder.iterdir())) == 1
    taken = cache.take("a")
    assert taken is not None
    assert (taken.tokens, taken.state.tolist()) == ([1, 2], list(range(9)))
    assert list(folder.iterdir()) == []


def test_the_folder_is_private_and_has_its_own_budget(folder):
    disk = DiskCache(folder, 20)
    for name in "abc":
        disk.put(name, SavedState([1], np.zeros(9, np.uint8)))
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [name in disk for name in "abc"] == [False, True, True]
    assert disk.used_bytes() == sum(f.stat().st_size for f in folder.iterdir()) == 18


def test_a_forgotten_state_leaves_no_file(folder):
    cache = StateCache(0, DiskCache(folder, 100))
    cache.put("a", state_of_size(9))
    cache.shrink_to_budget()
    assert "a" in cache
    cache.forget("a")
    assert "a" not in cache
    assert list(folder.iterdir()) == []


def test_files_of_another_process_are_removed_at_the_start_and_all_files_at_the_end(folder):
    folder.mkdir()
    (folder / "old.state").write_bytes(b"words")
    disk = DiskCache(folder, 100)
    assert not folder.exists()
    disk.put("a", SavedState([1], np.zeros(9, np.uint8)))
    disk.close()
    assert not folder.exists()


def test_a_damaged_or_missing_file_is_no_state(folder):
    disk = DiskCache(folder, 100)
    for name in "ab":
        disk.put(name, SavedState([1], np.zeros(9, np.uint8)))
    first, second = sorted(folder.iterdir())
    first.unlink()
    second.write_bytes(b"half")
    assert disk.take("a") is None
    assert disk.take("b") is None


def test_a_folder_that_cannot_be_written_disables_the_cache(tmp_path):
    (tmp_path / "saved").write_text("a file where a folder should be")
    disk = DiskCache(tmp_path / "saved" / "deeper", 100)
    disk.put("a", SavedState([1], np.zeros(9, np.uint8)))
    assert "a" not in disk


def test_a_state_on_disk_is_found_like_one_in_memory(folder):
    cache = StateCache(0, DiskCache(folder, 100))
    cache.put("a", state_of_size(9, [1, 2, 3]))
    cache.shrink_to_budget()
    saved, length = cache.find_longest_prefix(WantedPrefix([1, 2, 4], owner="", public=0))
    assert saved is not None
    assert (saved.tokens, length) == ([1, 2, 3], 2)
