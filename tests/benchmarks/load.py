"""Many people at once: `python -m tests.benchmarks.load [--people 50] [--idle 500] [--spread 0]`.

Starts a scripted model server of 64 places and 20 tokens a second, and the real server in server mode. Each
person has a login and a socket and sends one message, all within `--spread` seconds; other sockets are idle
beside them. The same requests go straight to the model server in the same run. Prints one table and exits
with 1 where a bar is missed. `--processes K --database postgresql://…` measures K web processes and a worker,
with REDIS_URL if that is set. The database must be empty or one of an earlier run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

_FOLDER = Path(tempfile.mkdtemp(prefix="memoryapp-benchmark-")) / "data"
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--people", type=int, default=50)
parser.add_argument("--idle", type=int, default=500)
parser.add_argument("--spread", type=float, default=0.0, help="seconds over which the messages are sent")
parser.add_argument("--rounds", type=int, default=3, help="messages of each person, one after the other")
parser.add_argument("--processes", type=int, default=1)
parser.add_argument("--database", default="")
options = parser.parse_args()
os.environ |= {
    "DATA_DIR": str(_FOLDER),
    "MODE": "server",
    "ALLOWED_HOSTS": "127.0.0.1",
    "SSL_REDIRECT": "false",
    "SECRET_KEY": "benchmark" * 8,
}
if options.database:
    os.environ["DATABASE_URL"] = options.database
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")
os.environ.setdefault("LOG_LEVEL", "ERROR")

from tests.data_folder import build_environment, make_data_folder  # noqa: E402
from tests.page_client import ROOT, start_server_process  # noqa: E402

make_data_folder(_FOLDER)

import django  # noqa: E402
import psutil  # noqa: E402
from websockets.asyncio.client import connect  # noqa: E402
from websockets.typing import Origin  # noqa: E402

django.setup()

from django.test import Client  # noqa: E402

from chat.actions.owners import default_app  # noqa: E402
from chat.models import Conversation, User  # noqa: E402
from tests.benchmarks.reply_times import Times, percentile, print_times  # noqa: E402
from tests.benchmarks.running_server import wait_until  # noqa: E402
from tests.benchmarks.scripted_model import MODEL, run_scripted_model  # noqa: E402

MOST_FIRST_SECONDS, MOST_GAP_SECONDS = 0.3, 0.15
_SENTENCE = "I moved to Oslo in May, and my sister Ann likes hiking. What could we do on a rainy Sunday?"


@dataclass
class Person:
    """One person: the cookies of the login, a conversation, and the URL of a web process."""

    cookies: str
    token: str
    conversation: str
    base: str = ""


def make_people(count: int) -> list[Person]:
    """Create accounts with a session and a conversation each."""
    people = []
    for _ in range(count):
        user = User.objects.create_user(f"person-{secrets.token_hex(6)}")
        client = Client()
        client.force_login(user)
        token = secrets.token_hex(16)
        cookies = [f"{name}={morsel.value}" for name, morsel in client.cookies.items()]
        talk = Conversation.objects.create(owner=user, app=default_app(user), title="Plans")
        people.append(Person("; ".join([*cookies, f"csrftoken={token}"]), token, str(talk.pk)))
    return people


def make_folder(number: int) -> str:
    """Make a data folder for one of several processes, as if it ran on a machine of its own."""
    folder = _FOLDER.parent / f"data-{number}"
    make_data_folder(folder)
    return str(folder)


@contextmanager
def run_servers(model: str) -> Iterator[list[tuple[str, psutil.Process]]]:
    """Run the web processes, and a worker where there are several, until the block ends."""
    environment = build_environment(
        _FOLDER,
        **({"DATABASE_URL": options.database} if options.database else {}),
        MODE="server",
        ALLOWED_HOSTS="127.0.0.1",
        MODEL_DIR=str(_FOLDER.parent / "none"),
        PROVIDER_URL=model,
        SSL_REDIRECT="false",
        QUOTA_MESSAGES_A_MINUTE="0",
    )
    many = options.processes > 1
    with ExitStack() as stack:
        found = []
        for number in range(options.processes):
            own = environment | ({"JOBS": "off", "DATA_DIR": make_folder(number)} if many else {})
            process, base = start_server_process(
                own,
                "manage.py",
                "serve",
                "--no-browser",
                "--port",
            )
            stack.callback(process.wait, 30)
            stack.callback(process.terminate)
            found.append((base, psutil.Process(process.pid)))
        if many:
            worker = subprocess.Popen([sys.executable, "manage.py", "run_jobs"], cwd=ROOT, env=environment)
            stack.callback(worker.wait, 30)
            stack.callback(worker.terminate)
        yield found


async def post(person: Person, path: str, **fields: str) -> tuple[int, bytes]:
    """Post a form as a page does, on a new connection; return the status and the rest."""
    where = urllib.parse.urlsplit(person.base)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    data = urllib.parse.urlencode({**fields, "csrfmiddlewaretoken": person.token}).encode()
    lines = [f"POST {path} HTTP/1.1", f"Host: {where.netloc}", f"Origin: {person.base}", "HX-Request: true",
             f"Cookie: {person.cookies}", "Content-Type: application/x-www-form-urlencoded",
             f"Content-Length: {len(data)}", "Connection: close", "", ""]  # fmt: skip
    writer.write("\r\n".join(lines).encode() + data)
    answer = await reader.read()
    writer.close()
    return int(answer[9:12]), answer


def open_page(person: Person, conversation: str = "") -> Any:
    """Open the socket of a person's page."""
    address = f"{person.base.replace('http', 'ws')}/ws/" + (
        f"?conversation={conversation}" * bool(conversation)
    )
    headers = {"Cookie": person.cookies}
    return connect(address, origin=Origin(person.base), additional_headers=headers, ping_interval=None)


