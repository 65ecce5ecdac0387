"""The virtual environment in .venv, and requirements.txt, the lock file from which it is installed.

Parses the lock into the requirements of each step; creates .venv, repairs it after an interruption, and
installs a part of the lock. Also the stamps of completed steps.
"""

import hashlib
import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from memoryapp.base.env import ROOT, cache_dir
from memoryapp.bootstrap.console import run_logged
from memoryapp.bootstrap.errors import BootstrapError, explain_pip_failure, explain_venv_failure

POSTGRES_MARKER = "# ---- only with PostgreSQL ----"
REDIS_MARKER = "# ---- only with Redis ----"
DEVELOPMENT_MARKER = "# ---- only development and tests ----"
BUILD_MARKER = "# ---- only compiling the engine ----"
ENGINE = "llama-cpp-python"


@dataclass(frozen=True)
class Lock:
    """The six parts of the lock as texts for pip.

    The engine is separate, since it is compiled with our flags.
    """

    runtime: str
    postgres: str
    redis: str
    development: str
    engine: str
    build: str

    @property
    def engine_version(self) -> str:
        """The pinned version of llama-cpp-python."""
        return version_of(self.engine)


def split_requirements(text: str) -> list[str]:
    """Return the requirements of a lock, each with its hash lines and without comments."""
    joined = re.sub(r"\\\n\s*", "\\\n    ", text)
    found: list[str] = []
    for line in joined.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if line.startswith(" ") and found:
            found[-1] += "\n" + line
        else:
            found.append(line)
    return found


def package_of(block: str) -> str:
    """Return the normalised name of the package that a requirement pins."""
    name = re.match(r"[A-Za-z0-9._-]+", block)
    if name is None:
        raise ValueError(f"not a requirement: {block.splitlines()[0]!r}")
    return re.sub(r"[-_.]+", "-", name.group()).lower()


def version_of(block: str) -> str:
    """Return the version that a requirement pins."""
    version = re.search(r"==([^\s;\\]+)", block)
    if version is None:
        raise ValueError(f"not pinned: {block.splitlines()[0]!r}")
    return version.group(1)


def split_lock(text: str) -> Lock:
    """Split the lock at its marker lines and separate the engine. Raises ValueError for an invalid lock."""
    runtime, found_first, rest = text.partition(POSTGRES_MARKER)
    postgres, found_redis, rest = rest.partition(REDIS_MARKER)
    redis, found, rest = rest.partition(DEVELOPMENT_MARKER)
    development, found_too, build = rest.partition(BUILD_MARKER)
    if not (found_first and found_redis and found and found_too):
        raise ValueError("requirements.txt has lost its marker lines; run .ci/lock")
    engine = [block for block in split_requirements(runtime) if package_of(block) == ENGINE]
    if len(engine) != 1:
        raise ValueError(f"requirements.txt pins {ENGINE} {len(engine)} times; run .ci/lock")
    others = [block for block in split_requirements(runtime) if package_of(block) != ENGINE]
    return Lock(
        runtime="\n".join(others) + "\n",
        postgres="\n".join(split_requirements(postgres)) + "\n",
        redis="\n".join(split_requirements(redis)) + "\n",
        development="\n".join(split_requirements(development)) + "\n",
        engine=engine[0] + "\n",
        build="\n".join(split_requirements(build)) + "\n",
    )


# The lock contains all packages with their hashes, so pip must not resolve or download anything else.
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
    """A Python: its path, tag (cp311), platform (linux-x86_64) and site-packages."""

    path: Path
    tag: str
    platform: str
    packages: Path


def python_of(folder: Path) -> Path:
    """Return the interpreter of a virtual environment."""
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def log_of(step: str) -> Path:
    """Return the path of a step's log."""
    return cache_dir() / "logs" / f"{step}.log"


def find_half_installed(packages: Path) -> list[Path]:
    """Return what an interrupted pip left in site-packages: metadata without INSTALLER, and folders renamed
    with `~`.

    pip writes INSTALLER last, but takes the metadata folder alone as "installed".
    """
    if not packages.is_dir():
        return []
    unfinished = [path for path in packages.glob("*.dist-info") if not (path / "INSTALLER").exists()]
    return sorted(unfinished + list(packages.glob("~*")))


