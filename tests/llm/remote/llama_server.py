"""Runs a real llama-server with a model, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from tests.page_client import free_port

_PROGRAM = """
import sys, threading, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.port, params.n_ctx = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
params.hostnames, params.n_parallel, params.warmup = ["127.0.0.1"], 2, False
params.cpuparams.n_threads = 2
params.embedding = "embeddings" in sys.argv
params.api_keys = [sys.argv[4]] if len(sys.argv) > 4 and sys.argv[4] else []
server = xllamacpp.Server(params)
print("serving", flush=True)
# Standard input closes when the parent process ends.
sys.stdin.read()
"""


class LlamaServer:
    """A server that can be started again on the same port after `kill`."""

    def __init__(self, model: Path, *, window: int = 512, key: str = "", port: int = 0) -> None:
        self._model, self._window, self._key = model, window, key
        self.port = port or free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The server's URL."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> LlamaServer:
        """Start the server and wait at most 60 s until it answers; its two slots share the context."""
        argv = [str(self._model), str(self.port), str(2 * self._window), self._key]
        self.process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, *argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 60
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the model's server did not start")
            time.sleep(0.05)
        return self

    def kill(self) -> None:
        """Kill the process, as a crash would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(10)
            self.process = None

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False
