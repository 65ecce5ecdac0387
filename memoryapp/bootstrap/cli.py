"""The bootstrap's two commands, and what they say when they cannot go on."""

import sys
from collections.abc import Callable, Sequence

from memoryapp.bootstrap.check import test
from memoryapp.bootstrap.console import stoppable
from memoryapp.bootstrap.errors import BootstrapError
from memoryapp.bootstrap.start import start
from memoryapp.env import BadValue
from memoryapp.troubles import AGAIN, sentence_of

COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {"start": start, "test": test}
_STOPPED = 130  # a shell's code for a program ended by Ctrl-C


def main(name: str, arguments: Sequence[str]) -> int:
    """Runs `start` or `test` and returns the exit code."""
    try:
        with stoppable():
            return COMMANDS[name](arguments)
    except BootstrapError as error:
        if str(error):
            print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"\nStopped. {AGAIN}", file=sys.stderr)
        return _STOPPED
    except (BadValue, OSError) as error:
        sentence = sentence_of(error)
        if isinstance(error, FileNotFoundError) and error.filename:
            sentence = f"{error.filename} is missing. Get the project's files again."
        if not sentence:
            raise
        print(sentence, file=sys.stderr)
        return 1
