"""Two machines with one PostgreSQL database, one secret key and a scripted model server."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import psycopg

from tests.crash.processes import Processes, StartedProcess
from tests.data_folder import build_environment
from tests.llm.remote.fake_server import FakeServer, only_when_streamed, run_fake_server, stream_pieces
from tests.page_client import free_port
from tests.search.postgresql import run_postgresql

# Seconds after which a silent process is taken for dead; in the product 30.
DEAD_SECONDS = 2.0
_PATIENCE_SECONDS = 40.0
# The beginning of the prompt that asks for facts, and what the model writes of a message.
_EXTRACTION, _FACT = "You keep notes about one person", "tools: User keeps the {} in a drawer"
SLOWLY = "Tell it slowly."
_CREATE_USER = """
from pathlib import Path
from django.contrib.auth import get_user_model
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.conf import settings
from chat.actions.api_tokens import create_token
from chat.actions.owners import set_up_owner
user = get_user_model().objects.create_superuser("ann")
set_up_owner(user)
session = SessionStore()
session[SESSION_KEY], session[HASH_SESSION_KEY] = str(user.pk), user.get_session_auth_hash()
session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
session.save()
Path({target!r}).write_text(f"{{create_token(user, 'test')}} {{session.session_key}}")
"""
_CHOOSE = """
from chat.actions.installation import store_model_server
from memoryapp.base.provider import ServerChoice
store_model_server(ServerChoice({url!r}, {model!r}, "sk-secret"))
"""


class Machine:
    """A data folder, and the processes that run with it."""

    def __init__(self, cluster: Cluster, folder: Path, **variables: str) -> None:
        self._cluster, self.folder, self.log = cluster, folder / "data", folder / "log"
        (self.folder / "static").mkdir(parents=True)
        self.folder.chmod(0o700)
        self.environment = build_environment(self.folder, **cluster.variables, **variables)
        self.processes = Processes(self.environment, self.log)

    def serve(self) -> Server:
        """Start a server and wait until it answers."""
        port = free_port()
        process = self.processes.start("serve", "--no-browser", "--port", str(port))
        server = Server(process, f"http://127.0.0.1:{port}", self._cluster)
        wait_for(lambda: process.poll() is not None or server.is_answering())
        assert process.poll() is None, self.read_log()
        self._cluster.started.append(process)
        return server

    def start(self, *command: str) -> StartedProcess:
        """Start another command, which the test's end kills."""
        process = self.processes.start(*command)
        self._cluster.started.append(process)
        return process

    def run_code(self, code: str) -> None:
        """Run Python code in a process of its own."""
        self.processes.run("shell", "-v0", "-c", code)

    def read_log(self) -> str:
        """Return what all processes of this machine have printed."""
        return self.log.read_text() if self.log.exists() else ""


class Server:
    """A running server, as its one user sees it."""

    def __init__(self, process: StartedProcess, base: str, cluster: Cluster) -> None:
        self.process, self.base = process, base
        self.token = cluster.token
        csrf = secrets.token_hex(16)
        cookie = f"sessionid={cluster.session}; csrftoken={csrf}"
        self._api = httpx2.Client(headers={"Authorization": f"Bearer {cluster.token}"}, timeout=20)
        self.page = httpx2.Client(
            base_url=base,
            headers={"Cookie": cookie, "X-CSRFToken": csrf, "Origin": base},
            timeout=20,
        )

    def is_answering(self) -> bool:
        """Return whether the server answers."""
        try:
            return self._api.get(f"{self.base}/api/settings").status_code == 200
        except httpx2.HTTPError:
            return False

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request of the REST API, which must succeed, and return its answer."""
        answer = self._api.request(method, f"{self.base}/api/{path}", json=body)
        assert answer.status_code < 300, answer.text
        return answer.json()

    def begin_reply(self, text: str = SLOWLY) -> tuple[str, str]:
        """Send a message in a new conversation; return the conversation and its reply."""
        conversation = self.ask("POST", "conversations", {})["id"]
        sent = self.ask("POST", f"conversations/{conversation}/messages?wait=0", {"content": text})
        return conversation, sent["reply"]["id"]


class Cluster:
    """The database, the model server and the machines."""

    def __init__(self, folder: Path, url: str, model: FakeServer, stack: ExitStack) -> None:
        self._folder, self._url, self.model, self._stack = folder, url, model, stack
        self.started: list[StartedProcess] = []
        self.variables = {
            "DATABASE_URL": url,
            "SECRET_KEY": secrets.token_hex(32),
            "MODE": "server",
            "ALLOWED_HOSTS": "127.0.0.1",
            "SSL_REDIRECT": "false",
            # Without an embedder, which takes seconds to load in each process.
            "MODEL_DIR": str(folder / "none"),
            "EMBEDDER": "minilm-l6-int8",
            "PROCESS_DEAD_SECONDS": str(DEAD_SECONDS),
        }
        self.token = self.session = ""

    def add_machine(self, name: str, **variables: str) -> Machine:
        """Set up a machine with a data folder of its own."""
        machine = Machine(self, self._folder / name, **variables)
        self._stack.callback(machine.processes.close)
        return machine

    def create_user(self, machine: Machine) -> None:
        """Create the one user, an admin, with a token and a login."""
        target = self._folder / "user"
        machine.run_code(_CREATE_USER.format(target=str(target)))
        self.token, self.session = target.read_text().split()

    def choose_model(self, machine: Machine, model: str) -> None:
        """Choose a model of the scripted server, in a process that ends."""
        machine.run_code(_CHOOSE.format(url=f"{self.model.url}/v1", model=model))

    def rows(self, query: str, *values: object) -> list[Any]:
        """Run a query as another program would, and return its rows."""
        with psycopg.connect(self._url) as connection:
            found = connection.execute(query.encode(), values or None)
            return found.fetchall() if found.description else []

    def read_reply(self, key: str) -> tuple[str, str, str]:
        """Return state, reason and text of a reply."""
        (row,) = self.rows("SELECT state, failure, content FROM chat_message WHERE id = %s", key)
        return row[0], row[1], row[2]

    def kill_all(self) -> None:
        """Kill what a test has started, and wait until it is recovered at the next start."""
        for process in self.started:
            process.kill()
        self.started.clear()


def wait_for(condition: Callable[[], object], seconds: float = _PATIENCE_SECONDS) -> None:
    """Wait until the condition holds; fail after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


@contextmanager
def run_cluster(folder: Path) -> Iterator[Cluster]:
    """Run the database and the model server until the block ends. Raises PostgresqlUnavailable."""
    models = {"data": [{"id": "m"}, {"id": "other"}]}
    with ExitStack() as stack:
        url = stack.enter_context(run_postgresql())
        answer = only_when_streamed(_answer)
        model = stack.enter_context(run_fake_server(v1__models=models, v1__chat__completions=answer))
        yield Cluster(folder, url, model, stack)


def _answer(body: dict[str, Any]) -> Iterator[Any]:
    last = str(body["messages"][-1]["content"])
    if _EXTRACTION in str(body["messages"]):
        return stream_pieces(_FACT.format(last.split()[3]) if "I keep the" in last else "none")
    return _count() if SLOWLY in last else stream_pieces("Well ", "then.")


def _count() -> Iterator[Any]:
    """Yield the chunks of a reply that takes a minute."""
    for number in range(600):
        yield from stream_pieces(f"number {number}, ")
        time.sleep(0.1)
