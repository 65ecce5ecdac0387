"""Uploaded files in the database, in blocks, where another process may import them: in server mode with
PostgreSQL.

An owner has one file at a time. The process that reads it is noted in its row, so that no other one reads it
too; where that process dies, `chat.actions.recovery` takes the note away.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import IO
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from chat.actions import processes
from chat.errors import Busy
from chat.models import ImportUpload, ImportUploadPart, User
from memoryapp.base.block_reader import BLOCK, BlockReader, split_into_blocks

# A process without a row, such as a test.
_NOBODY = UUID(int=0)


class SharedUpload:
    """A file in the database that can be read at any place."""

    def __init__(self, row: ImportUpload) -> None:
        self._row = row

    def open(self, mode: str) -> IO[bytes]:
        """Open it for reading; the mode is "rb"."""
        return io.BufferedReader(BlockReader(self._row.size, self._read_block), BLOCK)

    def _read_block(self, number: int) -> bytes:
        return bytes(ImportUploadPart.objects.get(upload=self._row, number=number).content)


def are_shared() -> bool:
    """Return whether uploads are in the database."""
    return settings.MODE == "server" and processes.is_database_shared()


def store_upload(owner: User, chunks: Iterable[bytes], size: int) -> UUID:
    """Store a file in place of the owner's earlier one. Raises Busy while that one is read."""
    with transaction.atomic():
        earlier = ImportUpload.objects.for_owner(owner)
        if earlier.select_for_update().filter(process__isnull=False).exists():
            raise Busy("upload-in-use")
        earlier.delete()
        # Other processes see the whole file or nothing of it.
        row = ImportUpload.objects.create(owner=owner, size=size)
        for number, block in enumerate(split_into_blocks(chunks)):
            ImportUploadPart.objects.create(upload=row, number=number, content=block)
    return row.pk


@contextmanager
def lock_upload(owner: User) -> Iterator[None]:
    """Note that this process reads the owner's file until the block ends. Raises Busy where another does."""
    mine = ImportUpload.objects.for_owner(owner)
    with transaction.atomic():
        rows = list(mine.select_for_update())
        if any(row.process is not None for row in rows):
            raise Busy("upload-in-use")
        taken = [row.pk for row in rows]
        mine.filter(pk__in=taken).update(process=processes.get_current() or _NOBODY)
    try:
        yield
    finally:
        mine.filter(pk__in=taken).update(process=None)


def find_upload(owner: User, key: UUID, seconds: float) -> SharedUpload | None:
    """Return an owner's file that is younger than so many seconds; None when there is none with this key."""
    since = timezone.now() - timedelta(seconds=seconds)
    row = ImportUpload.objects.for_owner(owner).filter(pk=key, created_at__gt=since).first()
    return None if row is None else SharedUpload(row)


def discard_upload(owner: User, key: UUID) -> None:
    """Delete a file that is no longer needed."""
    ImportUpload.objects.for_owner(owner).filter(pk=key).delete()


def remove_old_uploads(seconds: float) -> None:
    """Delete all owners' files that are older than so many seconds and not being read."""
    before = timezone.now() - timedelta(seconds=seconds)
    ImportUpload.objects.filter(created_at__lte=before, process__isnull=True).delete()
