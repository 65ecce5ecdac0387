"""How long an import holds the database: 10,000 memories of mem0, conversations that go on, and a long one.

Run from the project's folder:

    python -m tests.benchmarks.importing [--memories 10000] [--chats 500] [--long 20000]

It prints the longest write transaction of each import in seconds, with the sum of all, and exits with 1 where
one of them was longer than a second.
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

# Nobody else waits longer than this for the database.
MOST_SECONDS = 1.0
# So many messages of each conversation are here already, and so many follow.
_HERE, _FOLLOWING = 10, 10


def main() -> int:
    """Import both files into an empty database and print what others had to wait for."""
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
            done = importing.carry_out(owner, path)
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
    document = _longer(owner, options.chats, _HERE + _FOLLOWING)
    yield "conversations that go on", document
    yield "the same once more", document
    yield "a long one that goes on", _longer(owner, 1, _HERE + options.long)


def _longer(owner: Any, chats: int, in_a_chat: int) -> dict[str, Any]:
    """Return an export of conversations of which only the beginning is here any more."""
    from chat.actions.export import export
    from chat.models import Message
    from tests.porting.conftest import wipe
    from tests.porting.worlds import build

    wipe(owner)
    build(owner, messages=chats * in_a_chat, in_a_chat=in_a_chat, facts=0)
    document = json.loads(b"".join(export(owner)))
    document["facts"] = []
    Message.objects.filter(seq__gt=_HERE).update(replaced_by=None)
    Message.objects.filter(seq__gt=_HERE).delete()
    return document


def _memory(number: int) -> dict[str, Any]:
    said = ("Works with {} at Company{}", "Likes {} from Maker{}", "Uses Tool{1} for {0}")[number % 3]
    return {
        "id": f"00000000-0000-4000-8000-{number:012d}",
        "memory": said.format(f"Thing{number}", number),
        "hash": "",
        "user_id": "me",
        "created_at": f"2024-{number % 12 + 1:02d}-{number % 27 + 1:02d}T10:00:00+00:00",
    }


@contextmanager
def _transactions() -> Iterator[list[float]]:
    """Note how long each outermost transaction lasts; each takes the lock of a writer at its beginning."""
    from django.db import connection
    from django.db.transaction import Atomic

    seconds: list[float] = []
    began: list[float] = []
    enter, leave = Atomic.__enter__, Atomic.__exit__

    def entered(self: Any) -> None:
        outermost = not connection.in_atomic_block
        enter(self)
        began.append(time.perf_counter() if outermost else 0.0)

    def left(self: Any, *error: Any) -> None:
        leave(self, *error)
        if since := began.pop():
            seconds.append(time.perf_counter() - since)

    with patch.object(Atomic, "__enter__", entered), patch.object(Atomic, "__exit__", left):
        yield seconds


if __name__ == "__main__":
    sys.exit(main())