async def read_reply(page: Any, arrivals: list[float]) -> None:
    """Note when each text of a reply arrives, until its end."""
    while True:
        frame = json.loads(await page.recv())
        if frame["type"] in ("blocks", "snapshot") and any(frame.get("html") or frame.get("blocks") or []):
            arrivals.append(time.perf_counter())
        if frame["type"] == "done":
            return


async def say(person: Person, page: Any, times: Times, wait: float) -> None:
    """Send one message and measure its reply."""
    await asyncio.sleep(wait)
    arrivals: list[float] = []
    sent = time.perf_counter()
    try:
        async with asyncio.timeout(120):
            reading = asyncio.create_task(read_reply(page, arrivals))
            status, _ = await post(person, "/send/", text=_SENTENCE, conversation=person.conversation)
            if status != 200:
                reading.cancel()
                times.errors.append(f"status {status}")
                return
            await reading
    except (TimeoutError, OSError) as error:
        times.errors.append(repr(error))
    times.note(sent, arrivals)


async def ask_model(model: str, times: Times, wait: float) -> None:
    """Send one request straight to the model server and measure its reply."""
    await asyncio.sleep(wait)
    where = urllib.parse.urlsplit(model)
    body = {"model": MODEL, "stream": True, "messages": [{"role": "user", "content": _SENTENCE}]}
    data = json.dumps(body).encode()
    sent = time.perf_counter()
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: {where.netloc}\r\nContent-Length: {len(data)}\r\n\r\n"
    )
    writer.write(head.encode() + data)
    arrivals = []
    while line := await reader.readline():
        if b'"content"' in line:
            arrivals.append(time.perf_counter())
    writer.close()
    times.note(sent, arrivals)


