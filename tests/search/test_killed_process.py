"""A process that is killed while it writes and deletes messages leaves a consistent search index."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys

import pytest

from tests.data_folder import build_environment, make_data_folder
from tests.page_client import ROOT

pytestmark = pytest.mark.slow

# Saves and deletes messages in an endless loop; prints a line for each round.
WRITE_LOOP = """
from chat.api import MemoryManager, Message
manager = MemoryManager()
for n in range(1_000_000):
    for role in ("user", "assistant"):
        manager.save_message(f"chat {n % 7}", Message(role=role, content=f"boat {n} " * 40))
    if n % 5 == 4:
        manager.delete_session(f"chat {n % 7}")
    print(n, flush=True)
"""


@pytest.mark.parametrize("rounds", [3, 8, 17])
def test_the_index_is_consistent_after_a_kill_at_any_moment(tmp_path, rounds):
    folder = tmp_path / "data"
    make_data_folder(folder)
    process = subprocess.Popen(
        [sys.executable, "-c", WRITE_LOOP],
        cwd=ROOT,
        env=build_environment(folder),
        stdout=subprocess.PIPE,
        text=True,
    )
    for _ in range(rounds):
        assert process.stdout.readline(), "it ended by itself"
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    process.stdout.close()

    with sqlite3.connect(folder / "memoryapp.sqlite3") as database:
        database.execute("INSERT INTO chat_searchwords(chat_searchwords, rank) VALUES ('integrity-check', 1)")
        message_count = "SELECT count(*) FROM chat_message WHERE content <> ''"
        entry_count = (
            "SELECT count(*) FROM chat_searchentry WHERE message_id IN (SELECT id FROM chat_message)"
        )
        orphan_count = (
            "SELECT count(*) FROM chat_searchentry WHERE message_id NOT IN (SELECT id FROM chat_message)"
        )
        [(messages,)], [(entries,)], [(orphans,)] = (
            database.execute(query).fetchall() for query in (message_count, entry_count, orphan_count)
        )
        assert messages == entries > 0
        assert orphans == 0
