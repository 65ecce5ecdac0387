"""Arguments that several commands share: the owner, and the output file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError

from chat.actions.installation import require_same_secret
from chat.actions.owners import is_local, local_owner
from memoryapp.base.locking import try_lock
from memoryapp.base.sqlcipher import DATABASE_ERRORS


@contextlib.contextmanager
def write_atomically(target: Path) -> Iterator[Path]:
    """Yield a temporary file beside `target` that replaces it at the end of the block, readable by its owner
    only.

    Where the block fails, an existing target stays and the temporary file is removed. Raises CommandError for
    errors of the disk or the database.
    """
    if target.exists() and not target.is_file():
        # Renaming would replace a device such as /dev/null, and cannot replace a folder.
        raise CommandError(f"{target} is no file. Name one to write.")
    half = target.with_name(f"{target.name}.part")
    try:
        half.unlink(missing_ok=True)
        half.touch(mode=0o600)
        # The lock tells a start of the server that this process lives.
        with try_lock(half):
            yield half
            half.replace(target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            half.unlink(missing_ok=True)
        if isinstance(error, (OSError, *DATABASE_ERRORS)):
            why = getattr(error, "strerror", None) or error
            failed = getattr(error, "filename", None)
            place = target if failed in (None, str(half)) else failed
            raise CommandError(f"{place} cannot be written: {why}.") from error
        raise


def find_owner(name: str) -> Any:
    """Return the user with this name; without a name, the owner of a local installation.

    Raises CommandError, and OtherSecretKey where the database was made with another secret key.
    """
    require_same_secret()
    if not name:
        if is_local():
            return local_owner()
        raise CommandError("Say whose with --owner NAME: several people log in here.")
    found = get_user_model().objects.filter(username=name).first()
    if found is None:
        raise CommandError(f"There is no user named {name}.")
    return found
