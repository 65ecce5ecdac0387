"""Loads the secret key, which signs sessions and from which tokens and stored hashes are computed.

The key is a file in the data folder. Standard library only.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from .env import BadValue
from .files import write_private_file
from .locking import hold_lock

FILE = "secret_key"


def load_secret_key(folder: Path, database: Path) -> str:
    """Return the key in a data folder; the first call makes it.

    The file is never seen half written, also when the process is killed or the power fails. Raises BadValue
    where it is empty and there is a database, whose hashes were made with the key that is lost.
    """
    path = folder / FILE
    if key := _read(path):
        return key
    # Two first starts at once must not make two keys.
    with hold_lock(folder / f"{FILE}.lock"):
        if key := _read(path):
            return key
        if path.exists() and database.exists() and database.stat().st_size:
            raise BadValue(
                f"The key in {path} is empty, and the database was made with another one. Restore both from "
                "a backup: delete the file and run `manage.py restore`. Without a backup delete it too: then "
                "all are logged out, tokens end, and what was forgotten may be learned again."
            )
        return _make(path)


def _read(path: Path) -> str:
    try:
        key = path.read_text()
    except FileNotFoundError:
        return ""
    return key if key.strip() else ""


def _make(path: Path) -> str:
    key = secrets.token_urlsafe(64)
    write_private_file(path, key.encode())
    return key
