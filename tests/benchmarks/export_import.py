"""Time of an export, an erasure, an import and a second export that must give the same bytes.

The data are 10,000 messages in 100 conversations, a fifth of them archived, with topics, notes, reports and
replaced branches, and 150 facts with five events each. Run in the project's folder:

    python -m tests.benchmarks.export_import [--messages 10000] [--facts 150]

Prints the seconds of each part and the longest time that another writer waited for the database. Exits with 1
if the bytes differ or all parts together take ten seconds or longer.
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
    """Create the data, export and import them, print the times, and return the exit code."""
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
    from chat.actions.export import export_json
    from chat.actions.owners import local_owner
    from tests.porting.sample_data import create_sample_data

    call_command("migrate", verbosity=0)
    owner = local_owner()
    create_sample_data(owner, messages=options.messages, facts=options.facts)
    path = folder / "export.json"
    seconds: dict[str, float] = {}

    def measure(part: str, work: Any) -> Any:
        begin = time.perf_counter()
        found = work()
        seconds[part] = time.perf_counter() - begin
        return found

    def write_export() -> bytes:
        document = b"".join(export_json(owner))
        path.write_bytes(document)
        return document

    def wipe() -> None:
        deletion = deletions.erase_account(owner)
        deletions.finish_deletion(deletion.pk, timezone.now() + timedelta(minutes=1))

    before = measure("export", write_export)
    measure("wipe", wipe)
    if importing.dry_run(owner, path).conversations.there:
        raise SystemExit("something was left of what was wiped")
    measure("dry run", lambda: importing.dry_run(owner, path))
    with _OtherWriter(owner) as writer:
        done = measure("import", lambda: importing.import_file(owner, path))
    after = measure("next export", lambda: b"".join(export_json(owner)))
    again = measure("import once more", lambda: importing.import_file(owner, path))
    whole = sum(seconds[part] for part in ("export", "wipe", "import", "next export"))
    print("load average:", *(f"{load:.1f}" for load in os.getloadavg()))
    print(f"{len(before) / 1e6:.1f} MB, {done.messages.added:,} messages, {done.facts.added} facts")
    for part, value in seconds.items():
        print(f"{part:<20} {value:7.2f} s")
    print(f"{'export to export':<20} {whole:7.2f} s   < {MOST_SECONDS:g} s")
    print(f"another writer waited {writer.longest * 1000:.0f} ms at most while it was imported")
    equal = before == after and not (again.messages.added or again.facts.added)
    print("equal bytes" if before == after else f"THE BYTES DIFFER at {_first_difference(before, after)}")
    return 0 if equal and whole < MOST_SECONDS else 1


class _OtherWriter:
    """A thread that writes a row every 5 ms and records the longest time that took, in seconds."""

    def __init__(self, owner: Any) -> None:
        self.longest = 0.0
        self._owner = owner.pk
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._write)

    def __enter__(self) -> _OtherWriter:
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
