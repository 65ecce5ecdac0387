"""A process that is killed while it writes and deletes leaves an index that agrees with the rows."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
# Says and deletes without end, a line for each round.
BUSY = """
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
def test_after_a_kill_at_any_moment_they_agree(tmp_path, rounds):
    env = {**os.environ, "DATA_DIR": str(tmp_path)}
    env.pop("DJANGO_SETTINGS_MODULE", None)
    process = subprocess.Popen(
        [sys.executable, "-c", BUSY], cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True
    )
    for _ in range(rounds):
        assert process.stdout.readline(), "it ended by itself"
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    process.stdout.close()

    with sqlite3.connect(tmp_path / "memoryapp.sqlite3") as database:
        database.execute("INSERT INTO chat_searchwords(chat_searchwords, rank) VALUES ('integrity-check', 1)")
        said = "SELECT count(*) FROM chat_message WHERE content <> ''"
        noted = "SELECT count(*) FROM chat_searchentry WHERE message_id IN (SELECT id FROM chat_message)"
        alone = "SELECT count(*) FROM chat_searchentry WHERE message_id NOT IN (SELECT id FROM chat_message)"
        [(messages,)], [(entries,)], [(left,)] = (
            database.execute(query).fetchall() for query in (said, noted, alone)
        )
        assert messages == entries > 0
        assert left == 0
