"""A server that shares its database answers once it has connected the model's servers."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from tests.data_folder import build_environment
from tests.llm.remote.fake_server import MODELS, chat_endpoint, run_fake_server
from tests.page_client import ROOT, free_port
from tests.search.postgresql import provide_postgresql
from tests.waiting import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def database() -> Iterator[str]:
    """The URL of an empty PostgreSQL database."""
    with provide_postgresql() as url:
        yield url


def answers(port: int) -> bool:
    """Return whether the port accepts connections."""
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
    except ConnectionRefusedError:
        return False
    return True


@dataclass
class Starting:
    """A memoryapp server; its model server answers only after `released` is set."""

    process: subprocess.Popen[bytes]
    port: int
    released: threading.Event


@pytest.fixture
def starting(database: str, tmp_path: Path) -> Iterator[Starting]:
    """A memoryapp server that has sent its first request to its model server and waits for the answer."""
    released = threading.Event()

    def list_models(_body: object) -> object:
        released.wait(60)
        return MODELS

    data, port = tmp_path / "data", free_port()
    (data / "static").mkdir(parents=True)
    data.chmod(0o700)
    with run_fake_server(v1__models=list_models, v1__chat__completions=chat_endpoint("Hello.")) as model:
        variables = {"MODE": "server", "ALLOWED_HOSTS": "127.0.0.1", "SSL_REDIRECT": "false"}
        variables |= {"SECRET_KEY": "x" * 64, "DATABASE_URL": database, "PROVIDER_URL": f"{model.url}/v1"}
        environment = build_environment(data, MODEL_DIR=str(tmp_path / "none"), **variables)
        manage = [sys.executable, "manage.py"]
        subprocess.run([*manage, "migrate", "-v0"], cwd=ROOT, env=environment, check=True)
        command = [*manage, "serve", "--no-browser", "--port", str(port)]
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
        try:
            wait_until(lambda: model.asked, 60)
            yield Starting(process, port, released)
        finally:
            released.set()
            process.kill()
            process.wait(30)


def test_the_port_refuses_connections_until_the_model_is_connected(starting: Starting) -> None:
    assert not answers(starting.port)
    starting.released.set()
    wait_until(lambda: answers(starting.port), 60)
    with urllib.request.urlopen(f"http://127.0.0.1:{starting.port}/ready", timeout=20) as answer:
        assert answer.status == 200


def test_a_server_that_is_stopped_while_it_waits_leaves_no_row(starting: Starting, database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        count = lambda: connection.execute("SELECT count(*) FROM chat_process").fetchone()  # noqa: E731
        assert count() == (1,)
        starting.process.terminate()
        assert starting.process.wait(30) == 0
        assert count() == (0,)
