"""The environment in .venv: made once, mended when it was left half made, filled from the lock."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from memoryapp.bootstrap import stamps
from memoryapp.bootstrap.console import run
from memoryapp.bootstrap.errors import BootstrapError, pip_sentence, venv_sentence
from memoryapp.bootstrap.lock import blocks
from memoryapp.env import cache_dir

VENV = stamps.VENV
# The lock is complete and hashed, so pip may neither look further nor take anything else.
PIP = ("--no-deps", "--no-input", "--disable-pip-version-check", "--progress-bar", "off")
ONLY_WHEELS = ("--require-hashes", "--only-binary", ":all:")

_ASK = """
import json, sys, sysconfig
version = "".join(str(part) for part in sys.version_info[:2])
packages = sysconfig.get_path("purelib")
print(json.dumps({"tag": "cp" + version, "platform": sysconfig.get_platform(), "packages": packages}))
"""


@dataclass(frozen=True)
class Interpreter:
    """A Python of ours: where it is, its tag (cp311), its platform (linux-x86_64), its site-packages."""

    path: Path
    tag: str
    platform: str
    packages: Path


def python_of(folder: Path) -> Path:
    """The interpreter of a virtual environment."""
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def log_of(step: str) -> Path:
    """Where a step's log goes."""
    return cache_dir() / "logs" / f"{step}.log"


def half_installed(packages: Path) -> list[Path]:
    """What an interrupted pip left in site-packages: unfinished metadata, and names set aside with a `~`.

    pip writes INSTALLER when all of a package's files are there, but takes the folder alone as "installed".
    """
    if not packages.is_dir():
        return []
    unfinished = [path for path in packages.glob("*.dist-info") if not (path / "INSTALLER").exists()]
    return sorted(unfinished + list(packages.glob("~*")))


def ask(python: Path) -> Interpreter | None:
    """What an interpreter says of itself, or None when it does not run or its pip is not whole."""
    try:
        answer = subprocess.run([python, "-c", _ASK], capture_output=True, text=True, check=True, timeout=60)
        told = json.loads(answer.stdout)
        packages = Path(told["packages"])
        if any(path.name.startswith("pip-") for path in half_installed(packages)):
            return None
        subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError, ValueError, KeyError):
        return None
    return Interpreter(python, told["tag"], told["platform"], packages)


def remembered() -> Interpreter | None:
    """The interpreter of .venv as it was found the last time, as long as it is still there."""
    try:
        told = json.loads((stamps.FOLDER / "python").read_text())
        found = Interpreter(python_of(VENV), told["tag"], told["platform"], Path(told["packages"]))
    except (OSError, ValueError, KeyError):
        return None
    return found if found.path.exists() and found.packages.is_dir() else None


def ensure(keep: int) -> Interpreter:
    """Makes .venv, unless there is one that works, and returns its interpreter. Raises BootstrapError."""
    found = remembered() or ask(python_of(VENV))
    if found is None:
        make(VENV, "Making .venv", keep)
        found = ask(python_of(VENV))
        if found is None:
            raise BootstrapError(f"The environment in .venv does not work. The log is {log_of('venv')}.")
    facts = {"tag": found.tag, "platform": found.platform, "packages": str(found.packages)}
    if remembered() is None:
        stamps.mark("python", json.dumps(facts))
    return found


def make(folder: Path, label: str, keep: int) -> None:
    """Makes a virtual environment with pip, in place of whatever is there. Raises BootstrapError."""
    log = log_of("venv")
    code, output = run(label, [sys.executable, "-m", "venv", "--clear", folder], log, keep=[keep])
    if code:
        raise BootstrapError(venv_sentence(output, log))


def install(interpreter: Interpreter, step: str, what: str, requirements: str, keep: int) -> None:
    """Installs pinned, hashed wheels once. Raises BootstrapError."""
    key = stamps.digest(requirements, interpreter.tag, interpreter.platform)
    if stamps.is_fresh(step, key):
        return
    for left in half_installed(interpreter.packages):
        shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink()
    install_into(interpreter.path, step, what, requirements, keep)
    stamps.mark(step, key)


def install_into(python: Path, step: str, what: str, requirements: str, keep: int) -> None:
    """Lets an interpreter's pip install exactly these wheels and no others. Raises BootstrapError."""
    listing = cache_dir() / "logs" / f"{step}.txt"
    listing.parent.mkdir(parents=True, exist_ok=True)
    listing.write_text(requirements)
    label = f"Installing {what} ({len(blocks(requirements))} packages)"
    log = log_of(step)
    code, output = run(
        label, [python, "-m", "pip", "install", *PIP, *ONLY_WHEELS, "-r", listing], log, keep=[keep]
    )
    if code:
        raise BootstrapError(pip_sentence(what, output, log))
