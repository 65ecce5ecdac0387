"""Sentences for errors that a user can fix, for every command. Standard library only."""

import errno
import re
import signal
from enum import Enum

from .env import BadValue, data_path

AGAIN = "Run the same command again: it goes on where it stopped."

# By a part of SQLite's or PostgreSQL's error message, in lower case.
_DATABASE_MODULES = ("django.db.utils", "sqlite3", "sqlcipher3")
_OF_DATABASES = (
    (
        ("no such table", "no such column", "has no column", "does not exist"),
        "The database in {} has not the tables of this version yet. Run this once: python3 manage.py start",
    ),
    (("unable to open",), "The database in {} cannot be opened. Is the folder yours?"),
    (("readonly", "read-only"), "The database in {} cannot be written to. Is it yours?"),
    (("locked",), "Another program holds the database in {}. Try again in a moment."),
    (
        ("malformed", "not a database"),
        "The database in {} is damaged, or it is encrypted and its encryption.key is missing. "
        "`manage.py restore` brings a backup back.",
    ),
    (
        ("disk is full", "no space left"),
        "The disk of {} is full. Make room, then try again.",
    ),
)


def explain_error(error: BaseException) -> str:
    """Return the sentence for an error that a user can fix; "" for a bug, whose traceback should be shown."""
    if isinstance(error, BadValue):
        return str(error)
    if isinstance(error, OSError):
        return _explain_file_error(error)
    # Compared by name: Django may not be installed.
    if type(error).__module__.startswith(_DATABASE_MODULES):
        return _explain_database_error(error)
    return ""


def _explain_file_error(error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return "The disk is full. Make room, then run the same command again."
    if not error.filename:
        return ""
    if isinstance(error, PermissionError) or error.errno == errno.EROFS:
        return f"{error.filename} may not be used: {error.strerror}. Make it yours, or choose another place."
    return ""


def _explain_database_error(error: BaseException) -> str:
    said = str(error).lower()
    for parts, sentence in _OF_DATABASES:
        if any(part in said for part in parts):
            return sentence.format(data_path())
    if type(error).__name__ == "OperationalError":
        # The server's own message says whether it is unreachable or refuses the user or the database.
        return f"The database cannot be used: {' '.join(str(error).split())}"
    return ""


def explain_port_error(host: str, port: int, error: OSError) -> str:
    """Return the sentence for an address on which a server cannot listen."""
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} is taken. If that is your chat, open http://{host}:{port}/ – otherwise choose "
            f"another port: python3 manage.py start --port {port + 1 if port < 65535 else 8000}"
        )
    if isinstance(error, PermissionError):
        return f"Port {port} needs administrator rights. Choose one above 1023: --port 8000"
    return f"{host}:{port} cannot be listened on: {error.strerror}."


class PipError(Enum):
    """A failure of pip that a user can fix."""

    DISK_FULL = "disk full"
    CHECKSUM = "checksum"
    NO_PIP = "no pip"
    CERTIFICATE = "certificate"
    NO_NETWORK = "no network"
    REFUSED = "refused"


# The order matters: after a failed connection pip also prints "No matching distribution".
_SIGNS: tuple[tuple[PipError, tuple[str, ...]], ...] = (
    (PipError.DISK_FULL, ("no space left on device", "errno 28", "disk quota exceeded", "errno 122")),
    (PipError.CHECKSUM, ("do not match the hashes", "hashes are required in --require-hashes")),
    (PipError.NO_PIP, ("no module named pip", "no module named 'pip'")),
    (PipError.CERTIFICATE, ("certificate_verify_failed", "certificate verify failed")),
    (
        PipError.NO_NETWORK,
        (
            "newconnectionerror",
            "connecttimeouterror",
            "nameresolutionerror",
            "readtimeouterror",
            "proxyerror",
            "protocolerror",
            "temporary failure in name resolution",
            "name or service not known",
            "network is unreachable",
            "connection refused",
            "connection reset",
            "read timed out",
        ),
    ),
    (
        PipError.REFUSED,
        (
            "no matching distribution",
            "could not find a version",
            "http error",
            "client error",
            "server error",
        ),
    ),
)


def find_pip_error(output: str) -> PipError | None:
    """Return the failure that pip's output reports, None where it is an unknown one."""
    text = output.lower()
    for trouble, signs in _SIGNS:
        if any(sign in text for sign in signs):
            return trouble
    return None


def explain_selftest_failure(code: int, output: str) -> str:
    """Return the sentence for a failed self-test of the engine.

    A negative exit code is the signal that ended it.
    """
    if code == -signal.SIGKILL or "memoryerror" in output.lower() or "failed to allocate" in output.lower():
        return (
            "There is not enough memory for this model. Close other programs, or choose a smaller one: "
            "python3 manage.py start --model qwen2.5-coder-0.5b"
        )
    if code == -signal.SIGILL:
        return (
            "The engine uses an instruction that this processor does not have. Compile it plainly: "
            "CMAKE_ARGS='-DGGML_NATIVE=OFF -DGGML_AVX=OFF -DGGML_AVX2=OFF -DGGML_FMA=OFF -DGGML_F16C=OFF "
            "-DGGML_BMI2=OFF' python3 manage.py start"
        )
    if unknown := re.search(r"unknown (?:model|pre-tokenizer)[^']*'([^']+)'", output):
        return (
            f"The engine does not know this kind of model ({unknown[1]}): it is newer than the engine. "
            "Choose another model, or update memoryapp."
        )
    if code < 0:
        return f"The engine died ({signal.Signals(-code).name}) at its first sentence."
    lines = output.strip().splitlines()
    return f"The engine could not use the model: {lines[-1] if lines else 'it gave no reason.'}"
