"""The central behaviours on a real PostgreSQL: DATABASE_URL is all that it takes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .postgresql import Unavailable, server

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
# What a database may do differently: search, cascades and undo, jobs.
CENTRAL = (
    "tests/search/test_finding.py",
    "tests/search/test_index.py",
    "tests/actions/test_jobs.py",
    "tests/actions/test_undo.py",
)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    try:
        with server() as address:
            yield address
    except Unavailable as reason:
        pytest.skip(str(reason))


def run(url: str, folder: Path, *command: str) -> str:
    """Run Python on this database and return what it said; it has to end well."""
    env = {**os.environ, "DATA_DIR": str(folder), "DATABASE_URL": url, "TEST_DATABASE_URL": url}
    env["DJANGO_SETTINGS_MODULE"] = "memoryapp.settings" if command[0] == "manage.py" else "tests.settings"
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=env, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


def test_migrations_go_forward_back_and_forward_again(url, tmp_path):
    run(url, tmp_path, "manage.py", "migrate", "-v", "0")
    run(url, tmp_path, "manage.py", "migrate", "chat", "0008", "-v", "0")
    run(url, tmp_path, "manage.py", "migrate", "-v", "0")
    run(url, tmp_path, "manage.py", "makemigrations", "--check", "--dry-run")


def test_what_holds_on_sqlite_holds_here(url, tmp_path):
    said = run(url, tmp_path, "-m", "pytest", "-q", *CENTRAL)
    assert " passed" in said
    assert "failed" not in said
