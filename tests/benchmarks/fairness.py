"""One person with many requests beside nine with one each: `python -m tests.benchmarks.fairness`.

Starts the real server in server mode with a model server that writes one reply at a time, at a known speed.
One person sends 30 messages at once, then nine others send one each. Prints how long each of the nine waited
for the first word, and how many replies of the first person were begun meanwhile. Exits with 1 where one of
the nine waited for more than one reply of the first person.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_FOLDER = Path(tempfile.mkdtemp(prefix="memoryapp-benchmark-")) / "data"
os.environ["DATA_DIR"] = str(_FOLDER)
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")
os.environ.setdefault("LOG_LEVEL", "ERROR")

from tests.data_folder import build_environment, make_data_folder  # noqa: E402

make_data_folder(_FOLDER)

import django  # noqa: E402

django.setup()

from chat.actions.api_tokens import create_token  # noqa: E402
from chat.models import User  # noqa: E402
from tests.benchmarks.running_server import Row, print_table, wait_until  # noqa: E402
from tests.llm.remote.fake_server import only_when_streamed, run_fake_server, stream_pieces  # noqa: E402
from tests.page_client import start_server_process  # noqa: E402

REQUESTS, OTHERS = 30, 9
WORDS, WORD_SECONDS = 40, 0.05
# Reading the database, building the prompt and the requests between the processes, for one reply.
SLACK_SECONDS = 1.5


@dataclass
class ModelServer:
    """A model that writes one reply at a time; `begun` has the message and the time of each reply."""

    begun: list[tuple[str, float]] = field(default_factory=list)
    _place: threading.Lock = field(default_factory=threading.Lock)

    def reply(self, body: dict[str, Any]) -> Iterator[object]:
        """Yield the words of a reply at the known speed."""
        asked = str(body["messages"][-1]["content"]).split("\n")[-1]
        with self._place:
            self.begun.append((asked, time.monotonic()))
            for _ in range(WORDS):
                time.sleep(WORD_SECONDS)
                yield from stream_pieces("word ")

    def find_begin(self, text: str) -> float | None:
        """Return when the reply to a message began, None before."""
        return next((at for asked, at in self.begun if text in asked), None)

    def count_of_first(self, since: float, until: float) -> int:
        """Return how many replies to the first person were begun between two times."""
        return sum("first person" in asked and since < at < until for asked, at in self.begun)


@contextmanager
def run_server() -> Iterator[tuple[str, ModelServer]]:
    """Run the real server until the block ends; yields its URL and the model server."""
    model = ModelServer()
    paths: dict[str, Any] = {
        "v1__models": {"data": [{"id": "m", "owned_by": "llamacpp"}]},
        "props": {"total_slots": 1, "default_generation_settings": {"n_ctx": 8192}},
        "v1__chat__completions": only_when_streamed(model.reply),
    }
    with run_fake_server(**paths) as fake:
        environment = build_environment(
            _FOLDER,
            MODEL_DIR=str(_FOLDER.parent / "none"),
            PROVIDER_URL=fake.url,
            MODE="server",
            ALLOWED_HOSTS="127.0.0.1",
            SSL_REDIRECT="false",
            QUOTA_MESSAGES_A_MINUTE="0",
        )
        process, base = start_server_process(environment, "manage.py", "serve", "--no-browser", "--port")
        try:
            yield base, model
        finally:
            process.terminate()
            process.wait(30)


def call(base: str, secret: str, path: str, body: dict[str, Any]) -> Any:
    """Send a request of a program and return its answer."""
    request = urllib.request.Request(
        f"{base}/api/{path}",
        json.dumps(body).encode(),
        {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


def send(base: str, secret: str, text: str) -> None:
    """Send a message in a conversation of its own; the reply is written later."""
    conversation = call(base, secret, "conversations", {})["id"]
    call(base, secret, f"conversations/{conversation}/messages?wait=0", {"content": text})


def measure() -> tuple[list[float], list[int]]:
    """Return for each of the nine the seconds until its reply began, and how many replies of the first person
    were begun meanwhile.
    """
    people = [User.objects.create_user(f"person{number}") for number in range(1 + OTHERS)]
    secrets = [create_token(person, "benchmark") for person in people]
    with run_server() as (base, model):
        wait_until(lambda: _is_ready(base, secrets[0]), "the model")
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda n: send(base, secrets[0], f"first person {n}."), range(REQUESTS)))
        wait_until(lambda: model.begun, "the first reply")
        asked: list[float] = []
        for number in range(1, 1 + OTHERS):
            asked.append(time.monotonic())
            send(base, secrets[number], f"other person {number}.")
        texts = [f"other person {number}." for number in range(1, 1 + OTHERS)]
        wait_until(lambda: all(model.find_begin(text) for text in texts), "the replies")
        begun = [model.find_begin(text) or 0.0 for text in texts]
    waits = [at - since for at, since in zip(begun, asked, strict=True)]
    return waits, [model.count_of_first(s, at) for at, s in zip(begun, asked, strict=True)]


def _is_ready(base: str, secret: str) -> bool:
    request = urllib.request.Request(f"{base}/v1/models", headers={"Authorization": f"Bearer {secret}"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return bool(json.load(answer)["data"])


def main() -> int:
    """Measure and print; the exit code is 1 where a bar was missed."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    reply = WORDS * WORD_SECONDS
    waits, of_first = measure()
    rows = []
    for place, (wait, count) in enumerate(zip(waits, of_first, strict=True)):
        # Those of the nine that asked before, and the reply of the first person that was being written.
        most = (place + count) * reply + reply + SLACK_SECONDS if count <= 1 else 0.0
        rows.append(
            Row(
                f"person {place + 1} of {OTHERS}",
                f"{wait:.1f} s = {wait / reply:.1f} replies, {count} of the first",
                "at most 1 of the first",
                count <= 1 and wait <= most,
            )
        )
    print(f"one reply takes {reply:.1f} s; the first person sent {REQUESTS} messages")
    return print_table(rows)


if __name__ == "__main__":
    sys.exit(main())
