"""`python -m tests.crash --rounds N --seed S`: rounds of random work and a kill, and a table of the faults.

Every round two users work at the same time, and the server is killed (SIGKILL), or stopped for a moment
(SIGSTOP), at a random moment, also while it starts. A backup is killed now and then. After each restart what
was not acknowledged is sent again.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from tests.data_folder import build_environment, make_data_folder, query_database
from tests.llm.remote.fake_server import MODELS, only_when_streamed, run_fake_server, stream_pieces
from tests.page_client import ROOT, start_server_process

from .client import CrashClient, Interrupted
from .ledger import Ledger, find_faults

USERS = ("ann", "bob")
# Beyond every deadline of an undo.
_SETTLING_SECONDS = 14.0
_CREATE_USERS = """
from chat.actions.api_tokens import create_token
from chat.actions.owners import set_up_owner
from chat.models import User
for name in {names!r}:
    user = User.objects.create_user(name)
    set_up_owner(user)
    print(user.pk, create_token(user, "crash"))
"""


class Harness:
    """A data folder, its two users, and the server process that is running now."""

    def __init__(self, folder: Path, seed: int, model_url: str) -> None:
        self.folder = folder
        self.chance = random.Random(seed)
        make_data_folder(folder)
        self.environment = build_environment(
            folder,
            MODEL_DIR=str(folder / "none"),
            PROVIDER_URL=model_url,
            MODE="server",
            ALLOWED_HOSTS="127.0.0.1",
            SSL_REDIRECT="false",
        )
        made = self._manage("shell", "-v0", "-c", _CREATE_USERS.format(names=USERS)).split()
        self.clients = [
            CrashClient(Ledger(int(key)), token, random.Random(seed + int(key)))
            for key, token in zip(made[::2], made[1::2], strict=True)
        ]
        self.process: subprocess.Popen[bytes] | None = None

    def _manage(self, *command: str) -> str:
        ended = subprocess.run(
            [sys.executable, "manage.py", *command],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
        )
        if ended.returncode:
            raise RuntimeError(ended.stderr)
        return ended.stdout

    def start(self) -> None:
        """Start the server; one start in five is killed and repeated."""
        if self.chance.random() < 0.2:
            starting = subprocess.Popen(
                [sys.executable, "manage.py", "serve", "--no-browser", "--port", "0"],
                cwd=ROOT, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            time.sleep(self.chance.uniform(0.2, 3.0))
            starting.kill()
            starting.wait()
        self.process, base = start_server_process(
            self.environment, "manage.py", "serve", "--no-browser", "--port"
        )
        for client in self.clients:
            client.connect(base)

    def kill(self) -> str:
        """End the server at a random moment, in a random way; return which."""
        if self.process is None:
            raise RuntimeError("no server has been started")
        time.sleep(self.chance.uniform(0.05, 1.5))
        way = "kill"
        if self.chance.random() < 0.2:
            way = "stop and kill"
            self.process.send_signal(signal.SIGSTOP)
            time.sleep(0.3)
            self.process.send_signal(signal.SIGCONT)
            time.sleep(self.chance.uniform(0.0, 0.3))
        self.process.kill()
        self.process.wait()
        if self.chance.random() < 0.2:
            way += ", backup killed"
            backup = subprocess.Popen(
                [sys.executable, "manage.py", "backup", str(self.folder / "crash.backup")],
                cwd=ROOT, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            time.sleep(self.chance.uniform(0.2, 2.0))
            backup.kill()
            backup.wait()
        return way

    def run_round(self) -> tuple[str, list[str]]:
        """Work, end the server meanwhile, start it again and check; return how it ended and the faults."""
        over = threading.Event()
        threads = [threading.Thread(target=_work, args=(client, over)) for client in self.clients]
        for thread in threads:
            thread.start()
        way = self.kill()
        over.set()
        for thread in threads:
            thread.join()
        self.start()
        for client in self.clients:
            _settle(client)
        return way, find_faults(self.folder, [c.ledger for c in self.clients], settled=False)

    def finish(self) -> list[str]:
        """Let all deadlines pass, and return what is wrong then."""
        deadline = time.monotonic() + 60
        time.sleep(_SETTLING_SECONDS)
        while faults := find_faults(self.folder, [c.ledger for c in self.clients], settled=True):
            if time.monotonic() > deadline:
                break
            time.sleep(1)
        return faults + [f"left behind: {path}" for path in self.folder.glob("working-*")]

    def close(self) -> None:
        """End the server."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def _work(client: CrashClient, over: threading.Event) -> None:
    while not over.is_set():
        try:
            client.act()
        except Interrupted:
            return


def _settle(client: CrashClient) -> None:
    why = ""
    for _ in range(60):
        try:
            client.settle()
        except Interrupted as problem:
            why = str(problem) or repr(problem.__cause__)
            time.sleep(0.5)
        else:
            return
    raise RuntimeError(f"a request is not answered after the restart: {why}")


def run(rounds: int, seed: int, report: Any = print) -> list[str]:
    """Run so many rounds in a data folder of their own; print a line for each, and return all faults."""
    paths = {
        "v1__models": MODELS,
        "v1__chat__completions": only_when_streamed(lambda _body: stream_pieces("Once upon ", "a time.")),
    }
    with tempfile.TemporaryDirectory(prefix="memoryapp-crash-") as name, run_fake_server(**paths) as model:
        harness = Harness(Path(name) / "data", seed, model.url)
        faults: list[str] = []
        try:
            harness.start()
            for number in range(1, rounds + 1):
                way, found = harness.run_round()
                faults += found
                said = [len(client.ledger.messages) for client in harness.clients]
                facts = [len(client.ledger.facts) for client in harness.clients]
                report(
                    f"{number:4} {way:28} messages {said} facts {facts} {'; '.join(found) or 'nothing wrong'}"
                )
            faults += harness.finish()
            jobs = query_database(harness.folder, "SELECT count(*) FROM chat_job")[0][0]
            report(f"end: {jobs} jobs wait; {'; '.join(faults) or 'nothing lost, doubled or stuck'}")
        finally:
            harness.close()
    return faults


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.crash")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    sys.exit(1 if run(chosen.rounds, chosen.seed) else 0)
