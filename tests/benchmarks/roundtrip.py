"""How long it takes to take everything elsewhere: export, wipe, import, and the same bytes once more.

10,000 messages in 100 conversations, a fifth of them packed away, with topics, notes, reports and replaced
branches, and 150 facts with five events each. Run from the project's folder:

    python -m tests.benchmarks.roundtrip [--messages 10000] [--facts 150]

It prints the seconds of each part and the longest that anybody else had to wait for the database, and exits
with 1 where the bytes differ or the whole took ten seconds.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

MOST_SECONDS = 10.0


def main() -> int:
    """Make the world, take it out and in again, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--facts", type=int, default=150)
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
    from django.utils import timezone

    from chat.actions import deletions, importing
    from chat.actions.export import export
    from chat.actions.owners import local_owner
    from tests.porting.worlds import build

    call_command("migrate", verbosity=0)
    owner = local_owner()
    build(owner, messages=options.messages, facts=options.facts)
    path = folder / "export.json"
    seconds: dict[str, float] = {}

    def timed(part: str, work: Any) -> Any:
        begin = time.perf_counter()
        found = work()
        seconds[part] = time.perf_counter() - begin
        return found

    def written() -> bytes:
        document = b"".join(export(owner))
        path.write_bytes(document)
        return document

    def wiped() -> None:
        deletion = deletions.erase_all(owner)
        deletions.finish(deletion.pk, timezone.now() + timedelta(minutes=1))

    before = timed("export", written)
    timed("wipe", wiped)
    if importing.dry_run(owner, path).conversations.there:
        raise SystemExit("something was left of what was wiped")
    timed("dry run", lambda: importing.dry_run(owner, path))
    with _Others(owner) as others:
        done = timed("import", lambda: importing.carry_out(owner, path))
    after = timed("next export", lambda: b"".join(export(owner)))
    again = timed("import once more", lambda: importing.carry_out(owner, path))
    whole = sum(seconds[part] for part in ("export", "wipe", "import", "next export"))
    print("load average:", *(f"{load:.1f}" for load in os.getloadavg()))
    print(f"{len(before) / 1e6:.1f} MB, {done.messages.added:,} messages, {done.facts.added} facts")
    for part, value in seconds.items():
        print(f"{part:<20} {value:7.2f} s")
    print(f"{'export to export':<20} {whole:7.2f} s   < {MOST_SECONDS:g} s")
    print(f"another writer waited {others.longest * 1000:.0f} ms at most while it was imported")
    equal = before == after and not (again.messages.added or again.facts.added)
    print("equal bytes" if before == after else f"THE BYTES DIFFER at {_first_difference(before, after)}")
    return 0 if equal and whole < MOST_SECONDS else 1


class _Others:
    """Somebody who writes a row every few milliseconds, and notes how long that took at most."""

    def __init__(self, owner: Any) -> None:
        self.longest = 0.0
        self._owner = owner.pk
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._write)

    def __enter__(self) -> _Others:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        self._thread.join()

    def _write(self) -> None:
        from django.db import connection, transaction

        from chat.models import OwnerSettings

        while not self._stop.wait(0.005):
            begin = time.perf_counter()
            with transaction.atomic():
                OwnerSettings.objects.filter(owner=self._owner).update(owner=self._owner)
            self.longest = max(self.longest, time.perf_counter() - begin)
        connection.close()


def _first_difference(one: bytes, other: bytes) -> str:
    place = next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    return f"{place}: {one[place - 60 : place + 60]!r} / {other[place - 60 : place + 60]!r}"


if __name__ == "__main__":
    sys.exit(main())
