"""`manage.py serve` in server mode answers once it has connected the model's servers."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import pytest

from tests.data_folder import build_environment, make_data_folder
from tests.llm.remote.fake_server import MODELS, chat_endpoint, run_fake_server
from tests.page_client import ROOT, free_port
from tests.waiting import wait_until

pytestmark = pytest.mark.slow


def answers(port: int) -> bool:
    """Return whether the port accepts connections."""
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
    except ConnectionRefusedError:
        return False
    return True


def test_the_port_refuses_connections_until_the_model_is_connected(tmp_path: Path) -> None:
    released = threading.Event()

    def list_models(_body: object) -> object:
        released.wait(60)
        return MODELS

    make_data_folder(tmp_path / "data")
    port = free_port()
    with run_fake_server(v1__models=list_models, v1__chat__completions=chat_endpoint("Hello.")) as model:
        environment = build_environment(
            tmp_path / "data",
            **{
                "MODE": "server",
                "ALLOWED_HOSTS": "127.0.0.1",
                "SSL_REDIRECT": "false",
                "SECRET_KEY": "x" * 64,
            },
            MODEL_DIR=str(tmp_path / "none"),
            PROVIDER_URL=f"{model.url}/v1",
        )
        command = [sys.executable, "manage.py", "serve", "--no-browser", "--port", str(port)]
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
        try:
            wait_until(lambda: model.asked, 60)
            # All pages are imported beside it.
            assert not answers(port)
            released.set()
            wait_until(lambda: answers(port), 60)
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=20) as answer:
                assert answer.status == 200
        finally:
            released.set()
            process.terminate()
            process.wait(30)
