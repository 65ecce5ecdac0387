"""Steps are done once, mended when they were left half done, and refuse what cannot work."""

import contextlib
import shutil
import socket
import sqlite3
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from memoryapp.bootstrap import browser, check, cli, console, engine, environment, preparation, stamps, start
from memoryapp.bootstrap.errors import BootstrapError
from memoryapp.bootstrap.lock import split_lock
from memoryapp.env import ROOT
from memoryapp.locking import locked, locked_if_free


@pytest.fixture(autouse=True)
def _stamps_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(stamps, "FOLDER", tmp_path / "stamps")


class TestStamps:
    def test_a_step_is_fresh_only_for_the_inputs_it_was_done_with(self) -> None:
        assert not stamps.is_fresh("runtime", "a")
        stamps.mark("runtime", "a")
        assert stamps.is_fresh("runtime", "a")
        assert not stamps.is_fresh("runtime", "b")

    def test_the_order_and_the_borders_of_inputs_count(self) -> None:
        assert len({stamps.digest("a", "b"), stamps.digest("b", "a"), stamps.digest("ab")}) == 3

    def test_a_tree_s_digest_sees_new_changed_and_removed_files(self, tmp_path: Path) -> None:
        folder = tmp_path / "tree"
        (folder / "sub").mkdir(parents=True)
        seen = [stamps.tree_digest(folder)]
        (folder / "sub" / "a.css").write_text("a")
        seen.append(stamps.tree_digest(folder))
        (folder / "sub" / "a.css").write_text("ab")
        seen.append(stamps.tree_digest(folder))
        (folder / "sub" / "a.css").unlink()
        assert stamps.tree_digest(folder) == seen[0]
        assert len(set(seen)) == 3


