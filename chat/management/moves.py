"""Moves everything into another database: from SQLite to PostgreSQL, and back."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from django.conf import settings
from django.core.management.base import CommandError
from django.db import connection
from django.utils.crypto import salted_hmac

from chat.actions import installation, processes
from memoryapp.base.env import BadValue, database_path
from memoryapp.base.files import write_private_file
from memoryapp.base.passphrase import is_encrypted
from memoryapp.base.secret_key import FILE as _KEY
from memoryapp.base.secret_key import read_key
from memoryapp.base.service_urls import parse_database_url

from .copying.constraints import check_foreign_keys
from .copying.copy import Report
from .copying.databases import (
    is_encrypted_here,
    require_current_tables,
    second_database,
    sqlite_settings,
    standing_still,
)
from .copying.resumable import copy_in_steps, require_usable
from .engine_lock import lock_engine

_ALIAS = "move_target"
_PROVIDER = "provider.json"
_HIDDEN = "PASSWORD"


@dataclass(frozen=True, slots=True)
class Target:
    """Where everything goes: Django's settings of the database, and the data folder of an SQLite file.

    `shown` is the URL without its password.
    """

    database: dict[str, Any]
    folder: Path | None
    shown: str


def parse_target(text: str) -> Target:
    """Return the database that `--to` names. Raises CommandError, without a password in it."""
    if text == "sqlite" or text.startswith("sqlite:"):
        folder = _folder_of(text.removeprefix("sqlite").removeprefix(":").removeprefix("//"))
        file = folder / database_path().name
        encrypted = is_encrypted_here(file)
        return Target(sqlite_settings(file, encrypted=encrypted), folder, str(file))
    try:
        return Target(parse_database_url(text), None, hide_password(text))
    except BadValue as error:
        if not text.startswith("postgres"):
            raise CommandError(
                "--to must be a PostgreSQL database (postgresql://user:password@host/name) or an SQLite file "
                "in a data folder (sqlite:///path/of/the/folder; only `sqlite` for the present one)."
            ) from None
        raise CommandError(str(error).replace("DATABASE_URL", "--to")) from None


def _folder_of(path: str) -> Path:
    if not path:
        return Path(settings.DATA_DIR)
    place = Path(path).expanduser()
    if not place.is_absolute():
        raise CommandError("--to needs the whole path of the data folder: sqlite:///path/of/the/folder.")
    if place.suffix != database_path().suffix:
        return place
    if place.name != database_path().name:
        raise CommandError(f"The file is always called {database_path().name}. Name its folder.")
    return place.parent


def hide_password(url: str) -> str:
    """Return a database's URL with PASSWORD in the place of a password."""
    parts = urlsplit(url)
    _login, at, host = parts.netloc.rpartition("@")
    name, colon, _password = _login.partition(":")
    netloc = f"{name}{colon}{_HIDDEN if colon else ''}{at}{host}"
    options = [(key, _HIDDEN if key == "password" else value) for key, value in parse_qsl(parts.query)]
    return urlunsplit(parts._replace(netloc=netloc, query=urlencode(options)))


def move(target: Target, report: Report) -> int:
    """Copy everything into the target and compare; return the number of rows.

    The present database does not change, and nobody can write to it meanwhile. A move that was broken off
    goes on. Raises CommandError where a server runs, the target is not empty, or something differs; and
    BadValue for another secret key.
    """
    _check_source(target)
    with (
        _hold_locks(target),
        second_database(_ALIAS, target.database) as there,
        standing_still(connection),
        _hold_target(there),
    ):
        require_nobody()
        if connection.vendor == "sqlite":
            check_foreign_keys(connection)
        identity = _identify_source()
        require_usable(identity, there)
        if target.folder is not None:
            # First: a database that is complete and has no key is of no use.
            _take_files_along(target.folder)
        return copy_in_steps(connection.alias, identity, there, report)


def _check_source(target: Target) -> None:
    here = connection.settings_dict
    names = ("NAME", "HOST", "PORT")
    if [str(here.get(name) or "") for name in names] == [
        str(target.database.get(name) or "") for name in names
    ]:
        raise CommandError("This is the present database. Name another one.")
    if connection.vendor == "sqlite" and not Path(here["NAME"]).exists():
        raise CommandError(f"There is nothing to move: {here['NAME']} is not there.")
    installation.require_no_unfinished_move(connection)
    require_current_tables(connection)
    if not installation.is_same_secret():
        raise CommandError(
            "The present database was made with another secret key than the one here: `manage.py secret_key`."
        )
    if target.folder is not None:
        _check_folder(target.folder)


