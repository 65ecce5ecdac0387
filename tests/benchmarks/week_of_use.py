"""A week of use of the real server: `python -m tests.benchmarks.week_of_use [--messages 100] [--days 7]`.

Before it some thousand messages are imported: then the caches of the database are full from the beginning.
The clock of the server is moved on after each conversation, so nightly work runs. The model is a scripted
server. After each day all due jobs are awaited; then the table shows the server's memory and descriptors and
the bytes of the database for each new message. They should stay as they are from the second day on.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil

from tests.data_folder import build_environment, make_data_folder
from tests.llm.remote.fake_server import MODELS, only_when_streamed, run_fake_server, stream_pieces
from tests.page_client import ROOT, PageClient, start_server_process

BEGIN = datetime(2026, 3, 2, 8, tzinfo=UTC)
# Messages of successive conversations.
_LENGTHS = (6, 12, 4, 8)
_THINGS = ("chess", "rye bread", "night trains", "old maps", "tomatoes", "jazz", "long walks", "oat milk")
_REPLY = ("Once upon a time ", "there was a lighthouse. ", "Its keeper counted ships. ") * 8
_STEP = timedelta(hours=1)


def serve(port: str) -> None:
    """Serve with a clock that goes an hour forward at each SIGUSR1."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")
    import time_machine

    with time_machine.travel(BEGIN, tick=True) as clock:
        signal.signal(signal.SIGUSR1, lambda *_: clock.shift(_STEP))
        from django.core.management import execute_from_command_line

        execute_from_command_line(["manage.py", "serve", "--no-browser", "--port", port])


class Week:
    """The server process, its page, and what was done so far."""

    def __init__(self, folder: Path, process: Any, page: PageClient) -> None:
        self.database = folder / "memoryapp.sqlite3"
        self.process = psutil.Process(process.pid)
        self.page = page
        self.messages = 0
        self.conversations = 0
        # Messages, and bytes of the database, at the last measurement.
        self._measured = (0, 0)

    def use_for_a_day(self, messages: int) -> None:
        """Chat, search, and change memories; then let the rest of the day pass."""
        hours, said = 24, 0
        while said < messages:
            length = _LENGTHS[self.conversations % len(_LENGTHS)]
            self._hold_conversation(min(length, messages - said))
            said += length
            if hours > 1:
                self._pass_an_hour()
                hours -= 1
        for _ in range(hours):
            self._pass_an_hour()
        self.await_jobs()

    def _hold_conversation(self, length: int) -> None:
        thing = _THINGS[self.conversations % len(_THINGS)]
        conversation = self.page.begin(f"I like {thing}, and my number is {self.conversations}.")
        for number in range(1, length):
            self.page.say(f"Tell me about {thing}, part {number} of {length}, please.", conversation)
        self.messages += length
        self.conversations += 1
        self.page.get(f"/search/?q={thing.split()[0]}")
        self.page.get("/memory/")
        self.page.post("/memory/add/", text=f"I own {thing} number {self.conversations}.")
        if self.conversations % 5 == 0:
            self.page.post(f"/c/{conversation}/delete/", memories="1")
            self.messages -= length

    def _pass_an_hour(self) -> None:
        self.process.send_signal(signal.SIGUSR1)
        # The scheduler looks every few seconds of true time.
        time.sleep(0.2)

    def await_jobs(self, seconds: float = 600) -> None:
        """Wait until no job has run for five seconds, at most `seconds`."""
        deadline, idle = time.monotonic() + seconds, 0
        while idle < 5 and time.monotonic() < deadline:
            time.sleep(1)
            working = self._query("SELECT count(*) FROM chat_job WHERE lease_until IS NOT NULL")[0][0]
            pending = self._query("SELECT count(*) FROM chat_deletion WHERE state = 'pending'")[0][0]
            idle = 0 if working or pending else idle + 1

    def _query(self, query: str) -> list[Any]:
        with closing(sqlite3.connect(self.database, timeout=20)) as opened:
            return opened.execute(query).fetchall()

    def measure(self) -> dict[str, float]:
        """Return the figures of this moment."""
        ((pages,),), ((free,),) = self._query("PRAGMA page_count"), self._query("PRAGMA freelist_count")
        ((stored,),) = self._query("SELECT count(*) FROM chat_message WHERE role = 'user'")
        before, self._measured = self._measured, (stored, (pages - free) * 4096)
        added = [after - earlier for after, earlier in zip(self._measured, before, strict=True)]
        return {
            "messages": stored,
            "MiB": self.process.memory_info().rss / 2**20,
            "descriptors": self.process.num_fds(),
            "threads": self.process.num_threads(),
            "bytes a message": added[1] / max(1, added[0]),
            "jobs": self._query("SELECT count(*) FROM chat_job")[0][0],
        }


def _import_history(file: Path, environment: dict[str, str], messages: int) -> None:
    """Import chats of twenty messages of ChatGPT's length."""
    begin = BEGIN - timedelta(days=365)
    chats = []
    for number in range(messages // 20):
        told = (begin + timedelta(hours=number)).isoformat()
        rows = [
            {
                "uuid": f"{number}-{place}",
                "sender": ("human", "assistant")[place % 2],
                "text": f"{_THINGS[number % len(_THINGS)]} {number} {place}: {' '.join(_REPLY)}",
                "created_at": told,
            }
            for place in range(20)
        ]
        chats.append(
            {"uuid": str(number), "name": f"Chat {number}", "created_at": told, "chat_messages": rows}
        )
    file.write_text(json.dumps(chats))
    command = [sys.executable, "manage.py", "import_memory", str(file)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)


def run(messages: int, days: int, before: int) -> None:
    """Run the simulation and print a line for each day."""
    reply = only_when_streamed(lambda _body: stream_pieces(*_REPLY))
    with (
        tempfile.TemporaryDirectory(prefix="memoryapp-week-") as name,
        run_fake_server(v1__models=MODELS, v1__chat__completions=reply) as model,
    ):
        folder = Path(name) / "data"
        make_data_folder(folder)
        environment = build_environment(folder, MODEL_DIR=str(folder / "none"), PROVIDER_URL=model.url)
        _import_history(Path(name) / "history.json", environment, before)
        process, base = start_server_process(environment, "-m", "tests.benchmarks.week_of_use", "serve")
        try:
            week = Week(folder, process, PageClient(base))
            week.await_jobs()
            week.measure()
            for day in range(1, days + 1):
                week.use_for_a_day(messages)
                figures = week.measure()
                if day == 1:
                    print("day " + " ".join(f"{name:>16}" for name in figures))
                print(f"{day:3} " + " ".join(f"{value:16.1f}" for value in figures.values()), flush=True)
        finally:
            process.kill()
            process.wait()


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2])
    else:
        parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.week_of_use")
        parser.add_argument("--messages", type=int, default=100, help="messages a day")
        parser.add_argument("--days", type=int, default=7)
        parser.add_argument("--before", type=int, default=2_000, help="messages that are imported before")
        chosen = parser.parse_args()
        run(chosen.messages, chosen.days, chosen.before)
