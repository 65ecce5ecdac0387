"""What the terminal shows of a step, and the sentence when it fails."""

import contextlib
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from memoryapp.bootstrap import cli, console
from memoryapp.bootstrap.errors import BootstrapError
from memoryapp.locking import locked, locked_if_free


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
            (PermissionError(13, "denied", "/opt/x"), "/opt/x may not be used"),
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
