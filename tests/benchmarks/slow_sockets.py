"""Thousands of slow and hostile connections: `python -m tests.benchmarks.slow_sockets [--sockets 10000]`.

Starts the real server with a model server that streams a text at once. Most sockets are idle, some watch a
conversation and never read. Then connections that send no request, and one that sends pings and reads no
answer. Prints a table and exits with 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import os
import resource
import selectors
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

os.environ["DATA_DIR"] = tempfile.mkdtemp(prefix="memoryapp-benchmark-")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")
os.environ.setdefault("LOG_LEVEL", "ERROR")

import django
import psutil

django.setup()

from tests.benchmarks.running_server import Row, print_table, wait_until  # noqa: E402
from tests.data_folder import build_environment, make_data_folder  # noqa: E402
from tests.llm.remote.fake_server import (  # noqa: E402
    MODELS,
    only_when_streamed,
    run_fake_server,
    stream_pieces,
)
from tests.page_client import PageClient, start_server_process  # noqa: E402
from tests.raw_socket import PING, PONG, build_frame, connect, is_closed_by_server, open_socket  # noqa: E402

# The shares of the sockets that watch the conversation and never read.
SLOW_SHARE = 0.1
# Bytes of the receive buffer of a slow reader; the kernel doubles it.
TINY = 2048
PIECE, PIECES = "Seven words and a line of text.\n\n" * 20, 400
MOST_KIB_EACH, MOST_KIB_SLOW, MOST_PING_MIB = 160.0, 400.0, 16.0
MOST_PAGE_SECONDS, MOST_REPLY_SECONDS = 2.0, 15.0
# A slow reader gets a ping after 20 s, has 20 s to answer, and some more for the close.
DROP_SECONDS = 75.0


@dataclass
class Server:
    """The measured server: its process and a page of it."""

    base: str
    process: psutil.Process
    page: PageClient

    def read_mib(self) -> float:
        """Return the resident memory in MiB."""
        return float(self.process.memory_info().rss) / (1 << 20)

    def count_open(self) -> int:
        """Return the number of open descriptors."""
        return int(self.process.num_fds())

    def time_page(self) -> float:
        """Return the seconds of the slowest of five pages."""
        return max(_time(lambda: self.page.get("/")) for _ in range(5))


def note(what: str) -> None:
    """Say what is measured now."""
    print(f"{time.strftime('%X')} {what}", flush=True)


def _time(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


@contextmanager
def run_server() -> Iterator[Server]:
    """Run the real server with a model server that streams `PIECE` until the block ends."""

    def reply(body: dict[str, object]) -> Iterator[object]:
        is_long = "long" in str(body["messages"])
        return stream_pieces(*([PIECE] * PIECES if is_long else ["Once upon ", "a time."]))

    paths = {"v1__models": MODELS, "v1__chat__completions": only_when_streamed(reply)}
    with tempfile.TemporaryDirectory(prefix="memoryapp-sockets-") as name, run_fake_server(**paths) as model:
        folder = Path(name) / "data"
        make_data_folder(folder)
        environment = build_environment(folder, MODEL_DIR=f"{name}/none", PROVIDER_URL=model.url)
        process, base = start_server_process(environment, "manage.py", "serve", "--no-browser", "--port")
        try:
            yield Server(base, psutil.Process(process.pid), PageClient(base))
        finally:
            process.terminate()
            process.wait(30)


class Answerer:
    """Answers the pings of idle sockets in a thread, as browsers do, so that the server keeps them open."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        threading.Thread(target=self._answer, daemon=True).start()

    def open(self, base: str) -> socket.socket:
        """Return an open socket whose pings are answered."""
        client = open_socket(base)
        self._selector.register(client, selectors.EVENT_READ)
        return client

    def close(self, client: socket.socket) -> None:
        """Close a socket."""
        self._selector.unregister(client)
        client.close()

    def _answer(self) -> None:
        while True:
            for key, _ in self._selector.select(0.2):
                client: socket.socket = key.fileobj  # type: ignore[assignment]
                with suppress(OSError):
                    data = client.recv(4096)
                    if (at := data.find(b"\x89\x04")) >= 0:
                        client.sendall(build_frame(data[at + 2 : at + 6], PONG))


def open_many(count: int, open_one: Callable[[int], socket.socket]) -> tuple[list[socket.socket], int]:
    """Open so many connections, 32 at a time; return those that were accepted, and how many were not."""

    def attempt(number: int) -> socket.socket | None:
        try:
            return open_one(number)
        except OSError:
            return None

    with ThreadPoolExecutor(32) as pool:
        found = list(pool.map(attempt, range(count)))
    return [one for one in found if one is not None], found.count(None)


