"""The bootstrap's two commands, and what they say when they cannot go on."""

import errno
import sys
from collections.abc import Callable, Sequence

from memoryapp.bootstrap.check import test
from memoryapp.bootstrap.console import stoppable
from memoryapp.bootstrap.errors import AGAIN, BootstrapError
from memoryapp.bootstrap.start import start
from memoryapp.env import BadValue

COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {"start": start, "test": test}
_STOPPED = 130  # a shell's code for a program ended by Ctrl-C


def main(name: str, arguments: Sequence[str]) -> int:
    """Runs `start` or `test` and returns the exit code."""
    try:
        with stoppable():
            return COMMANDS[name](arguments)
    except (BootstrapError, BadValue) as error:
        if str(error):
            print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"\nStopped. {AGAIN}", file=sys.stderr)
        return _STOPPED
    except OSError as error:
        if error.errno == errno.ENOSPC:
            print(f"The disk is full. Make room. {AGAIN}", file=sys.stderr)
        elif isinstance(error, PermissionError):
            print(
                f"{error.filename} cannot be written to. Make it yours, or move the project.", file=sys.stderr
            )
        elif isinstance(error, FileNotFoundError) and error.filename:
            print(f"{error.filename} is missing. Get the project's files again.", file=sys.stderr)
        else:
            raise
        return 1
