"""Files that a command writes: whole or not at all, and for their owner's eyes alone."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from django.core.management.base import CommandError


@contextlib.contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """Give a file to write beside the one that is meant, whose place it takes once all is written.

    However the writing ends otherwise, an earlier file of that name stays and nothing else is left. Raises
    CommandError where disk or database do not let it be written.
    """
    if target.exists() and not target.is_file():
        # A file would take the place of a device, and cannot take a folder's.
        raise CommandError(f"{target} is no file. Name one to write.")
    half = target.with_name(f"{target.name}.part")
    try:
        half.unlink(missing_ok=True)
        half.touch(mode=0o600)
        yield half
        half.replace(target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            half.unlink(missing_ok=True)
        if isinstance(error, OSError | sqlite3.Error):
            why = getattr(error, "strerror", None) or error
            failed = getattr(error, "filename", None)
            place = target if failed in (None, str(half)) else failed
            raise CommandError(f"{place} cannot be written: {why}.") from error
        raise
