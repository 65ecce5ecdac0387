"""Data folders of the processes that tests start: migrated, and with the collected static files."""

from __future__ import annotations

import atexit
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from tests.page_client import ROOT

# Variables that would change what a process started by a test uses.
_UNWANTED = (
    *("DJANGO_SETTINGS_MODULE", "MODEL_PATH", "MODEL"),
    *("MODE", "ALLOWED_HOSTS", "DATABASE_URL", "REDIS_URL"),
)


def build_environment(folder: Path, **variables: str) -> dict[str, str]:
    """Return the environment of a process with this data folder; the folder need not exist."""
    kept = {name: value for name, value in os.environ.items() if name not in _UNWANTED}
    # What runs on the machine of the tests must not change them.
    return kept | {"DATA_DIR": str(folder), "FIND_MODEL_SERVERS": "false"} | variables


def make_data_folder(folder: Path) -> None:
    """Make a data folder as after the first start.

    It is copied from a folder that is made once, because migrating takes five seconds.
    """
    shutil.copytree(_make_template(), folder)


def query_database(folder: Path, query: str) -> list[Any]:
    """Run a query on the database of a data folder, as another program would, and return the rows."""
    with sqlite3.connect(folder / "memoryapp.sqlite3", timeout=20) as connection:
        return connection.execute(query).fetchall()


@cache
def _make_template() -> Path:
    parent = Path(tempfile.mkdtemp(prefix="memoryapp-tests-"))
    atexit.register(shutil.rmtree, parent, ignore_errors=True)
    folder = parent / "data"
    for command in (["migrate", "-v0"], ["collectstatic", "--noinput", "-v0"]):
        subprocess.run(
            [sys.executable, "manage.py", *command], cwd=ROOT, env=build_environment(folder), check=True
        )
    return folder
