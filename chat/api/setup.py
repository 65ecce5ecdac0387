"""Sets up Django in a plain Python program: settings, apps, and the newest schema. Starts no engine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import django
from django.apps import apps
from django.conf import settings

from memoryapp.base.locking import hold_lock

if TYPE_CHECKING:
    from chat.models import User


def set_up_django(storage_path: str | Path | None) -> None:
    """Set up Django on the data in a folder, by default memoryapp's own; does nothing where it is set up.

    A process has one data folder: a second one raises ValueError. A server may run on the same data; a file
    lock lets one process at a time migrate. Raises RuntimeError in another Django project's process.
    """
    folder = None if storage_path is None else Path(storage_path).expanduser().absolute()
    if folder is not None and folder.is_file():
        raise ValueError(f"storage_path is a folder, and {folder} is a file.")
    if apps.ready:
        _check_other(folder)
        return
    if folder is not None:
        os.environ["DATA_DIR"] = str(folder)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")
    django.setup()
    _check_other(folder)
    _migrate()


def _check_other(folder: Path | None) -> None:
    if not apps.is_installed("chat"):
        raise RuntimeError("This process runs another Django project; memoryapp needs a process of its own.")
    if folder is not None and folder != Path(settings.DATA_DIR):
        raise ValueError(f"This process uses the data in {settings.DATA_DIR}, so it cannot use {folder} too.")


def _migrate() -> None:
    from django.core.management import call_command
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor

    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        with hold_lock(Path(settings.DATA_DIR) / "migrate.lock"):
            call_command("migrate", interactive=False, verbosity=0)


def find_owner(owner: User | str | None) -> User:
    """Return the active user with this name; None stands for the owner of a local installation.

    Raises ValueError for an unknown name, and for None in server mode.
    """
    from django.contrib.auth import get_user_model

    from chat.actions.owners import local_owner

    if owner is None:
        if settings.MODE == "server":
            raise ValueError("A server has many owners: say whose memory this is with owner=.")
        return local_owner()
    if not isinstance(owner, str):
        return owner
    found = get_user_model().objects.filter(username=owner, is_active=True).first()
    if found is None:
        raise ValueError(f"There is no user called {owner!r}.")
    return found
