"""A data folder with a bit of everything, commands that use it, and all of its rows."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from django.contrib.contenttypes.models import ContentType
from django.db import DEFAULT_DB_ALIAS, connections
from django.test import override_settings

from chat.management.copying.databases import sqlite_settings
from memoryapp.base.service_urls import parse_database_url
from tests.data_folder import build_environment
from tests.page_client import ROOT

_FILL = """
from django.contrib.sessions.backends.db import SessionStore
from allauth.socialaccount.models import SocialAccount
from chat.actions.indexing import fill_index
from chat.actions.installation import require_same_secret
from chat.actions.owners import local_owner
from chat.models import Conversation, Message, Fact
from tests.porting.sample_data import create_sample_data
require_same_secret()
owner = local_owner()
create_sample_data(owner, messages=90, facts=12)
while fill_index(list(Conversation.objects.values_list("pk", flat=True))):
    pass
session = SessionStore()
session["a"] = 1
session.save()
chat = Conversation.objects.first()
chat.metadata = {"large": 1e16, "small": -0.0, "text": "a\\0b", "none": None}
chat.save(update_fields=["metadata"])
fact = Fact.objects.first()
Fact.objects.filter(pk=fact.pk).update(text="a\\0b", embedding=bytes(range(256)))
account = SocialAccount.objects.create(user=owner, provider="x", uid="1")
SocialAccount.objects.update(date_joined="2020-01-02T03:04:05.678901Z")
"""


def fill_folder(folder: Path) -> None:
    """Put a login, chats, memory, and values that databases store differently into a data folder."""
    (folder / "secret_key").write_text("the key of the filled folder")
    with use_folder(folder):
        exec(_FILL, {})  # noqa: S102


def copy_folder(folder: Path, target: Path) -> Path:
    """Copy a data folder; return the copy."""
    shutil.copytree(folder, target)
    target.chmod(0o700)
    return target


@contextmanager
def use_folder(folder: Path, url: str = "") -> Iterator[None]:
    """Let this process run commands with a data folder, and with its database or another one.

    pytest-django must have allowed databases.
    """
    file = folder / "memoryapp.sqlite3"
    database = parse_database_url(url) if url else sqlite_settings(file, encrypted=False)
    key = folder / "secret_key"
    more = {"SECRET_KEY": key.read_text()} if key.exists() else {}
    former = connections[DEFAULT_DB_ALIAS], connections.settings[DEFAULT_DB_ALIAS]
    configured = connections.configure_settings({DEFAULT_DB_ALIAS: database})
    with override_settings(DATA_DIR=folder, **more):
        connections.settings[DEFAULT_DB_ALIAS] = configured[DEFAULT_DB_ALIAS]
        connections[DEFAULT_DB_ALIAS] = connections.create_connection(DEFAULT_DB_ALIAS)
        # The types have other keys in another database.
        ContentType.objects.clear_cache()
        try:
            yield
        finally:
            ContentType.objects.clear_cache()
            connections[DEFAULT_DB_ALIAS].close()
            connections[DEFAULT_DB_ALIAS], connections.settings[DEFAULT_DB_ALIAS] = former


def manage(folder: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command of manage.py with a data folder."""
    return run([str(ROOT / "manage.py"), *command], folder, **variables)


def run(command: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = build_environment(folder, **variables)
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=200
    )


def read_all(folder: Path) -> dict[str, list[str]]:
    """Return the rows of all tables of a data folder that a move copies."""
    with closing(sqlite3.connect(folder / "memoryapp.sqlite3")) as opened:
        names = opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        left_out = ("sqlite_", "django_migrations", "chat_process", "chat_searchwords")
        tables = [name for (name,) in names if not name.startswith(left_out)]
        rows = {name: opened.execute(f"SELECT * FROM {name}").fetchall() for name in tables}  # noqa: S608
    return {name: sorted(repr([normal(v) for v in row]) for row in rows[name]) for name in tables}


def normal(value: Any) -> Any:
    """PostgreSQL sorts the names in JSON, stores numbers by their value, and has no character 0."""
    if not isinstance(value, str):
        return value
    if value[:1] in ("{", "["):
        value = json.dumps(json.loads(value, parse_float=lambda number: float(number) + 0.0), sort_keys=True)
        value = value.replace("1e+16", "10000000000000000").replace("\\u0000", "\\ufffd")
    return value.replace("\0", "\ufffd")
