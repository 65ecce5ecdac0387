"""The output of a bootstrap step, and the error message if it fails."""

import contextlib
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from memoryapp.base.locking import hold_lock, try_lock
from memoryapp.bootstrap import cli, console
from memoryapp.bootstrap.errors import BootstrapError


class TestConsole:
    def test_a_program_s_output_goes_to_the_log(self, tmp_path: Path) -> None:
        log = tmp_path / "logs" / "x.log"
        code, output = console.run_logged("Trying", [sys.executable, "-c", "print('hello'); exit(3)"], log)
        assert (code, output) == (3, "hello\n")
        assert log.read_text() == "hello\n"

    def test_a_stopped_step_kills_its_child_processes(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A background child of a shell ignores Ctrl-C, so it must be killed."""
        seen = tmp_path / "pid"
        script = f"sleep 60 & echo $! > {seen}; wait"

        def stop_when_running() -> str:
            if seen.exists() and seen.read_text().strip():
                raise KeyboardInterrupt
            return ""

        monkeypatch.setattr(console, "_LOG_EVERY_SECONDS", 0)
        with pytest.raises(KeyboardInterrupt):
            console.run_logged("Sleeping", ["sh", "-c", script], tmp_path / "log", detail=stop_when_running)
        with contextlib.suppress(psutil.NoSuchProcess):
            psutil.Process(int(seen.read_text())).wait(timeout=10)

    def test_a_lock_is_held_by_the_child_process_that_inherits_it(self, tmp_path: Path) -> None:
        """A second start must wait for processes left by a killed one."""
        lock = tmp_path / "lock"
        with hold_lock(lock) as held:
            child = subprocess.Popen(["sleep", "60"], pass_fds=[held])
        try:
            with try_lock(lock) as free:
                assert not free
        finally:
            child.kill()
            child.wait()
        with try_lock(lock) as free:
            assert free


class TestErrorMessages:
    @pytest.mark.parametrize(
        ("error", "says"),
        [
            (BootstrapError("No compiler."), "No compiler."),
            (OSError(28, "No space left on device"), "disk is full"),
            (PermissionError(13, "denied", "/opt/x"), "/opt/x may not be used"),
            (KeyboardInterrupt(), "goes on where it stopped"),
        ],
    )
    def test_every_error_is_reported_in_a_sentence(
        self,
        error: BaseException,
        says: str,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        def fail(arguments: object) -> int:
            raise error

        monkeypatch.setitem(cli.STEPS, "start", fail)
        assert cli.main("start", []) in (1, 130)
        assert says in capsys.readouterr().err
