"""The weights of models: the catalogue, the choice, bringing files here. Standard library only, no Django."""

from .entries import (
    Entry,
    File,
    catalog,
    choose_model,
    embedder,
    entry_named,
    is_present,
    model_path,
    path_of,
    require,
    require_memory,
)
from .errors import (
    ChecksumWrong,
    DiskFull,
    Missing,
    NoNetwork,
    NoPip,
    NotEnoughMemory,
    Refused,
    Unknown,
    WeightsError,
)
from .progress import Progress, silent

__all__ = [
    "ChecksumWrong",
    "DiskFull",
    "Entry",
    "File",
    "Missing",
    "NoNetwork",
    "NoPip",
    "NotEnoughMemory",
    "Progress",
    "Refused",
    "Unknown",
    "WeightsError",
    "catalog",
    "choose_model",
    "embedder",
    "entry_named",
    "fetch",
    "is_present",
    "model_path",
    "path_of",
    "require",
    "require_memory",
    "silent",
    "verify",
]


def fetch(entry: Entry, progress: Progress = silent) -> None:
    """Brings every file of the model that is missing; goes on where an interrupted run stopped.

    Raises WeightsError. Safe against a second fetch at the same time.
    """
    # Imported at need: with it come HTTP and TLS, which a server that has its weights never uses.
    from .fetching import fetch as bring

    bring(entry, progress)


def verify(entry: Entry, progress: Progress = silent) -> None:
    """Compares the sha256 of every file; raises Missing or ChecksumWrong."""
    from .fetching import verify as compare

    compare(entry, progress)
