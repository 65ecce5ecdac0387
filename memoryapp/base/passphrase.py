"""Whether the data is encrypted, and how a passphrase or opened keys reach a process. Standard library only.

A passphrase and keys are never arguments or environment variables, since other programs can see those: they
come through a descriptor, whose number is in an environment variable, or from the terminal.
"""

import getpass
import json
import os
import sys
import unicodedata
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path

from .env import BadValue

KEY_FILE = "encryption.key"
# Environment variables with the number of a descriptor: of the passphrase, of keys opened by a parent
# process, and of the passphrase of a backup.
PASSPHRASE_FD, KEYS_FD = "PASSPHRASE_FD", "ENCRYPTION_KEYS_FD"
BACKUP_PASSPHRASE_FD = "BACKUP_PASSPHRASE_FD"  # noqa: S105 - the name of a variable
ATTEMPTS = 3
WRONG = "This passphrase does not open the data."
UNFINISHED = (
    "Encrypting or decrypting was broken off. Run `manage.py encrypt` or `manage.py decrypt` again: either "
    "goes on where it stopped."
)
_PLAIN_HEADER = b"SQLite format 3\0"


class WrongPassphrase(BadValue):
    """A passphrase that does not open the key file."""


def key_file(folder: Path) -> Path:
    """Return the file in a data folder that holds the keys, encrypted with the passphrase."""
    return folder / KEY_FILE


def is_encrypted(folder: Path) -> bool:
    """Return whether the data in a folder is encrypted."""
    return key_file(folder).exists()


def is_plain(database: Path) -> bool:
    """Return whether a file is an SQLite database without encryption."""
    try:
        with database.open("rb") as file:
            return file.read(len(_PLAIN_HEADER)) == _PLAIN_HEADER
    except FileNotFoundError:
        return False


def is_unfinished(folder: Path, database: Path) -> bool:
    """Return whether `encrypt` or `decrypt` was broken off: there are keys, and the database is plain."""
    return is_encrypted(folder) and is_plain(database)


def read_descriptor(variable: str, env: MutableMapping[str, str] = os.environ) -> str | None:
    """Read the descriptor that a variable names to its end and close it; None where the variable is unset.

    The variable is removed, since the descriptor can be read once. One line break at the end is not part of
    the text. Raises BadValue where there is no such descriptor.
    """
    number = env.pop(variable, "").strip()
    if not number:
        return None
    try:
        # The standard streams stay open: the next file would get the number of a closed one.
        with os.fdopen(int(number), "rb", closefd=int(number) > 2) as file:
            return file.read().decode().removesuffix("\n").removesuffix("\r")
    except (ValueError, OSError):
        raise BadValue(f"The descriptor {number} for the passphrase cannot be read.") from None


def normalize(passphrase: str) -> str:
    """Return a passphrase in the one form that is used: keyboards write "é" in two ways."""
    return unicodedata.normalize("NFC", passphrase)


def ask(prompt: str = "Passphrase: ") -> str:
    """Ask for a passphrase in the terminal. Raises BadValue without a terminal."""
    if not sys.stdin.isatty():
        raise BadValue(
            "The data is encrypted, and there is no terminal to ask for the passphrase. Give it through a "
            "descriptor: --passphrase-fd 3 3< FILE"
        )
    try:
        return getpass.getpass(prompt)
    except EOFError:
        raise BadValue("No passphrase was given.") from None


@contextmanager
def hand_over(keys: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield a descriptor from which a child process reads `keys`, and the variables that name it.

    A text of some hundred bytes fits into a pipe, so that writing it waits for nobody.
    """
    reading, writing = os.pipe()
    try:
        os.write(writing, keys.encode())
        os.close(writing)
        os.set_inheritable(reading, True)
        yield reading, {KEYS_FD: str(reading)}
    finally:
        os.close(reading)


def dump_keys(values: dict[str, str]) -> str:
    """Return keys as text for `hand_over`."""
    return json.dumps(values)
