"""A data folder of its own for commands that replace the database, and PostgreSQL databases to move to."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, connection
from pytest_django import DjangoDbBlocker

from chat.management.copying.databases import migrate, second_database
from memoryapp.base.service_urls import parse_database_url
from tests.search.postgresql import (
    make_database,
    provide_postgresql,
)

from .filled_folder import copy_folder, fill_folder, use_folder


@pytest.fixture
def data_folder(settings, tmp_path, transactional_db, monkeypatch):
    """A data folder with a database of its own, which a restore may replace."""
    if connection.vendor != "sqlite":
        pytest.skip("these tests are about an SQLite file")
    folder = tmp_path / "data"
    folder.mkdir()
    settings.DATA_DIR = folder
    (folder / "secret_key").write_text("the key")
    settings.SECRET_KEY = "the key"
    here = folder / "memoryapp.sqlite3"
    connection.ensure_connection()
    with closing(sqlite3.connect(here)) as copy:
        connection.connection.backup(copy)
    connection.close()
    monkeypatch.setitem(connection.settings_dict, "NAME", str(here))
    yield folder
    connection.close()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    with provide_postgresql() as url:
        yield url


@pytest.fixture(scope="session")
def migrated(postgresql: str, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """The URL of a database with tables and without data."""
    with make_database(postgresql) as made:
        with django_db_blocker.unblock(), second_database("migrated", parse_database_url(made)):
            migrate("migrated")
        yield made


@pytest.fixture
def url(postgresql: str, migrated: str) -> Iterator[str]:
    """A copy of it, which saves each move the seconds for making the tables."""
    with make_database(postgresql, migrated) as made:
        yield made


@pytest.fixture(scope="session")
def empty_folder(tmp_path_factory: pytest.TempPathFactory, django_db_blocker: DjangoDbBlocker) -> Path:
    """A data folder with tables and without data, and without a key."""
    folder = tmp_path_factory.mktemp("empty") / "data"
    folder.mkdir(mode=0o700)
    with django_db_blocker.unblock(), use_folder(folder):
        migrate(DEFAULT_DB_ALIAS)
        with connection.cursor() as cursor:
            # As the settings do; otherwise the first command would change the file.
            cursor.execute("PRAGMA journal_mode=WAL")
    return folder


@pytest.fixture
def new_folder(empty_folder: Path, tmp_path: Path) -> Path:
    """A copy of it, which saves each move and each restore the seconds for making the tables."""
    return copy_folder(empty_folder, tmp_path / "new")


@pytest.fixture(scope="session")
def filled(
    empty_folder: Path, tmp_path_factory: pytest.TempPathFactory, django_db_blocker: DjangoDbBlocker
) -> Path:
    """A data folder with a bit of everything."""
    folder = copy_folder(empty_folder, tmp_path_factory.mktemp("filled") / "data")
    with django_db_blocker.unblock():
        fill_folder(folder)
    return folder


@pytest.fixture(scope="session")
def moved(postgresql: str, migrated: str, filled: Path, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """The URL of a database with what is in that folder."""
    with make_database(postgresql, migrated) as made:
        with django_db_blocker.unblock(), use_folder(filled):
            call_command("move", to=made)
        yield made


@pytest.fixture
def filled_url(postgresql: str, moved: str) -> Iterator[str]:
    """A copy of it."""
    with make_database(postgresql, moved) as made:
        yield made


@pytest.fixture
def on_postgresql(filled_copy: Path, filled_url: str, django_db_blocker: DjangoDbBlocker) -> Iterator[Path]:
    """A data folder whose database is in PostgreSQL, both of which this process uses."""
    with django_db_blocker.unblock(), use_folder(filled_copy, filled_url):
        yield filled_copy


@pytest.fixture
def filled_copy(filled: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return copy_folder(filled, tmp_path / "data")


@pytest.fixture
def here(filled_copy: Path, django_db_blocker: DjangoDbBlocker) -> Iterator[Path]:
    """A copy of it, which this process uses."""
    with django_db_blocker.unblock(), use_folder(filled_copy):
        yield filled_copy
