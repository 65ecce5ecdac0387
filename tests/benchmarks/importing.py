"""How long imports lock the database: 10,000 memories of mem0, continued conversations, and a long one.

Run in the project's folder:

    python -m tests.benchmarks.importing [--memories 10000] [--chats 500] [--long 20000]

Prints the longest write transaction and the total time of each import in seconds. Exits with 1 if a
transaction takes longer than a second.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

# The longest time that another writer may wait for the database.
MOST_SECONDS = 1.0
# The number of stored messages of each conversation, and of new ones in the file.
_STORED, _NEW = 10, 10


def main() -> int:
    """Import all files, print their transaction times, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--chats", type=int, default=500)
    parser.add_argument("--long", type=int, default=20_000)
    options = parser.parse_args()
    folder = tempfile.mkdtemp()
    os.environ |= {"DATA_DIR": folder, "DJANGO_SETTINGS_MODULE": "memoryapp.settings"}
    try:
        return _measure(Path(folder), options)
    finally:
        shutil.rmtree(folder)


def _measure(folder: Path, options: Any) -> int:
    import django

    django.setup()
    from django.core.management import call_command

    from chat.actions import importing
    from chat.actions.owners import local_owner

    call_command("migrate", verbosity=0)
    owner = local_owner()
    longest = 0.0
    for name, document in _files(owner, options):
        path = folder / "import.json"
        path.write_text(json.dumps(document))
        with _transactions() as seconds:
            begin = time.perf_counter()
            done = importing.import_file(owner, path)
            whole = time.perf_counter() - begin
        longest = max(longest, *seconds)
        print(
            f"{name:<28} {done.facts.added:6} facts {done.messages.added:6} messages {whole:7.2f} s in all, "
            f"{len(seconds):4} transactions, the longest {max(seconds):6.3f} s"
        )
    print("load average:", *(f"{load:.1f}" for load in os.getloadavg()))
    return 0 if longest <= MOST_SECONDS else 1


def _files(owner: Any, options: Any) -> Iterator[tuple[str, Any]]:
    yield "memories of mem0", {"results": [_memory(number) for number in range(options.memories)]}
    document = _make_continued_export(owner, options.chats, _STORED + _NEW)
    yield "conversations that go on", document
    yield "the same once more", document
    yield "a long one that goes on", _make_continued_export(owner, 1, _STORED + options.long)


def _make_continued_export(owner: Any, chats: int, in_a_chat: int) -> dict[str, Any]:
    """Return an export of conversations of which the database has only the first messages."""
    from chat.actions.export import export_json
    from chat.models import Message
    from tests.porting.conftest import wipe
    from tests.porting.sample_data import create_sample_data

    wipe(owner)
    create_sample_data(owner, messages=chats * in_a_chat, in_a_chat=in_a_chat, facts=0)
    document = json.loads(b"".join(export_json(owner)))
    document["facts"] = []
    Message.objects.filter(seq__gt=_STORED).update(replaced_by=None)
    Message.objects.filter(seq__gt=_STORED).delete()
    return document


def _memory(number: int) -> dict[str, Any]:
    template = ("Works with {} at Company{}", "Likes {} from Maker{}", "Uses Tool{1} for {0}")[number % 3]
    return {
        "id": f"00000000-0000-4000-8000-{number:012d}",
        "memory": template.format(f"Thing{number}", number),
        "hash": "",
        "user_id": "me",
        "created_at": f"2024-{number % 12 + 1:02d}-{number % 27 + 1:02d}T10:00:00+00:00",
    }


@contextmanager
def _transactions() -> Iterator[list[float]]:
    """Record the seconds of each outermost transaction; each takes the write lock at its start."""
    from django.db import connection
    from django.db.transaction import Atomic

    seconds: list[float] = []
    began: list[float] = []
    enter, leave = Atomic.__enter__, Atomic.__exit__

    def record_enter(self: Any) -> None:
        outermost = not connection.in_atomic_block
        enter(self)
        began.append(time.perf_counter() if outermost else 0.0)

    def record_exit(self: Any, *error: Any) -> None:
        leave(self, *error)
        if since := began.pop():
            seconds.append(time.perf_counter() - since)

    with patch.object(Atomic, "__enter__", record_enter), patch.object(Atomic, "__exit__", record_exit):
        yield seconds


if __name__ == "__main__":
    sys.exit(main())
