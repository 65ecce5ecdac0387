"""A server that a terminal has started does not outlive it, however the terminal goes."""

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
from chat.terminal import reaching


def test_a_server_ends_when_nobody_holds_the_other_end_of_its_input(monkeypatch):
    raised: list[int] = []
    ended = threading.Event()

    def raise_signal(number: int) -> None:
        raised.append(number)
        ended.set()

    monkeypatch.setattr(signal, "raise_signal", raise_signal)
    reads, writes = os.pipe()
    try:
        serve.end_with(reads)
        os.write(writes, b"what somebody types")
        assert not raised
        os.close(writes)
        assert ended.wait(10)
    finally:
        os.close(reads)
    assert raised == [signal.SIGTERM]


def test_a_terminal_holds_the_input_of_the_server_that_it_starts(monkeypatch, tmp_path):
    begun: dict[str, Any] = {}
    monkeypatch.setattr(
        reaching.subprocess, "Popen", lambda command, **how: begun.update(how, command=command)
    )
    with (tmp_path / "errors").open("w+") as errors:
        reaching._started("", errors)
    assert "--until-eof" in begun["command"]
    assert begun["stdin"] == reaching.subprocess.PIPE


def test_where_another_server_was_quicker_the_terminal_uses_that(monkeypatch, tmp_path):
    process = subprocess.Popen([sys.executable, "-c", "raise SystemExit(1)"], text=True)
    process.wait(10)
    with (tmp_path / "errors").open("w+") as errors:
        monkeypatch.setattr(reaching, "found", lambda: "http://127.0.0.1:8001")
        assert reaching._awaited(process, "", errors) == "http://127.0.0.1:8001"
        errors.write("CommandError: memoryapp is running already (evaluate, process 7).\n")
        monkeypatch.setattr(reaching, "found", lambda: "")
        with pytest.raises(CommandError, match="evaluate, process 7"):
            reaching._awaited(process, "", errors)