async def measure(
    model: str, people: list[Person], processes: Sequence[psutil.Process]
) -> tuple[Times, list[Times], float, float]:
    """Return the times of the bare model server, those of memoryapp in each round, the processor seconds of
    all replies and the MiB of the idle sockets.
    """
    bare, rounds, cpu = Times(), [Times() for _ in range(options.rounds)], 0.0
    waits = [options.spread * number / len(people) for number in range(len(people))]
    async with open_all([open_page(person, person.conversation) for person in people]) as pages:
        before = sum(one.memory_info().rss for one in processes)
        idle = [open_page(people[number % len(people)]) for number in range(options.idle)]
        async with open_all(idle):
            await asyncio.sleep(2)
            grown = (sum(one.memory_info().rss for one in processes) - before) / (1 << 20)
            for times in rounds:
                await asyncio.gather(*(ask_model(model, bare, wait) for wait in waits))
                used = count_processor_seconds(processes)
                said = zip(people, pages, waits, strict=True)
                await asyncio.gather(*(say(person, page, times, wait) for person, page, wait in said))
                cpu += count_processor_seconds(processes) - used
                await asyncio.sleep(1)
    return bare, rounds, cpu, grown


def count_processor_seconds(processes: Sequence[psutil.Process]) -> float:
    """Return what the processes have used of the processor."""
    return float(sum(sum(one.cpu_times()[:2]) for one in processes))


@asynccontextmanager
async def open_all(connections: Sequence[Any]) -> AsyncIterator[list[Any]]:
    """Open connections, sixteen at a time, and close them at the end of the block."""
    opened: list[Any] = []
    for start in range(0, len(connections), 16):
        opened += await asyncio.gather(*connections[start : start + 16])
    yield opened
    await asyncio.gather(*(one.close() for one in opened))


def main() -> int:
    """Measure and print; the exit code is 1 where a bar was missed."""
    if options.database:
        subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], cwd=ROOT, check=True)
    people = make_people(options.people)
    with run_scripted_model() as (model, _process), run_servers(model) as servers:
        for number, person in enumerate(people):
            person.base = servers[number % len(servers)][0]
        for person in people[: len(servers)]:
            wait_until(partial(lambda one: asyncio.run(shows_model(one)), person), "the model")
        bare, rounds, cpu, grown = asyncio.run(measure(model, people, [process for _, process in servers]))
    kind = "PostgreSQL" if options.database else "SQLite"
    print(
        f"{options.people} people, {options.idle} idle sockets, {kind}, {options.processes} web process(es)"
    )
    print(f"{'seconds':<24}  p50    p95    p99   p99 gap  errors   (first token, gap between frames)")
    print_times("the bare model server", bare)
    through = Times()
    for number, one in enumerate(rounds, start=1):
        print_times(f"memoryapp, round {number}", one)
        through.firsts += one.firsts
        through.gaps += one.gaps
        through.errors += one.errors
    print_times("memoryapp, all rounds", through)
    each = cpu / max(1, options.rounds * options.people)
    print(f"processor: {each * 1000:.0f} ms a reply; memory: {grown * 1024 / max(1, options.idle):.0f} KiB "
          "an idle socket")  # fmt: skip
    first = percentile(through.firsts, 0.95) - percentile(bare.firsts, 0.95)
    gap = percentile(through.gaps, 0.99) - percentile(bare.gaps, 0.99)
    good = first <= MOST_FIRST_SECONDS and gap <= MOST_GAP_SECONDS and not through.errors
    print(f"over the bare server: p95 first {first:.2f} s (bar {MOST_FIRST_SECONDS}), p99 gap {gap:.2f} s "
          f"(bar {MOST_GAP_SECONDS}): {'ok' if good else 'MISSED'}")  # fmt: skip
    for error in sorted(set(through.errors)):
        print(f"error: {error}")
    return 0 if good else 1


async def shows_model(person: Person) -> bool:
    """Return whether the web process of a person has reached the model server."""
    where = urllib.parse.urlsplit(person.base)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    lines = [f"GET / HTTP/1.1\r\nHost: {where.netloc}", f"Cookie: {person.cookies}", "Connection: close"]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    page = await reader.read()
    writer.close()
    return f"{MODEL} on ".encode() in page


if __name__ == "__main__":
    sys.exit(main())