def inspect_python(python: Path) -> Interpreter | None:
    """Return the description of an interpreter, None where it does not run or its pip is incomplete."""
    try:
        answer = subprocess.run([python, "-c", _ASK], capture_output=True, text=True, check=True, timeout=60)
        told = json.loads(answer.stdout)
        packages = Path(told["packages"])
        if any(path.name.startswith("pip-") for path in find_half_installed(packages)):
            return None
        subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError, ValueError, KeyError):
        return None
    return Interpreter(python, told["tag"], told["platform"], packages)


def read_last_interpreter() -> Interpreter | None:
    """Return the interpreter of .venv as the last run found it, None where it is gone."""
    try:
        told = json.loads((STAMPS / "python").read_text())
        found = Interpreter(python_of(VENV), told["tag"], told["platform"], Path(told["packages"]))
    except (OSError, ValueError, KeyError):
        return None
    return found if found.path.exists() and found.packages.is_dir() else None


def ensure_venv(keep: int) -> Interpreter:
    """Return the interpreter of .venv; create .venv where it is missing or broken. Raises BootstrapError."""
    found = read_last_interpreter() or inspect_python(python_of(VENV))
    if found is None:
        make_venv(VENV, "Making .venv", keep)
        found = inspect_python(python_of(VENV))
        if found is None:
            raise BootstrapError(f"The environment in .venv does not work. The log is {log_of('venv')}.")
    facts = {"tag": found.tag, "platform": found.platform, "packages": str(found.packages)}
    if read_last_interpreter() is None:
        mark_done("python", json.dumps(facts))
    return found


def make_venv(folder: Path, label: str, keep: int) -> None:
    """Create a virtual environment with pip, replacing the folder. Raises BootstrapError."""
    log = log_of("venv")
    code, output = run_logged(label, [sys.executable, "-m", "venv", "--clear", folder], log, keep=[keep])
    if code:
        raise BootstrapError(explain_venv_failure(output, log))


def install_once(interpreter: Interpreter, step: str, what: str, requirements: str, keep: int) -> None:
    """Install pinned, hashed wheels unless their stamp is up to date. Raises BootstrapError."""
    key = hash_of(requirements, interpreter.tag, interpreter.platform)
    if is_done(step, key):
        return
    for left in find_half_installed(interpreter.packages):
        shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink()
    install_into(interpreter.path, step, what, requirements, keep)
    mark_done(step, key)


def install_into(python: Path, step: str, what: str, requirements: str, keep: int) -> None:
    """Let an interpreter's pip install exactly these wheels. Raises BootstrapError."""
    listing = cache_dir() / "logs" / f"{step}.txt"
    listing.parent.mkdir(parents=True, exist_ok=True)
    listing.write_text(requirements)
    label = f"Installing {what} ({len(split_requirements(requirements))} packages)"
    log = log_of(step)
    code, output = run_logged(
        label, [python, "-m", "pip", "install", *PIP, *ONLY_WHEELS, "-r", listing], log, keep=[keep]
    )
    if code:
        raise BootstrapError(explain_pip_failure(what, output, log))


VENV = ROOT / ".venv"
# Inside .venv, so that deleting .venv starts from the beginning.
STAMPS = VENV / "stamps"


def hash_of(*parts: object) -> str:
    """Return a short hash of texts, numbers and paths in their order."""
    return hashlib.sha256("\0".join(str(part) for part in parts).encode()).hexdigest()[:16]


def is_done(step: str, key: str) -> bool:
    """Return whether the step was completed with exactly these inputs."""
    try:
        return (STAMPS / step).read_text() == key
    except OSError:
        return False


def mark_done(step: str, key: str) -> None:
    """Store that the step was completed with these inputs; atomic, also when the process is killed."""
    STAMPS.mkdir(parents=True, exist_ok=True)
    fresh = STAMPS / f"{step}.new"
    fresh.write_text(key)
    fresh.replace(STAMPS / step)


def hash_of_tree(*folders: Path) -> str:
    """Return a hash of the names, sizes and times of all files in the folders; their content is not read."""
    seen: list[object] = []
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                status = path.stat()
                seen += [path.relative_to(folder), status.st_size, status.st_mtime_ns]
    return hash_of(*seen)
