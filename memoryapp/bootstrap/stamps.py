"""Marks of steps that are done, so that they are not done again until what they depend on changes."""

import hashlib
from pathlib import Path

from memoryapp.env import ROOT

VENV = ROOT / ".venv"
# Inside .venv: who deletes that, or makes it anew, starts from nothing.
FOLDER = VENV / "stamps"


def digest(*parts: object) -> str:
    """A short hash of texts, numbers and paths in their order."""
    return hashlib.sha256("\0".join(str(part) for part in parts).encode()).hexdigest()[:16]


def is_fresh(step: str, key: str) -> bool:
    """Whether the step was done with exactly these inputs."""
    try:
        return (FOLDER / step).read_text() == key
    except OSError:
        return False


def mark(step: str, key: str) -> None:
    """Notes that the step is done, in one piece even when we are killed meanwhile."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    fresh = FOLDER / f"{step}.new"
    fresh.write_text(key)
    fresh.replace(FOLDER / step)


def tree_digest(*folders: Path) -> str:
    """A hash of the names, sizes and times of all files below the folders; cheap, since nothing is read."""
    seen: list[object] = []
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                status = path.stat()
                seen += [path.relative_to(folder), status.st_size, status.st_mtime_ns]
    return digest(*seen)
