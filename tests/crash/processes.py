"""The processes of a crash test: commands of the product, started by `tests.crash.serve`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from tests.page_client import ROOT

from .steps import KillStep


class StartedProcess:
    """A command that was started."""

    def __init__(self, processes: Processes, pid: int) -> None:
        self._processes, self._pid = processes, pid
        self._code: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        if self._code is None:
            self._code = self._processes.order(poll=self._pid)
        return self._code

    def wait(self) -> int:
        """Wait for the end and return the exit code; that of a killed process is below zero."""
        while self.poll() is None:
            time.sleep(0.02)
        return self._code or 0

    def kill(self) -> None:
        """Kill it, if it runs, and wait for the end."""
        self.send_signal(signal.SIGKILL)
        self.wait()

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self._pid, number)


class Processes:
    """Starts commands with one environment, and logs what they print into a file."""

    def __init__(self, environment: dict[str, str], log: Path) -> None:
        self._log = log
        # The program that gives orders and several threads may ask at once.
        self._lock = threading.Lock()
        command = [sys.executable, "-m", "tests.crash.serve"]
        pipe = subprocess.PIPE
        self._server = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, text=True
        )
        if self._answer() != "ready\n":
            raise RuntimeError("the product cannot be imported")

    def order(self, **order: Any) -> Any:
        """Give an order and return the answer."""
        with self._lock:
            if self._server.stdin is None:
                raise RuntimeError("there is no pipe")
            self._server.stdin.write(json.dumps(order) + "\n")
            self._server.stdin.flush()
            return json.loads(self._answer())

    def start(
        self, *command: str, step: KillStep | None = None, call: int = 1, clock: str = "", armed: bool = False
    ) -> StartedProcess:
        """Start a command; it dies at the step, and its clock shows another time."""
        order: dict[str, Any] = {"command": command, "log": str(self._log), "clock": clock}
        if step is not None:
            deadly = {"target": step.target, "moment": step.moment, "call": call, "armed": armed}
            order["step"] = deadly
        return StartedProcess(self, self.order(**order))

    def run(self, *command: str) -> None:
        """Run a command to its end. Raises RuntimeError where it fails."""
        before = self._log.stat().st_size if self._log.exists() else 0
        if code := self.start(*command).wait():
            told = self._log.read_text()[before:]
            raise RuntimeError(f"{' '.join(command)} ended with {code}: {told[-2000:]}")

    def close(self) -> None:
        """Kill all."""
        if self._server.stdin is not None:
            self._server.stdin.close()
        self._server.wait()

    def _answer(self) -> str:
        return self._server.stdout.readline() if self._server.stdout is not None else ""