def measure_sockets(server: Server, count: int) -> list[Row]:
    """Open the sockets, write replies beside them, and wait for the end of the slow ones."""
    slow = int(count * SLOW_SHARE)
    watched = server.page.begin("Hello.")
    before, files = server.read_mib(), server.count_open()
    began = time.perf_counter()
    note("opening the sockets")
    answerer = Answerer()
    idle, refused = open_many(count - slow, lambda _n: answerer.open(server.base))
    took = time.perf_counter() - began
    each = (server.read_mib() - before) * 1024 / max(1, len(idle))
    readers, unable = open_many(slow, lambda _n: open_socket(server.base, watched, receive_buffer=TINY))
    note("a page and replies beside them")
    page = server.time_page()
    with_readers = server.read_mib()
    other = server.page.begin("Hello again.")
    reply = _time(lambda: server.page.say("Once more.", other))
    long = _time(lambda: server.page.say("A long text, please.", watched))
    grown = (server.read_mib() - with_readers) * 1024 / max(1, len(readers))
    again = _time(lambda: server.page.say("Another long text, please.", watched))
    grown_again = (server.read_mib() - with_readers) * 1024 / max(1, len(readers))
    busiest = server.count_open()
    note("waiting for the end of slow readers")
    time.sleep(DROP_SECONDS)
    left = server.count_open()
    for one in idle:
        answerer.close(one)
    for one in readers:
        one.close()
    wait_until(lambda: server.count_open() < files + 20, "the end of the sockets", 90)
    return [
        Row("sockets opened, refused", f"{len(idle)}, {refused}; slow {len(readers)}, {unable}", "", True),
        Row("seconds to open the idle ones", f"{took:.1f}", "", True),
        Row("memory of each idle socket", f"{each:.0f} KiB", f"{MOST_KIB_EACH:.0f} KiB",
            each < MOST_KIB_EACH),
        Row("slowest of five pages beside them", f"{page:.2f} s", f"{MOST_PAGE_SECONDS} s",
            page < MOST_PAGE_SECONDS),
        Row("a short reply beside them", f"{reply:.2f} s", f"{MOST_REPLY_SECONDS} s",
            reply < MOST_REPLY_SECONDS),
        Row("two long replies to slow readers", f"{long:.1f} s, {again:.1f} s", "", True),
        Row("memory of each slow reader after one, two",
            f"{grown:.0f} KiB, {grown_again:.0f} KiB", f"{MOST_KIB_SLOW:.0f} KiB",
            grown_again < MOST_KIB_SLOW),
        Row("descriptors before, at most, after 75 s", f"{files}, {busiest}, {left}", "slow ones dropped",
            left <= files + len(idle) + 0.1 * len(readers)),
        Row("descriptors and memory after all have left",
            f"{server.count_open()}, {server.read_mib():.0f} MiB (before {before:.0f})", "", True),
    ]  # fmt: skip


def measure_pings(server: Server, seconds: float = 8.0) -> list[Row]:
    """Send pings as fast as the server takes them, and read none of the answers."""
    server.time_page()
    before = server.read_mib()
    client = open_socket(server.base, receive_buffer=TINY)
    client.settimeout(1)
    many = build_frame(b"x" * 125, PING) * 500
    sent, deadline = 0, time.monotonic() + seconds
    try:
        while time.monotonic() < deadline:
            sent += client.send(many)
    except OSError:
        pass
    grown = server.read_mib() - before
    page = server.time_page()
    client.close()
    return [
        Row("pings without reading: sent, memory grown, page",
            f"{sent >> 20} MiB, {grown:.0f} MiB, {page:.2f} s",
            f"{MOST_PING_MIB:.0f} MiB", grown < MOST_PING_MIB),
    ]  # fmt: skip


def measure_silent(server: Server, count: int) -> list[Row]:
    """Open connections that send no request or half of one, and look whether the server ends them."""
    before, files = server.read_mib(), server.count_open()

    def begin(number: int) -> socket.socket:
        client = connect(server.base)
        if number % 2:
            client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n")
        return client

    silent, refused = open_many(count, begin)
    time.sleep(1)
    held, grown = server.count_open() - files, server.read_mib() - before
    try:
        page = f"{server.time_page():.2f} s"
    except OSError as error:
        page = f"failed: {error}"
    time.sleep(DROP_SECONDS)
    closed = sum(map(is_closed_by_server, silent))
    for one in silent:
        one.close()
    return [
        Row("silent connections: opened, refused, held", f"{len(silent)}, {refused}, {held}", "", True),
        Row(
            "their memory, a page beside them", f"{grown:.0f} MiB, {page}", "", not page.startswith("failed")
        ),
        Row("ended by the server after 75 s", str(closed), "all", closed == len(silent)),
    ]


def main() -> int:
    """Measure, print the table, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sockets", type=int, default=10_000)
    count = parser.parse_args().sockets
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with run_server() as server:
        rows = measure_pings(server)
        rows += measure_sockets(server, count)
        rows += measure_silent(server, count)
    return print_table(rows)


if __name__ == "__main__":
    sys.exit(main())
