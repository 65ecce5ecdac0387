"""Runs the checks of `manage.py doctor`: each finds that all is well, or says what to do."""

from collections.abc import Iterator
from importlib.util import find_spec

from django.conf import settings
from django.db import DatabaseError, connection

from chat.actions.provider import read_choice
from memoryapp.base.env import data_path, database_path
from memoryapp.base.machine import read_cpu_flags
from memoryapp.base.provider import ServerChoice

from .checks import (
    check_build,
    check_database,
    check_decode,
    check_disk,
    check_embedder,
    check_memory,
    check_model,
    check_processor,
    check_python,
    check_remote,
)
from .data_folder import check_data_folder, check_encryption, check_leftovers
from .findings import Finding, FindingState
from .processes import check_processes
from .server import check_public_address, check_shared_database, check_static_files

__all__ = ["Finding", "FindingState", "run_checks"]


def run_checks(*, deep: bool) -> Iterator[Finding]:
    """Run all checks; yield each finding at once. `deep` reads the weights and compares their checksums."""
    yield check_python()
    server = _read_choice()
    # A server whose model is elsewhere needs no engine.
    if server is None or find_spec("llama_cpp") is not None:
        yield check_build()
    yield check_processor(read_cpu_flags())
    if server is None:
        yield check_model(deep=deep)
        yield check_memory()
    else:
        yield from check_remote(server)
    yield check_disk()
    yield check_embedder(deep=deep)
    yield from check_database()
    if connection.vendor != "sqlite":
        yield from check_shared_database()
        yield from check_processes()
    yield check_data_folder(data_path())
    if connection.vendor == "sqlite":
        yield check_encryption(data_path(), database_path())
    yield from check_leftovers(data_path())
    if settings.MODE == "server":
        yield check_static_files()
        yield from check_public_address()
    if server is None:
        yield check_decode()


def _read_choice() -> ServerChoice | None:
    try:
        return read_choice()
    except DatabaseError:
        # In server mode it is in the database; what is wrong there is found later.
        return None