def _check_folder(folder: Path) -> None:
    """Raise CommandError for a data folder that others can read, or that has another secret key."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"{folder} cannot be made: {error.strerror}.") from error
    if os.name != "nt" and folder.stat().st_mode & 0o077:
        raise CommandError(
            f"Others on this machine can read {folder}. Name a new folder, or close it: chmod 700."
        )
    if is_encrypted(folder) and folder != Path(settings.DATA_DIR):
        raise CommandError(f"{folder} has keys of encrypted data. Name a new folder.")
    if read_key(folder) not in ("", settings.SECRET_KEY):
        raise CommandError(f"{folder / _KEY} is another secret key than the present one. Name a new folder.")


@contextmanager
def _hold_locks(target: Target) -> Iterator[None]:
    """Keep servers with the present data folder and with the one of the target from starting."""
    with ExitStack() as stack:
        for folder in dict.fromkeys([Path(settings.DATA_DIR), target.folder]):
            if folder is not None:
                stack.enter_context(lock_engine(folder, "move"))
        yield


@contextmanager
def _hold_target(there: Any) -> Iterator[None]:
    """Keep another move out of a PostgreSQL database until the block ends. Raises CommandError."""
    if there.vendor == "sqlite":
        yield
        return
    with there.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [_MOVE_LOCK])
        if not cursor.fetchone()[0]:
            raise CommandError("Another move into this database is running.")
    # The lock ends with the connection, which ends with the move.
    yield


# The number of PostgreSQL's advisory lock of a move. It differs from that of `migrate`.
_MOVE_LOCK = 7_355_608_002


def require_nobody() -> None:
    """Raise CommandError where a process uses the present database, if others can."""
    if processes.is_database_shared() and (living := list(processes.find_living())):
        who = "; ".join(str(row) for row in living)
        raise CommandError(
            f"memoryapp is running on this database: {who}. Stop it on every machine first. A process that "
            f"was killed counts as running for {settings.PROCESS_DEAD_SECONDS:.0f} seconds."
        )


def _identify_source() -> str:
    """Return a hash that identifies the present database, so that a resumed move notices another source."""
    here = connection.settings_dict
    place = "|".join(str(here.get(name) or "") for name in ("ENGINE", "HOST", "PORT", "NAME"))
    return salted_hmac("chat.move", place, algorithm="sha256").hexdigest()


def _take_files_along(folder: Path) -> None:
    """Copy the secret key and the chosen model server into a new data folder."""
    if not read_key(folder):
        write_private_file(folder / _KEY, settings.SECRET_KEY.encode())
    choice = Path(settings.DATA_DIR) / _PROVIDER
    if choice.exists() and not (folder / _PROVIDER).exists():
        write_private_file(folder / _PROVIDER, choice.read_bytes())


def describe_next_steps(target: Target) -> list[str]:
    """Return the lines that say how to start with the new database, and what is left of the old one."""
    if target.folder is None:
        lines = ["Start with it, and set the same for every other command:"]
        lines.append(f"    DATABASE_URL={shlex.quote(target.shown)} python3 manage.py start")
        if _HIDDEN in target.shown:
            lines.append(f"    with the password in the place of {_HIDDEN}.")
        lines.append(_describe_key())
    else:
        own = target.folder == Path(settings.DATA_DIR)
        lines = ["Start with it, and leave DATABASE_URL out of every command from now on:"]
        folder = "" if own else f"DATA_DIR={shlex.quote(str(target.folder))} "
        lines.append(f"    env -u DATABASE_URL {folder}python3 manage.py start")
        if os.environ.get("SECRET_KEY"):
            lines.append("    with SECRET_KEY as now, or without: the key is in the data folder too.")
    lines.append("The former database is as it was. Remove it when you are sure; it holds everything.")
    return lines


def _describe_key() -> str:
    if os.environ.get("SECRET_KEY"):
        return "Every machine needs the same SECRET_KEY as here."
    return (
        f"The secret key stays in {Path(settings.DATA_DIR) / _KEY}. Another machine needs this file in its "
        "data folder, or the content of it as SECRET_KEY."
    )
