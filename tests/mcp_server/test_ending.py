"""The process ends with its assistant, and when a person presses Ctrl-C, also while it waits for a line."""

from __future__ import annotations

import json
import os
import signal
import subprocess

import pytest

from memoryapp.env import ROOT

from .assistants import COMMAND

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def test_it_ends_quietly_where_nobody_reads_its_answers(tmp_path):
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    env = {**os.environ, "DATA_DIR": str(tmp_path)}
    with subprocess.Popen(COMMAND, cwd=ROOT, env=env, text=True, **pipes) as process:
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
def test_it_ends_at_once_and_quietly(tmp_path, end, code):
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    env = {**os.environ, "DATA_DIR": str(tmp_path)}
    with subprocess.Popen(COMMAND, cwd=ROOT, env=env, text=True, **pipes) as process:
        try:
            process.stdin.write(json.dumps(PING) + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == 1
            end(process)
            assert process.wait(10) == code
            assert (process.stdout.read(), process.stderr.read()) == ("", "")
        finally:
            process.kill()
