"""The model that runs in this process: its engine is tested, and it is set up in the background."""

from __future__ import annotations

import importlib
import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import close_old_connections

from chat.errors import ProviderError
from chat.llm import weights
from memoryapp.base.error_text import explain_selftest_failure

logger = logging.getLogger(__name__)

PROBE_SECONDS = 300
# Seconds that a stopped preparation may take to end: pip removes its temporary files, and the bootstrap kills
# a compiler that has not ended after five seconds.
_ENDING_SECONDS = 15


def run_engine_probe(model: Path | None = None) -> tuple[dict[str, Any], str]:
    """Run the engine's self-test in a subprocess; returns its findings, and a sentence when it failed.

    A build that does not fit the processor crashes only the subprocess. Blocks for up to five minutes.
    """
    command = [sys.executable, "-m", "chat.llm.selftest", *([str(model)] if model else [])]
    try:
        finished = subprocess.run(
            command, capture_output=True, text=True, timeout=PROBE_SECONDS, cwd=settings.BASE_DIR
        )
    except subprocess.TimeoutExpired:
        return {}, f"The engine wrote nothing within {PROBE_SECONDS} seconds."
    if finished.returncode:
        return {}, explain_selftest_failure(finished.returncode, finished.stderr)
    return json.loads(finished.stdout.strip().splitlines()[-1]), ""


def check_engine(model: Path) -> None:
    """Run the self-test with a model; raises ProviderError with the reason. Blocks up to five minutes."""
    _found, sentence = run_engine_probe(model)
    if sentence:
        raise ProviderError("verbatim", sentence=sentence)


def is_set_up() -> bool:
    """Return whether this machine has the engine and the weights of the chosen model.

    True too where setting up would not help, such as for an unknown model: loading tells why.
    """
    importlib.invalidate_caches()
    if find_spec("llama_cpp") is None:
        return False
    try:
        return weights.is_present(weights.choose_model(os.environ))
    except weights.WeightsError:
        return True


@dataclass(frozen=True, slots=True)
class PreparationState:
    """What the preparation does: its last line of progress, why it failed ("" where it did not), and whether
    it is done.
    """

    is_running: bool
    progress: str = ""
    problem: str = ""
    is_done: bool = False


class Preparation:
    """Compiles the engine and fetches the weights in a process of its own. Callable from any thread.

    What it has done so far is kept when it is stopped, and the next one goes on there.
    """

    def __init__(self, *command: str) -> None:
        self._command = command
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._state = PreparationState(is_running=False)

    @property
    def state(self) -> PreparationState:
        """The present state."""
        return self._state

    def begin(self, then: Callable[[], None]) -> None:
        """Start the preparation unless it is running; call `then` in its thread after it has succeeded."""
        with self._lock:
            if self._state.is_running:
                return
            self._process = subprocess.Popen(
                self._command,
                cwd=settings.BASE_DIR,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            )
            self._state = PreparationState(is_running=True)
            follow = (self._process, then)
            threading.Thread(target=self._follow, args=follow, name="preparation", daemon=True).start()

    def stop(self) -> None:
        """Stop the preparation without calling `then`; wait until its processes have ended."""
        with self._lock:
            process, self._process = self._process, None
            self._state = PreparationState(is_running=False)
        if process is None:
            return
        process.terminate()
        try:
            process.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _follow(self, process: subprocess.Popen[str], then: Callable[[], None]) -> None:
        line = ""
        for text in process.stdout or ():
            line = text.strip() or line
            self._set(process, PreparationState(is_running=True, progress=line))
        code = process.wait()
        if code:
            self._set(
                process, PreparationState(is_running=False, problem=line or f"It ended with code {code}.")
            )
            return
        # `choose_server` calls `stop`, which needs this lock. So a server that is chosen at this moment is
        # stored after `then`, and stays chosen.
        with self._lock:
            if process is not self._process:
                return
            try:
                then()
            except Exception:  # nobody waits for this thread
                logger.exception("the model of this machine could not be used after it was set up")
            finally:
                self._state = PreparationState(is_running=False, is_done=True)
                close_old_connections()

    def _set(self, process: subprocess.Popen[str], state: PreparationState) -> None:
        """Set the state unless the process was stopped meanwhile."""
        with self._lock:
            if process is self._process:
                self._state = state


preparation = Preparation(sys.executable, "manage.py", "prepare")
