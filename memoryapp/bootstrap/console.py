"""Progress output, and running long programs with their output in a log."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from memoryapp.base.env import ROOT

_POLL_SECONDS = 0.2
_LOG_EVERY_SECONDS = 30
_GRACE_SECONDS = 5


def say(text: str) -> None:
    """Print a line and flush."""
    print(text, flush=True)


def format_duration(seconds: float) -> str:
    """Return seconds as minutes and seconds, such as 3:07."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


class Ticker:
    """Shows a step's progress: one line that is redrawn on a terminal, a line every 30 seconds in a log."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._live = sys.stdout.isatty()
        self._start = time.monotonic()
        self._next = _LOG_EVERY_SECONDS if not self._live else 0.0
        if not self._live:
            say(f"{label} …")

    def tick(self, detail: Callable[[], str]) -> None:
        """Redraw when it is time; call it often. `detail` is called only then."""
        seconds = time.monotonic() - self._start
        if seconds < self._next:
            return
        text = f"{format_duration(seconds)}  {detail()}".rstrip()
        if self._live:
            self._next = seconds + 0.5
            # A line that wraps cannot be redrawn.
            line = f"{self._label} … {text}"[: shutil.get_terminal_size().columns - 1]
            print(f"\r{line}\x1b[K", end="", flush=True)
        else:
            self._next = seconds + _LOG_EVERY_SECONDS
            say(f"  {text}")

    def end(self, good: bool) -> None:
        """Print the final line."""
        seconds = format_duration(time.monotonic() - self._start)
        if self._live:
            say(f"\r{self._label} … {'done' if good else 'failed'} in {seconds}\x1b[K")
        elif good:
            say(f"  done in {seconds}")


def run_logged(
    label: str,
    command: Sequence[str | Path],
    log: Path,
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path = ROOT,
    keep: Sequence[int] = (),
    detail: Callable[[], str] = str,
) -> tuple[int, str]:
    """Run a program with its output in `log`; return its exit code and its output.

    `env` is added to this process's environment. `keep` are descriptors of locks that the program inherits,
    so that the locks are kept when this process is killed. When this process is interrupted, the program and
    its children are stopped too.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    ticker = Ticker(label)
    good = False
    with log.open("wb") as output:
        child = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(env or {})},
            cwd=cwd,
            pass_fds=tuple(keep) if sys.platform != "win32" else (),
            start_new_session=True,
        )
        try:
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    good = child.wait(timeout=_POLL_SECONDS) == 0
                    break
                ticker.tick(detail)
        finally:
            _stop(child)
            ticker.end(good)
    return child.returncode, log.read_text(errors="replace")


def _stop(child: "subprocess.Popen[bytes]") -> None:
    if child.poll() is not None:
        return
    if sys.platform == "win32":
        child.kill()
        return
    # SIGINT first: pip removes its temporary folders then. SIGKILL for programs that ignore it.
    for number in (signal.SIGINT, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=_GRACE_SECONDS)


@contextlib.contextmanager
def stop_on_signals() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into KeyboardInterrupt until the block ends, so that the running step is
    stopped as by Ctrl-C.
    """

    def stop(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    names = ("SIGTERM", "SIGHUP")
    old = {number: signal.signal(number, stop) for name in names if (number := getattr(signal, name, None))}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