class TestEnvironment:
    def test_a_package_that_pip_did_not_finish_is_found(self, tmp_path: Path) -> None:
        for name, finished in (("whole-1.0.dist-info", True), ("half-1.0.dist-info", False)):
            (tmp_path / name).mkdir()
            (tmp_path / name / "METADATA").touch()
            if finished:
                (tmp_path / name / "INSTALLER").touch()
        (tmp_path / "~ld").mkdir()
        assert [path.name for path in environment.half_installed(tmp_path)] == ["half-1.0.dist-info", "~ld"]

    def test_half_installed_packages_go_before_pip_looks(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        half = tmp_path / "half-1.0.dist-info"
        half.mkdir()
        there_at_install: list[bool] = []
        monkeypatch.setattr(environment, "install_into", lambda *_: there_at_install.append(half.exists()))
        python = environment.Interpreter(Path("python"), "cp311", "linux-x86_64", tmp_path)
        environment.install(python, "runtime", "the program", "django==5\n", 0)
        environment.install(python, "runtime", "the program", "django==5\n", 0)
        assert there_at_install == [False]

    def test_an_interpreter_tells_about_itself(self) -> None:
        found = environment.ask(Path(sys.executable))
        assert found is not None
        assert found.tag == f"cp{sys.version_info.major}{sys.version_info.minor}"
        assert found.packages.is_dir()

    def test_an_interpreter_that_is_not_there_is_none(self, tmp_path: Path) -> None:
        assert environment.ask(tmp_path / "python") is None

    def test_a_failed_install_leaves_no_stamp(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(environment, "run", lambda *_, **__: (1, "No matching distribution found"))
        monkeypatch.setattr(environment, "cache_dir", lambda: tmp_path)
        python = environment.Interpreter(Path("python"), "cp311", "linux-x86_64", tmp_path)
        with pytest.raises(BootstrapError, match="does not hand out"):
            environment.install(python, "runtime", "the program", "django==5\n", 0)
        assert not (stamps.FOLDER / "runtime").exists()


class TestEngine:
    def test_without_a_compiler_the_sentence_comes_before_any_download(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("shutil.which", lambda name: None)
        monkeypatch.delenv("CC", raising=False)
        monkeypatch.delenv("CXX", raising=False)
        monkeypatch.setattr(engine, "run", lambda *_, **__: pytest.fail("nothing may run"))
        with pytest.raises(BootstrapError, match="no C compiler"):
            engine.require_compiler()

    def test_the_compiler_that_the_user_names_is_enough(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("shutil.which", lambda name: name if name in ("icx", "icpx") else None)
        monkeypatch.setenv("CC", "icx -O2")
        monkeypatch.setenv("CXX", "icpx")
        engine.require_compiler()

    def test_a_finished_wheel_is_installed_and_not_compiled_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        commands: list[list[str]] = []

        def run(label: str, command: list[object], log: Path, **_: object) -> tuple[int, str]:
            commands.append([str(part) for part in command])
            return 0, ""

        monkeypatch.setattr(engine, "cache_dir", lambda: tmp_path)
        monkeypatch.setattr(engine, "run", run)
        monkeypatch.setattr(engine, "current_key", lambda *_: "key")
        wheel = tmp_path / "engine" / "key" / "llama_cpp_python-0.3.36-py3-none-linux_x86_64.whl"
        wheel.parent.mkdir(parents=True)
        wheel.touch()
        python = environment.Interpreter(Path("python"), "cp311", "linux-x86_64", tmp_path)
        lock = split_lock((ROOT / "requirements.txt").read_text())
        assert engine.ensure(python, lock, 0) == "key"
        assert engine.ensure(python, lock, 0) == "key"
        assert len(commands) == 1
        assert commands[0][-1] == str(wheel)
        assert "--no-index" in commands[0]

    def test_compiling_leaves_only_the_wheel_and_its_logs(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ran: dict[str, dict[str, str]] = {}

        def run(
            label: str, command: list[object], log: Path, *, env: dict[str, str], **_: object
        ) -> tuple[int, str]:
            ran[label] = env
            words = [str(word) for word in command]
            if "download" in words:
                assert "--require-hashes" in words
                source = tmp_path / "llama_cpp_python-0.3.36"
                source.mkdir()
                (source / "pyproject.toml").touch()
                with tarfile.open(Path(words[-1]) / "llama.tar.gz", "w:gz") as archive:
                    archive.add(source, source.name)
                shutil.rmtree(source)
            else:
                assert (Path(words[-1]) / "pyproject.toml").exists()
                out = Path(words[words.index("--wheel-dir") + 1])
                out.mkdir()
                (out / "llama_cpp_python-0.3.36-py3-none-linux_x86_64.whl").touch()
            return 0, ""

        def make(folder: Path, *_: object) -> None:
            folder.mkdir(parents=True)

        monkeypatch.setattr(engine, "run", run)
        monkeypatch.setattr(environment, "make", make)
        monkeypatch.setattr(environment, "install_into", lambda *_: None)
        monkeypatch.setattr(engine, "require_compiler", lambda: None)
        monkeypatch.setenv("CMAKE_ARGS", "-DMINE=1")
        python = environment.Interpreter(Path("python"), "cp311", "linux-x86_64", tmp_path)
        lock = split_lock((ROOT / "requirements.txt").read_text())
        wheel = engine.build(tmp_path, python, lock, [0])
        assert ran["Compiling"]["CMAKE_ARGS"] == "-DMINE=1"
        assert {path.name for path in tmp_path.iterdir()} == {wheel.name, "engine.txt", "flags.txt"}

    def test_a_full_disk_is_noticed_before_compiling(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(engine, "NEEDED_BYTES", 10**18)
        python = environment.Interpreter(Path("python"), "cp311", "linux-x86_64", tmp_path)
        lock = split_lock((ROOT / "requirements.txt").read_text())
        with pytest.raises(BootstrapError, match="Make room"):
            engine.build(tmp_path, python, lock, [0])


class TestStart:
    @pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost", "::1", "[::1]"])
    def test_loopback_is_allowed(self, host: str) -> None:
        start.check_host(host, {})

    @pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::", "example.org"])  # noqa: S104
    def test_other_addresses_need_server_mode(self, host: str) -> None:
        with pytest.raises(BootstrapError, match="MODE=server"):
            start.check_host(host, {})
        start.check_host(host, {"MODE": "server"})

    @pytest.fixture
    def taken(self) -> Iterator[int]:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            yield listener.getsockname()[1]

    def test_a_taken_port_names_another_one(self, taken: int) -> None:
        with pytest.raises(BootstrapError, match=f"Port {taken} is taken.*--port {taken + 1}"):
            start.check_port("127.0.0.1", taken)

    def test_a_free_port_is_fine(self, taken: int) -> None:
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            free = other.getsockname()[1]
        start.check_port("127.0.0.1", free)

    @pytest.mark.parametrize("port", [0, -1, 65536])
    def test_a_number_that_is_no_port_is_refused(self, port: int) -> None:
        with pytest.raises(BootstrapError, match="is no port"):
            start.check_port("127.0.0.1", port)

    @pytest.mark.parametrize(
        ("model", "expected"),
        [
            (None, {"MODEL": "a", "MODEL_PATH": "/b.gguf"}),
            ("smollm2-135m", {"MODEL": "smollm2-135m"}),
            ("mine.gguf", {"MODEL_PATH": "mine.gguf"}),
        ],
    )
    def test_the_model_of_the_command_line_wins(self, model: str | None, expected: dict[str, str]) -> None:
        env = {"MODEL": "a", "MODEL_PATH": "/b.gguf"}
        preparation.choose_model(model, env)
        assert env == expected


class TestWeights:
    @pytest.fixture(autouse=True)
    def _no_weights(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MODEL_DIR", str(tmp_path / "models"))

    def test_what_is_to_be_fetched_is_none(self) -> None:
        assert preparation.find_weights(["smollm2-135m", "embedder"]) == [None, None]

    def test_a_file_of_one_s_own_is_found(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        own = tmp_path / "mine.gguf"
        own.write_bytes(b"GGUF")
        monkeypatch.setenv("MODEL_PATH", str(own))
        assert preparation.find_weights(["chat", "embedder"]) == [own, None]

    def test_an_unknown_model_is_told_before_anything_is_made(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MODEL", "gpt")
        with pytest.raises(BootstrapError, match="no model named 'gpt'"):
            preparation.find_weights(["chat", "embedder"])

    def test_the_chat_starts_without_an_embedder(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(preparation, "fetch_weights", lambda interpreter, names: False)
        python = environment.Interpreter(Path("python"), "cp311", "linux-x86_64", Path())
        assert preparation.ensure_model(python, [Path("mine.gguf"), None]) == Path("mine.gguf")
        assert "memory compares words" in capsys.readouterr().out

    def test_the_chat_does_not_start_without_its_model(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(preparation, "fetch_weights", lambda interpreter, names: False)
        python = environment.Interpreter(Path("python"), "cp311", "linux-x86_64", Path())
        with pytest.raises(BootstrapError):
            preparation.ensure_model(python, [None, None])


class TestDatabase:
    def test_a_database_that_is_not_there_has_seen_nothing(self, tmp_path: Path) -> None:
        assert preparation.applied_migrations(tmp_path / "none.sqlite3") is None

    def test_a_restored_older_database_is_migrated_again(self, tmp_path: Path) -> None:
        path = tmp_path / "db.sqlite3"
        with sqlite3.connect(path) as database:
            database.execute("CREATE TABLE django_migrations (app TEXT, name TEXT)")
            database.execute("INSERT INTO django_migrations VALUES ('chat', '0001_initial')")
        older = preparation.applied_migrations(path)
        with sqlite3.connect(path) as database:
            database.execute("INSERT INTO django_migrations VALUES ('chat', '0002_more')")
        assert older is not None
        assert preparation.applied_migrations(path) != older

    def test_a_file_that_is_no_database_has_seen_nothing(self, tmp_path: Path) -> None:
        path = tmp_path / "db.sqlite3"
        path.write_text("not a database")
        assert preparation.applied_migrations(path) is None


class TestTests:
    def test_browser_tests_run_in_a_process_of_their_own(self, tmp_path: Path) -> None:
        (tmp_path / "tests" / "e2e").mkdir(parents=True)
        (tmp_path / "tests" / "e2e" / "test_page.py").touch()
        first, second = check.plan([], tmp_path)
        assert "--ignore=tests/e2e" in first
        assert "--ignore=tests/benchmarks" in first
        assert second == ["tests/e2e"]

    def test_given_arguments_are_one_run(self, tmp_path: Path) -> None:
        assert check.plan(["-k", "undo"], tmp_path) == [["-k", "undo"]]

    @pytest.mark.parametrize(
        ("codes", "worst"), [([0, 0], 0), ([1, 0], 1), ([0, 2], 2), ([5, 0], 0), ([5, 5], 5), ([-9, 1], 9)]
    )
    def test_the_worst_exit_code_counts(self, codes: list[int], worst: int) -> None:
        assert check.worst(codes) == worst

    def test_the_chromium_that_is_named_wins(self, tmp_path: Path) -> None:
        mine = tmp_path / "my-chromium"
        mine.touch(mode=0o755)
        assert browser.find({"CHROMIUM": str(mine)}) == str(mine)
        assert browser.find({"CHROMIUM": str(tmp_path / "missing")}) is None

    def test_without_chromium_and_rights_the_command_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(browser, "find", lambda env: None)
        monkeypatch.setattr("os.geteuid", lambda: 1000)
        monkeypatch.delenv("CHROMIUM", raising=False)
        with pytest.raises(BootstrapError, match="CHROMIUM=<path>"):
            browser.ensure(0)


class TestConsole:
    def test_a_program_s_output_goes_to_the_log(self, tmp_path: Path) -> None:
        log = tmp_path / "logs" / "x.log"
        code, output = console.run("Trying", [sys.executable, "-c", "print('hello'); exit(3)"], log)
        assert (code, output) == (3, "hello\n")
        assert log.read_text() == "hello\n"

    def test_a_stopped_step_takes_its_whole_family_with_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A shell's child in the background ignores Ctrl-C."""
        seen = tmp_path / "pid"
        script = f"sleep 60 & echo $! > {seen}; wait"

        def stop_when_running() -> str:
            if seen.exists() and seen.read_text().strip():
                raise KeyboardInterrupt
            return ""

        monkeypatch.setattr(console, "_LOG_EVERY_SECONDS", 0)
        with pytest.raises(KeyboardInterrupt):
            console.run("Sleeping", ["sh", "-c", script], tmp_path / "log", detail=stop_when_running)
        with contextlib.suppress(psutil.NoSuchProcess):
            psutil.Process(int(seen.read_text())).wait(timeout=10)

    def test_a_lock_is_kept_by_the_program_that_inherits_it(self, tmp_path: Path) -> None:
        """So that a second start waits for what a killed one has left running."""
        lock = tmp_path / "lock"
        with locked(lock) as held:
            child = subprocess.Popen(["sleep", "60"], pass_fds=[held])
        try:
            with locked_if_free(lock) as free:
                assert not free
        finally:
            child.kill()
            child.wait()
        with locked_if_free(lock) as free:
            assert free


class TestSentences:
    @pytest.mark.parametrize(
        ("error", "says"),
        [
            (BootstrapError("No compiler."), "No compiler."),
            (OSError(28, "No space left on device"), "disk is full"),
            (PermissionError(13, "denied", "/opt/x"), "/opt/x cannot be written to"),
            (KeyboardInterrupt(), "goes on where it stopped"),
        ],
    )
    def test_whatever_stops_a_command_is_a_sentence(
        self,
        error: BaseException,
        says: str,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        def fail(arguments: object) -> int:
            raise error

        monkeypatch.setitem(cli.COMMANDS, "start", fail)
        assert cli.main("start", []) in (1, 130)
        assert says in capsys.readouterr().err
