"""The process ends when its input is closed or on a signal, also while it waits for a line."""

from __future__ import annotations

import json
import os
import signal

import pytest

from .mcp_client import start_mcp

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def test_the_process_ends_quietly_when_its_output_is_closed(tmp_path):
    env = {**os.environ, "DATA_DIR": str(tmp_path)}
    with start_mcp(env) as process:
        try:
            process.stdout.close()
            process.stdin.write(json.dumps(PING) + "\n")
            process.stdin.flush()
            process.stdin.close()
            assert process.wait(10) == 0
            assert process.stderr.read() == ""
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (lambda process: process.stdin.close(), 0),
        (lambda process: process.send_signal(signal.SIGINT), -signal.SIGINT),
        (lambda process: process.send_signal(signal.SIGTERM), -signal.SIGTERM),
    ],
    ids=["closed input", "Ctrl-C", "told to end"],
)
def test_the_process_ends_at_once_and_quietly(tmp_path, end, code):
    env = {**os.environ, "DATA_DIR": str(tmp_path)}
    with start_mcp(env) as process:
        try:
            process.stdin.write(json.dumps(PING) + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == 1
            end(process)
            assert process.wait(10) == code
            assert (process.stdout.read(), process.stderr.read()) == ("", "")
        finally:
            process.kill()
