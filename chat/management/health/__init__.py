"""The checks of `manage.py doctor`: each looks at one thing and says that it is well, or what to do."""

from collections.abc import Iterator

from memoryapp.env import data_path
from memoryapp.machine import read_cpu_flags
from memoryapp.provider import chosen

from .finding import Finding, State
from .machine import build, disk, memory, processor, python
from .models import decode, embedder, model
from .remote import remote
from .storage import data_folder, database

__all__ = ["Finding", "State", "examine"]


def examine(*, deep: bool) -> Iterator[Finding]:
    """Looks at everything, one finding at a time; `deep` reads the weights whole and compares checksums."""
    yield python()
    yield build()
    yield processor(read_cpu_flags())
    server = chosen()
    if server is None:
        yield model(deep=deep)
        yield memory()
    else:
        yield from remote(server)
    yield disk()
    yield embedder(deep=deep)
    yield from database()
    yield data_folder(data_path())
    if server is None:
        yield decode()
