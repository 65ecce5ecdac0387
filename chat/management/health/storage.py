"""The database and the data folder."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from .finding import Finding, broken, ok

SYNCHRONOUS = {0: "off", 1: "normal", 2: "full", 3: "extra"}


def database() -> Iterator[Finding]:
    """The database's settings, and whether it is up to date."""
    name = str(connection.settings_dict["NAME"])
    if connection.vendor == "sqlite" and not Path(name).exists():
        yield broken("database", f"{name} is not there yet. Run python3 manage.py start.")
        return
    try:
        yield (
            _sqlite()
            if connection.vendor == "sqlite"
            else ok("database", f"{connection.display_name} {name}")
        )
        executor = MigrationExecutor(connection)
        pending = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError as error:
        yield broken("database", f"{name} cannot be read: {error}. Restore a backup, or move the file away.")
        return
    if pending:
        yield broken("migrations", f"{len(pending)} are waiting. Run python3 manage.py migrate.")
    else:
        yield ok("migrations", "all applied")


def _sqlite() -> Finding:
    with connection.cursor() as cursor:
        values = {}
        for pragma in ("journal_mode", "synchronous", "busy_timeout"):
            cursor.execute(f"PRAGMA {pragma}")
            values[pragma] = cursor.fetchone()[0]
    return sqlite_finding(values, str(getattr(connection, "transaction_mode", None)))


def sqlite_finding(values: dict[str, Any], transaction_mode: str) -> Finding:
    """Whether SQLite is set up as design §3 wants it."""
    synchronous = SYNCHRONOUS.get(values["synchronous"], str(values["synchronous"]))
    wrong = [
        text
        for good, text in (
            (values["journal_mode"] == "wal", "journal_mode must be wal"),
            (values["synchronous"] == 1, "synchronous must be normal"),
            (values["busy_timeout"] >= 5000, "busy_timeout must be 5 s or more"),
            (transaction_mode.upper() == "IMMEDIATE", "transaction_mode must be IMMEDIATE"),
        )
        if not good
    ]
    text = (
        f"SQLite, journal {values['journal_mode']}, synchronous {synchronous}, "
        f"busy_timeout {values['busy_timeout'] / 1000:.0f} s, transactions {transaction_mode}"
    )
    return (
        broken("database", f"{text}. {'; '.join(wrong)}: see DATABASES.") if wrong else ok("database", text)
    )


def data_folder(folder: Path) -> Finding:
    """Whether only the owner can read the data folder and the secret key."""
    try:
        opened = [path for path in (folder, folder / "secret_key") if path.exists() and _is_open(path)]
        owner = folder.stat().st_uid
    except OSError as error:
        return broken("data folder", f"{folder}: {error.strerror}.")
    if opened:
        commands = " && ".join(f"chmod {'700' if path.is_dir() else '600'} '{path}'" for path in opened)
        return broken("data folder", f"others on this machine can read {opened[0]}. Run: {commands}")
    if hasattr(os, "getuid") and owner != os.getuid():
        return broken(
            "data folder", f"{folder} belongs to another user. Give it to yourself, or set DATA_DIR."
        )
    return ok("data folder", f"{folder}, for its owner alone")


def _is_open(path: Path) -> bool:
    return os.name != "nt" and bool(path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))
