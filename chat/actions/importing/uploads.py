"""Files that wait between dry run and import: in the data folder, for their owner alone, for an hour."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.utils.translation import gettext as _

from chat.actions.messages import Busy, Refused
from memoryapp.locking import locked_if_free

# Bytes that come in by a page or a program; larger files go through the terminal, where nothing is copied.
MOST_UPLOADED = 256 << 20
_KEPT_SECONDS = 3600


def keep(owner: Any, chunks: Iterable[bytes], size: int) -> UUID:
    """Store a file that was sent and return the key under which `path_of` finds it.

    An owner has one at a time: an earlier one goes. Raises Refused where it is too large, and Busy while the
    earlier one is read.
    """
    if size > MOST_UPLOADED:
        raise Refused(too_large())
    with reading(owner):
        return _keep(owner, chunks)


@contextlib.contextmanager
def reading(owner: Any) -> Iterator[None]:
    """Keep an owner's file where it is for as long as somebody reads it; raises Busy where somebody does.

    Also between processes, and whoever is killed lets go of it.
    """
    with locked_if_free(Path(settings.DATA_DIR) / "locks" / f"import-{owner.pk}") as ours:
        if not ours:
            raise Busy(_("Another file is being read or imported. Wait until that is done."))
        yield


def _keep(owner: Any, chunks: Iterable[bytes]) -> UUID:
    folder = _folder(owner)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for earlier in folder.iterdir():
        earlier.unlink(missing_ok=True)
    key = uuid4()
    # No moment at which another could read it.
    handle = os.open(folder / str(key), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        for chunk in chunks:
            file.write(chunk)
    return key


def too_large() -> str:
    """Return the sentence about a file that is larger than what may come in."""
    sentence = _("This file is larger than %d MB. Import it in the terminal: manage.py import_memory")
    return sentence % (MOST_UPLOADED >> 20)


def path_of(owner: Any, key: UUID) -> Path | None:
    """Return where an owner's file lies, None when it is not there any more, or another's."""
    path = _folder(owner) / str(key)
    return path if path.is_file() and not _is_old(path) else None


def discard(owner: Any, key: UUID) -> None:
    """Delete a file that is not needed any more."""
    (_folder(owner) / str(key)).unlink(missing_ok=True)


def remove_old() -> None:
    """Delete what nobody came back for."""
    for path in _uploads().glob("*/*"):
        with contextlib.suppress(FileNotFoundError):
            if _is_old(path):
                path.unlink()


def _is_old(path: Path) -> bool:
    return time.time() - path.stat().st_mtime > _KEPT_SECONDS


def _uploads() -> Path:
    return Path(settings.DATA_DIR) / "imports"


def _folder(owner: Any) -> Path:
    return _uploads() / str(owner.pk)
