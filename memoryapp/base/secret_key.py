"""Loads the secret key, which signs sessions and from which tokens and stored hashes are computed.

The key is a file in the data folder. Standard library only.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path

from .env import BadValue
from .files import write_private_file
from .locking import hold_lock

FILE = "secret_key"


# Commands that bring another key, or accept that the former one is lost.
_REPLACING = (["restore"], ["secret_key", "--accept-loss"])


def load_secret_key(folder: Path, database: Path | None, arguments: Sequence[str] = ()) -> str:
    """Return the key in a data folder; the first call makes it.

    `database` is the SQLite file whose hashes were made with the key, None for a server. The key's file is
    never seen half written, also when the process is killed or the power fails. Raises BadValue where the key
    is missing or empty and there is a database, unless the command in `arguments` replaces the key.
    """
    path = folder / FILE
    if key := read_key(folder):
        return key
    # Two first starts at once must not make two keys.
    with hold_lock(folder / f"{FILE}.lock"):
        if key := read_key(folder):
            return key
        if database is None or not database.exists() or not database.stat().st_size:
            return _make(path)
        if list(arguments[:1]) == _REPLACING[0]:
            # For this process only: the backup brings the key.
            return secrets.token_urlsafe(64)
        if list(arguments[:2]) == _REPLACING[1]:
            return _make(path)
        raise BadValue(
            f"The key in {path} is {'empty' if path.exists() else 'missing'}, and the database was made with "
            "it. Bring the file back, set SECRET_KEY to the key, or restore both from a backup: `manage.py "
            "restore`. Only if the key is lost for good: `manage.py secret_key --accept-loss`. Then all are "
            "logged out, and what was forgotten may be learned again."
        )


def read_key(folder: Path) -> str:
    """Return the key in a data folder as it is used, "" where its file is missing or empty."""
    try:
        key = (folder / FILE).read_text()
    except FileNotFoundError:
        return ""
    return key if key.strip() else ""


def _make(path: Path) -> str:
    key = secrets.token_urlsafe(64)
    write_private_file(path, key.encode())
    return key
