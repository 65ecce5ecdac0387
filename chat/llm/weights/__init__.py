"""The weights of models: the catalogue, the choice of a model, and fetching its files.

Standard library only and no Django, since `manage.py start` uses it before anything is installed.
"""

from .entries import (
    DEFAULT_EMBEDDER,
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
    NoNetwork,
    NoPip,
    NotEnoughMemory,
    SourceRefused,
    UnknownModel,
    WeightsError,
    WeightsMissing,
)
from .progress import Progress, silent

__all__ = [
    "DEFAULT_EMBEDDER",
    "ChecksumWrong",
    "DiskFull",
    "Entry",
    "File",
    "NoNetwork",
    "NoPip",
    "NotEnoughMemory",
    "Progress",
    "SourceRefused",
    "UnknownModel",
    "WeightsError",
    "WeightsMissing",
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
    """Fetch every missing file of a model, continuing an interrupted download. Raises WeightsError.

    A second process that fetches the same model waits.
    """
    # Imported lazily: it imports HTTP and TLS, which a server with all its weights never needs.
    from .fetching import fetch as fetch_files

    fetch_files(entry, progress)


def verify(entry: Entry, progress: Progress = silent) -> None:
    """Compare the sha256 of every file; raises WeightsMissing or ChecksumWrong."""
    from .fetching import verify as verify_files

    verify_files(entry, progress)
