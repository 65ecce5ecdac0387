"""A data folder of its own for commands that replace the database."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from django.db import connection


@pytest.fixture
def data_folder(settings, tmp_path, transactional_db, monkeypatch):
    """A data folder with a database of its own, which a restore may replace."""
    if connection.vendor != "sqlite":
        pytest.skip("a database server has tools of its own")
    folder = tmp_path / "data"
    folder.mkdir()
    settings.DATA_DIR = folder
    (folder / "secret_key").write_text("the key")
    here = folder / "memoryapp.sqlite3"
    connection.ensure_connection()
    with closing(sqlite3.connect(here)) as copy:
        connection.connection.backup(copy)
    connection.close()
    monkeypatch.setitem(connection.settings_dict, "NAME", str(here))
    yield folder
    connection.close()
