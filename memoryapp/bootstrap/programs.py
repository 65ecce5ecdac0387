"""Finds the programs that tests need: Chromium, PostgreSQL and Redis. On Debian, root gets them installed."""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from memoryapp.base.error_text import AGAIN
from memoryapp.bootstrap.console import run_logged, say
from memoryapp.bootstrap.environment import log_of
from memoryapp.bootstrap.errors import BootstrapError

# Whether a machine without PostgreSQL or Redis fails the run ("required"), or skips their tests (unset).
TEST_SERVERS = "TEST_SERVERS"
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_MAC = (
    Path("/Applications/Chromium.app/Contents/MacOS/Chromium"),
    Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"),
)


def find_chromium(env: Mapping[str, str]) -> str | None:
    """Return the path of a Chromium: the one in CHROMIUM, on PATH, or among the applications of macOS; None
    where there is none.
    """
    if own := env.get("CHROMIUM", "").strip():
        return shutil.which(own)
    for name in _NAMES:
        if path := shutil.which(name):
            return path
    return next((str(path) for path in _MAC if sys.platform == "darwin" and path.exists()), None)


def ensure_chromium(keep: int) -> str:
    """Return the path of a Chromium; install it with apt where that is possible. Raises BootstrapError."""
    if path := find_chromium(os.environ):
        return path
    if own := os.environ.get("CHROMIUM"):
        raise BootstrapError(f"CHROMIUM names {own}, which is not a program here. Correct or unset it.")
    if not _can_install():
        raise BootstrapError(chromium_hint())
    installed = _install("Chromium", ["chromium", "fonts-liberation"], keep)
    path = find_chromium(os.environ)
    if path is None or not installed:
        raise BootstrapError(f"Chromium could not be installed. The log is {log_of('chromium')}. {AGAIN}")
    return path


def chromium_hint() -> str:
    """Return the sentence that says how to install Chromium on this system."""
    if sys.platform == "darwin":
        command = "brew install --cask chromium"
    else:
        command = (
            "sudo apt-get install chromium" if shutil.which("apt-get") else "your system's package manager"
        )
    return (
        f"The browser tests need Chromium, and there is none. Install it ({command}), or name another one "
        "with CHROMIUM=<path>, and run the same command again."
    )


def find_postgresql() -> Path | None:
    """Return the folder of PostgreSQL's newest server programs, None where there are none."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    folders = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    return max(folders, key=lambda folder: _version_of(folder.parent.name), default=None)


def _version_of(name: str) -> int:
    return int(name) if name.isdigit() else 0


def find_missing_servers() -> dict[str, str]:
    """Return the servers that tests need and this machine lacks, each with its Debian package."""
    missing = {}
    if find_postgresql() is None:
        missing["PostgreSQL"] = "postgresql"
    if shutil.which("redis-server") is None:
        missing["Redis"] = "redis-server"
    return missing


def ensure_servers(keep: int) -> None:
    """Install PostgreSQL and Redis with apt where they are missing and that is possible.

    Raises BootstrapError where one is missing then and TEST_SERVERS is "required"; otherwise says that its
    tests will be skipped.
    """
    missing = find_missing_servers()
    if missing and _can_install():
        _install(" and ".join(missing), [*missing.values()], keep)
        missing = find_missing_servers()
    if not missing:
        return
    if os.environ.get(TEST_SERVERS) == "required":
        raise BootstrapError(servers_hint(missing))
    say(f"{servers_hint(missing)} Meanwhile these tests are skipped.")


def servers_hint(missing: Mapping[str, str]) -> str:
    """Return the sentence that says what is missing and how to install it."""
    names = " and ".join(missing)
    if sys.platform == "darwin":
        command = "brew install " + " ".join({"redis-server": "redis"}.get(p, p) for p in missing.values())
    elif shutil.which("apt-get"):
        command = "sudo apt-get install " + " ".join(missing.values())
    else:
        command = "your system's package manager"
    return f"The tests of several processes need {names}, which this machine lacks. Install it ({command})."


def _can_install() -> bool:
    return shutil.which("apt-get") is not None and hasattr(os, "geteuid") and os.geteuid() == 0


def _install(what: str, packages: Sequence[str], keep: int) -> bool:
    """Install Debian packages; return whether apt succeeded."""
    log = log_of(packages[0])
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    run_logged("Asking Debian for its packages", ["apt-get", "update"], log, env=quiet, keep=[keep])
    install = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    code, _ = run_logged(f"Installing {what}", install, log, env=quiet, keep=[keep])
    return code == 0
