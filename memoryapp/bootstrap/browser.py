"""The Chromium that browser tests drive: the one that is there, or Debian's."""

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from memoryapp.bootstrap.console import run
from memoryapp.bootstrap.environment import log_of
from memoryapp.bootstrap.errors import BootstrapError
from memoryapp.troubles import AGAIN

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_MAC = (
    Path("/Applications/Chromium.app/Contents/MacOS/Chromium"),
    Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"),
)


def find(env: Mapping[str, str]) -> str | None:
    """The path of a Chromium: what CHROMIUM names, else one on PATH or in macOS's applications."""
    if own := env.get("CHROMIUM", "").strip():
        return shutil.which(own)
    for name in _NAMES:
        if path := shutil.which(name):
            return path
    return next((str(path) for path in _MAC if sys.platform == "darwin" and path.exists()), None)


def ensure(keep: int) -> str:
    """The path of a Chromium, installed with apt where we may and there is none. Raises BootstrapError."""
    if path := find(os.environ):
        return path
    if own := os.environ.get("CHROMIUM"):
        raise BootstrapError(f"CHROMIUM names {own}, which is not a program here. Correct or unset it.")
    if not (shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0):
        raise BootstrapError(missing_sentence())
    log = log_of("chromium")
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    run("Asking Debian for its packages", ["apt-get", "update"], log, env=quiet, keep=[keep])
    install = ["apt-get", "install", "-y", "--no-install-recommends", "chromium", "fonts-liberation"]
    code, _ = run("Installing Chromium", install, log, env=quiet, keep=[keep])
    path = find(os.environ)
    if code or path is None:
        raise BootstrapError(f"Chromium could not be installed. The log is {log}. {AGAIN}")
    return path


def missing_sentence() -> str:
    """How to get a Chromium on this system."""
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
