"""The programs that tests need are found, installed or asked for; CI skips no test for want of one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memoryapp.bootstrap import programs
from memoryapp.bootstrap.errors import BootstrapError

ROOT = Path(__file__).resolve().parents[2]


def test_the_chromium_named_in_the_environment_is_used(tmp_path: Path) -> None:
    mine = tmp_path / "my-chromium"
    mine.touch(mode=0o755)
    assert programs.find_chromium({"CHROMIUM": str(mine)}) == str(mine)
    assert programs.find_chromium({"CHROMIUM": str(tmp_path / "missing")}) is None


def test_without_chromium_and_root_the_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "find_chromium", lambda env: None)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.delenv("CHROMIUM", raising=False)
    with pytest.raises(BootstrapError, match="CHROMIUM=<path>"):
        programs.ensure_chromium(0)


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """This is a user who cannot install packages, on a machine without PostgreSQL and Redis."""
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr(programs, "find_postgresql", lambda: None)
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/apt-get" if name == "apt-get" else None)


@pytest.mark.usefixtures("nobody")
def test_missing_servers_are_named_with_their_packages_and_their_tests_skipped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(programs.TEST_SERVERS, raising=False)
    programs.ensure_servers(0)
    said = " ".join(capsys.readouterr().out.split())
    assert "sudo apt-get install postgresql redis-server" in said
    assert "these tests are skipped" in said


@pytest.mark.usefixtures("nobody")
def test_missing_servers_fail_the_run_where_they_are_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(programs.TEST_SERVERS, "required")
    with pytest.raises(BootstrapError, match="PostgreSQL and Redis"):
        programs.ensure_servers(0)


def test_root_gets_the_missing_server_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []
    there = {"apt-get": "/usr/bin/apt-get"}

    def install(label: str, command: list[str], *rest: object, **options: object) -> tuple[int, str]:
        ran.append(command)
        there["redis-server"] = "/usr/bin/redis-server"
        return 0, ""

    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(programs, "find_postgresql", lambda: Path("/usr/lib/postgresql/15/bin"))
    monkeypatch.setattr(shutil, "which", there.get)
    monkeypatch.setattr(programs, "run_logged", install)
    monkeypatch.setenv(programs.TEST_SERVERS, "required")
    programs.ensure_servers(0)
    assert ran[-1] == ["apt-get", "install", "-y", "--no-install-recommends", "redis-server"]


ASKS_FOR_IT = """
import os


def test_server():
    print("have", os.environ.get("TEST_POSTGRESQL_URL", "none")[:13])
    raise AssertionError
"""


STARTS_SERVERS = """
from tests.servers import start_servers as pytest_configure
from tests.servers import stop_servers as pytest_unconfigure
"""


@pytest.mark.parametrize(("processes", "printed"), [("1", "have postgresql://"), ("0", "have none")])
@pytest.mark.slow
def test_postgresql_runs_for_test_processes_and_not_for_a_single_one(
    tmp_path: Path, processes: str, printed: str
) -> None:
    if programs.find_missing_servers():
        pytest.skip("PostgreSQL or Redis is not installed")
    (tmp_path / "test_it.py").write_text(ASKS_FOR_IT)
    (tmp_path / "conftest.py").write_text(STARTS_SERVERS)
    env = {key: value for key, value in os.environ.items() if not key.startswith(("TEST_", "PYTEST_"))}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", processes, "-p", "no:django", "test_it.py"],
        cwd=tmp_path,
        env={**env, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert printed in done.stdout, done.stdout + done.stderr
