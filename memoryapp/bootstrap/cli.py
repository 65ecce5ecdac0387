"""Runs `start`, `prepare` and `test`, and lists all commands of `manage.py`. Standard library only."""

import sys
from collections.abc import Callable, Sequence

from memoryapp.base.env import BadValue
from memoryapp.base.error_text import AGAIN, explain_error
from memoryapp.bootstrap.check import test
from memoryapp.bootstrap.console import stop_on_signals
from memoryapp.bootstrap.errors import BootstrapError
from memoryapp.bootstrap.start import install_postgres, prepare, start

STEPS: dict[str, Callable[[Sequence[str]], int]] = {
    "start": start,
    "prepare": prepare,
    "test": test,
    "postgres": install_postgres,
}
_STOPPED = 130  # a shell's code for a program ended by Ctrl-C


def main(name: str, arguments: Sequence[str]) -> int:
    """Run a step and return the exit code; errors are printed as sentences."""
    try:
        with stop_on_signals():
            return STEPS[name](arguments)
    except BootstrapError as error:
        if str(error):
            print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"\nStopped. {AGAIN}", file=sys.stderr)
        return _STOPPED
    except (BadValue, OSError) as error:
        sentence = explain_error(error)
        if isinstance(error, FileNotFoundError) and error.filename:
            sentence = f"{error.filename} is missing. Get the project's files again."
        if not sentence:
            raise
        print(sentence, file=sys.stderr)
        return 1


COMMANDS = (
    ("start", "set everything up and serve the chat"),
    ("prepare", "set up the model of this machine beside a running server"),
    ("test", "set up what the tests need and run them"),
    ("chat", "chat in this terminal"),
    ("mcp", "give another assistant the memories, as tools"),
    ("doctor", "look at the installation: what is well, and what to do"),
    ("weights", "list, fetch and verify the weights of models"),
    ("export_memory", "write chats and memories into a file"),
    ("import_memory", "read such a file, or one of another program"),
    ("createowner", "make the first account of server mode"),
    ("backup", "write the database and its key into one file"),
    ("restore", "put a backup in the place of what is here"),
    ("move", "copy everything into a PostgreSQL database, or back"),
    ("secret_key", "whether the secret key is the right one; accept its loss"),
    ("encrypt", "encrypt the data with a passphrase, or change it"),
    ("decrypt", "take the encryption away again"),
    ("decay", "let unused memories fade now, as every night does"),
    ("prune", "delete chats that nobody wrote in for long"),
    ("run_jobs", "do background work without the server"),
    ("evaluate", "measure memory on labelled conversations"),
    ("serve", "serve the chat where everything is set up"),
)


def describe_commands() -> str:
    """Return the list of all commands as lines of text."""
    rows = "\n".join(f"  {name:<14} {does}" for name, does in COMMANDS)
    return (
        f"python3 manage.py <command>\n\n{rows}\n\n"
        "`manage.py <command> --help` tells more of one, `manage.py help --commands` names Django's too."
    )
