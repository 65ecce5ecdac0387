"""A server started by a terminal ends with the terminal, however the terminal ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest
from django.core.management.base import CommandError

from chat.management.commands import serve
from chat.terminal import connect


def test_the_server_ends_when_its_input_is_closed(monkeypatch):
    raised: list[int] = []
    ended = threading.Event()

    def raise_signal(number: int) -> None:
        raised.append(number)
        ended.set()

    monkeypatch.setattr(signal, "raise_signal", raise_signal)
    reads, writes = os.pipe()
    try:
        serve.end_with_pipe(reads)
        os.write(writes, b"what somebody types")
        assert not raised
        os.close(writes)
        assert ended.wait(10)
    finally:
        os.close(reads)
    assert raised == [signal.SIGTERM]


def test_the_terminal_keeps_the_input_of_its_server_open(monkeypatch, tmp_path):
    begun: dict[str, Any] = {}
    monkeypatch.setattr(
        connect.subprocess, "Popen", lambda command, **how: begun.update(how, command=command)
    )
    with (tmp_path / "errors").open("w+") as errors:
        connect._start_server("", errors)
    assert "--until-eof" in begun["command"]
    assert begun["stdin"] == connect.subprocess.PIPE


def test_if_another_server_starts_first_the_terminal_uses_it(monkeypatch, tmp_path):
    process = subprocess.Popen([sys.executable, "-c", "raise SystemExit(1)"], text=True)
    process.wait(10)
    with (tmp_path / "errors").open("w+") as errors:
        monkeypatch.setattr(connect, "find_server", lambda: "http://127.0.0.1:8001")
        assert connect._await_server(process, "", errors) == "http://127.0.0.1:8001"
        errors.write("CommandError: memoryapp is running already (evaluate, process 7).\n")
        monkeypatch.setattr(connect, "find_server", lambda: "")
        with pytest.raises(CommandError, match="evaluate, process 7"):
            connect._await_server(process, "", errors)
