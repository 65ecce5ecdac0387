"""What can keep any command from its work, each as a sentence with the way out; the standard library only."""

import errno

from memoryapp.env import BadValue, data_path

AGAIN = "Run the same command again: it goes on where it stopped."

# By a part of what SQLite or PostgreSQL say, in lower case.
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
        "The database in {} is damaged. `manage.py restore` brings a backup back.",
    ),
    (
        ("disk is full", "no space left"),
        "The disk of {} is full. Make room, then try again.",
    ),
)


def sentence_of(error: BaseException) -> str:
    """The sentence for what a user can mend, "" for a bug, whose traceback is wanted."""
    if isinstance(error, BadValue):
        return str(error)
    if isinstance(error, OSError):
        return _of_files(error)
    # Named rather than imported: a bare machine has no Django, and of databases only these speak.
    if type(error).__module__ == "django.db.utils":
        return _of_databases(error)
    return ""


def _of_files(error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return "The disk is full. Make room, then run the same command again."
    if not error.filename:
        return ""
    if isinstance(error, PermissionError) or error.errno == errno.EROFS:
        return f"{error.filename} may not be used: {error.strerror}. Make it yours, or choose another place."
    return ""


def _of_databases(error: BaseException) -> str:
    said = str(error).lower()
    for parts, sentence in _OF_DATABASES:
        if any(part in said for part in parts):
            return sentence.format(data_path())
    if type(error).__name__ == "OperationalError":
        # A server that is away, or that knows the user or the database not: its own words say which.
        return f"The database cannot be used: {' '.join(str(error).split())}"
    return ""


def port_sentence(host: str, port: int, error: OSError) -> str:
    """The sentence for an address that cannot be listened on."""
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} is taken. If that is your chat, open http://{host}:{port}/ – otherwise choose "
            f"another port: python3 manage.py start --port {port + 1 if port < 65535 else 8000}"
        )
    if isinstance(error, PermissionError):
        return f"Port {port} needs administrator rights. Choose one above 1023: --port 8000"
    return f"{host}:{port} cannot be listened on: {error.strerror}."
