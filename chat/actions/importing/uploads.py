"""Uploaded files between dry run and import: in the data folder, readable by this user only, for an hour.

In server mode with PostgreSQL they are in the database instead (`shared_uploads`), since another process may
import them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from uuid import UUID, uuid4

from django.conf import settings

from chat.actions.owners import is_local
from chat.errors import Busy, Refused
from chat.models import User
from chat.porting.files import ImportSource
from memoryapp.base.encrypted_file import EncryptedFile
from memoryapp.base.locking import try_lock
from memoryapp.base.passphrase import is_encrypted

from . import shared_uploads

# Bytes; larger files are imported in the terminal, where nothing is copied. Where the data is encrypted, a
# file is in memory while it is received.
MAX_UPLOAD_BYTES, MAX_ENCRYPTED_BYTES = 256 << 20, 64 << 20
_MAX_AGE_SECONDS = 3600


def most_bytes() -> int:
    """Return how many bytes an uploaded file may have."""
    return min(MAX_UPLOAD_BYTES, MAX_ENCRYPTED_BYTES) if _is_encrypted() else MAX_UPLOAD_BYTES


def _is_encrypted() -> bool:
    return is_encrypted(Path(settings.DATA_DIR))


def too_large() -> Refused:
    """Return the error for a file that is larger than `most_bytes`, with what its owner can do."""
    most = most_bytes() >> 20
    return Refused("file-too-large" if is_local() else "file-too-large-on-server", most=most)


def store_upload(owner: User, chunks: Iterable[bytes], size: int) -> UUID:
    """Store an uploaded file and return the key with which `find_upload` finds it.

    An owner has one file at a time: an earlier one is deleted. Raises Refused when it is too large, and
    Busy while the earlier one is read.
    """
    if size > most_bytes():
        raise too_large()
    if shared_uploads.are_shared():
        return shared_uploads.store_upload(owner, chunks, size)
    with lock_upload(owner):
        return _write_upload(owner, chunks)


@contextlib.contextmanager
def lock_upload(owner: User) -> Iterator[None]:
    """Hold the lock on an owner's file while it is read; raises Busy when another process or thread holds it.

    A killed process releases the lock.
    """
    if shared_uploads.are_shared():
        with shared_uploads.lock_upload(owner):
            yield
        return
    with try_lock(Path(settings.DATA_DIR) / "locks" / f"import-{owner.pk}") as acquired:
        if not acquired:
            raise Busy("upload-in-use")
        yield


def _write_upload(owner: User, chunks: Iterable[bytes]) -> UUID:
    folder = _folder(owner)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for earlier in folder.iterdir():
        earlier.unlink(missing_ok=True)
    key = uuid4()
    if _is_encrypted():
        EncryptedFile(folder / str(key)).write(chunks)
        return key
    # The file is never readable for other users.
    handle = os.open(folder / str(key), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        for chunk in chunks:
            file.write(chunk)
    return key


def find_upload(owner: User, key: UUID) -> ImportSource | None:
    """Return an owner's file; None when it is gone, too old or another owner's."""
    if shared_uploads.are_shared():
        return shared_uploads.find_upload(owner, key, _MAX_AGE_SECONDS)
    path = _folder(owner) / str(key)
    if not path.is_file() or _is_old(path):
        return None
    return EncryptedFile(path) if _is_encrypted() else path


def discard_upload(owner: User, key: UUID) -> None:
    """Delete a file that is no longer needed."""
    if shared_uploads.are_shared():
        shared_uploads.discard_upload(owner, key)
        return
    (_folder(owner) / str(key)).unlink(missing_ok=True)


def discard_uploads(owner_id: int) -> None:
    """Delete all files of an owner whose account is gone."""
    shutil.rmtree(_uploads() / str(owner_id), ignore_errors=True)


def remove_old_uploads() -> None:
    """Delete uploads that are older than an hour."""
    shared_uploads.remove_old_uploads(_MAX_AGE_SECONDS)
    for path in _uploads().glob("*/*"):
        with contextlib.suppress(FileNotFoundError):
            if _is_old(path):
                path.unlink()


def _is_old(path: Path) -> bool:
    return time.time() - path.stat().st_mtime > _MAX_AGE_SECONDS


def _uploads() -> Path:
    return Path(settings.DATA_DIR) / "imports"


def _folder(owner: User) -> Path:
    return _uploads() / str(owner.pk)
