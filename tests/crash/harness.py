"""A data folder, its two users, and the server process that is running now."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.data_folder import build_environment
from tests.page_client import free_port

from .accounts import create_users
from .acts import act
from .client import CrashClient, Interrupted
from .database import open_database
from .disk import open_disk
from .invariants import find_faults
from .processes import Processes, StartedProcess
from .steps import KillStep

USERS = ("ann", "bob")
# Beyond every deadline of an undo.
_SETTLING_SECONDS = 11.0
_PATIENCE_SECONDS = 60.0
_LONGEST_WORK_SECONDS = 20.0


class Harness:
    """Starts the server, lets the users work, and checks."""

    def __init__(
        self, folder: Path, seed: int, model_url: str, database: str, *, share_of_work: float = 1.0
    ) -> None:
        self._share_of_work = share_of_work
        self._stack = ExitStack()
        self.chance = random.Random(seed)
        # A folder in the way of the data folder, which must not exist before.
        self.has_disk = self._stack.enter_context(open_disk(folder))
        self.folder = folder / "data"
        self.log = folder / "log"
        self.database = self._stack.enter_context(open_database(database, self.folder))
        environment = build_environment(
            self.folder,
            MODEL_DIR=str(folder / "none"),
            PROVIDER_URL=model_url,
            MODE="server",
            QUOTA_MESSAGES_A_MINUTE="0",
            ALLOWED_HOSTS="127.0.0.1",
            SSL_REDIRECT="false",
            **self.database.variables,
        )
        self.processes = Processes(environment, self.log)
        self._stack.callback(self.processes.close)
        if self.database.variables:
            self.processes.run("migrate", "-v0")
        self.clients = create_users(self.processes, folder / "users", USERS, seed)
        self.server: StartedProcess | None = None

    def start(self, *, step: KillStep | None = None, clock: str = "") -> None:
        """Start the server and wait until it answers; it dies at the step once it has got SIGUSR1."""
        port = free_port()
        call = self.chance.randint(1, step.calls) if step is not None else 1
        command = ("serve", "--no-browser", "--port", str(port))
        self.server = self.processes.start(*command, step=step, call=call, clock=clock)
        for client in self.clients:
            client.connect(f"http://127.0.0.1:{port}")
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not self.clients[0].is_answered():
            if self.server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the server does not start: {self.log.read_text()[-3000:]}")
            time.sleep(0.05)

    @contextmanager
    def work(self, preferred: str = "") -> Iterator[None]:
        """Let the users work until the block ends."""
        over = threading.Event()
        threads = [
            threading.Thread(target=_work, args=(client, over, preferred), daemon=True)
            for client in self.clients
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            over.set()
            for thread in threads:
                thread.join(60)

    def let_work(self, most: int) -> None:
        """Wait until some acts are done, at most so many, and for a moment more, so that one is at work."""
        count = self.chance.randint(most // 3, most) * self._share_of_work
        wanted = self.count_done().total() + round(count)
        deadline = time.monotonic() + _LONGEST_WORK_SECONDS
        while self.count_done().total() < wanted and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(self.chance.uniform(0.0, 0.4))

    def is_running(self) -> bool:
        """Return whether the server has not ended."""
        return self.server is not None and self.server.poll() is None

    def signal(self, number: int) -> None:
        """Send the server a signal, unless it has ended."""
        if self.server is not None:
            self.server.send_signal(number)

    def kill(self) -> None:
        """Kill the server, if it runs."""
        if self.server is not None:
            self.server.kill()

    def settle(self) -> None:
        """Let the users send again what was not acknowledged, until all is. Raises RuntimeError."""
        for client in self.clients:
            self._settle(client)

    def _settle(self, client: CrashClient) -> None:
        deadline, why = time.monotonic() + _PATIENCE_SECONDS, ""
        while time.monotonic() < deadline:
            try:
                client.settle()
            except Interrupted as problem:
                why = str(problem)
                time.sleep(0.2)
            else:
                return
        raise RuntimeError(f"a request is not answered after the end of the trouble: {why}")

    def check(self, *, settled: bool = False) -> list[str]:
        """Return what is wrong now."""
        return find_faults(self.database, [client.ledger for client in self.clients], settled=settled)

    def finish(self) -> list[str]:
        """Let all deadlines pass, and return what is wrong then."""
        time.sleep(_SETTLING_SECONDS)
        faults = _repeat_while_faulty(lambda: self.check(settled=True))
        left = [*self.folder.glob("working-*"), *self.folder.glob("*.part")]
        left += self.folder.glob("locks/importing-*")
        return faults + [f"left behind: {path.name}" for path in left]

    def count_done(self) -> Counter[str]:
        """Return the acknowledged acts of all users so far."""
        return sum((client.ledger.done for client in self.clients), Counter())

    def close(self) -> None:
        """End all processes, and remove the disk."""
        self._stack.close()


def _repeat_while_faulty(check: Callable[[], list[str]]) -> list[str]:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while (faults := check()) and time.monotonic() < deadline:
        time.sleep(1)
    return faults


def _work(client: CrashClient, over: threading.Event, preferred: str) -> None:
    while not over.is_set():
        try:
            client.settle()
            act(client, preferred)
        except Interrupted:
            over.wait(0.1)
