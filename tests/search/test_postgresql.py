"""Migrations and the central tests pass on a real PostgreSQL server, chosen by DATABASE_URL."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .postgresql import provide_postgresql

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
# Tests of behaviour that can differ between databases: search, cascades, undo and jobs.
CENTRAL_TESTS = (
    "tests/search/test_search.py",
    "tests/search/test_index.py",
    "tests/actions/test_jobs.py",
    "tests/actions/test_deletion_undo.py",
)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with provide_postgresql() as address:
        yield address


def run_python(url: str, folder: Path, *command: str) -> str:
    """Run Python with this database and return its standard output; assert that it succeeds."""
    env = {**os.environ, "DATA_DIR": str(folder), "DATABASE_URL": url, "TEST_DATABASE_URL": url}
    env["DJANGO_SETTINGS_MODULE"] = "memoryapp.settings" if command[0] == "manage.py" else "tests.settings"
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=env, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


def test_migrations_run_forward_backward_and_forward_again(url, tmp_path):
    run_python(url, tmp_path, "manage.py", "migrate", "-v", "0")
    run_python(url, tmp_path, "manage.py", "migrate", "chat", "0008", "-v", "0")
    run_python(url, tmp_path, "manage.py", "migrate", "-v", "0")
    run_python(url, tmp_path, "manage.py", "makemigrations", "--check", "--dry-run")


def test_the_central_tests_pass_on_postgresql(url, tmp_path):
    output = run_python(url, tmp_path, "-m", "pytest", "-q", *CENTRAL_TESTS)
    assert " passed" in output
    assert "failed" not in output
