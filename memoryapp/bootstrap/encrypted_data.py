"""Opens encrypted data for the steps of `start`, which asks for the passphrase once.

Standard library only: the packages that can decrypt are in .venv. So .venv's Python opens the key file, and
the bootstrap hands the keys to each of its steps.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memoryapp.base import passphrase
from memoryapp.base.env import ROOT, data_dir, database_path
from memoryapp.bootstrap import environment
from memoryapp.bootstrap.console import say
from memoryapp.bootstrap.environment import Interpreter
from memoryapp.bootstrap.errors import BootstrapError

_WRONG = 3  # the exit code of `memoryapp.base.encryption` for a wrong passphrase


class EncryptedData:
    """The passphrase, and from `open` on the keys. Without encrypted data it does nothing."""

    def __init__(self) -> None:
        """Read the passphrase from its descriptor, or ask for it. Raises BadValue and BootstrapError."""
        self._keys = self._passphrase = ""
        self.is_encrypted = passphrase.is_encrypted(data_dir())
        if not self.is_encrypted:
            return
        if passphrase.is_unfinished(data_dir(), database_path()):
            raise BootstrapError(passphrase.UNFINISHED)
        given = passphrase.read_descriptor(passphrase.PASSPHRASE_FD)
        self._may_ask = given is None
        self._passphrase = passphrase.ask() if given is None else given

    def open_early(self) -> None:
        """Get the keys where the program is installed already, so that a wrong passphrase is told at once.

        Raises BootstrapError.
        """
        python = environment.python_of(environment.VENV)
        check = [str(python), "-c", "import pyrage, memoryapp.base.encryption"]
        if python.exists() and subprocess.run(check, cwd=ROOT, capture_output=True).returncode == 0:
            self.open(python)

    def open(self, python: Path) -> None:
        """Decrypt the key file; ask for the passphrase again after a wrong one. Raises BootstrapError."""
        if not self.is_encrypted or self._keys:
            return
        attempts = passphrase.ATTEMPTS if self._may_ask else 1
        for attempt in range(attempts):
            if attempt:
                say(passphrase.WRONG)
                self._passphrase = passphrase.ask()
            command = [str(python), "-m", "memoryapp.base.encryption", "open"]
            ended = subprocess.run(command, cwd=ROOT, input=self._passphrase, capture_output=True, text=True)
            if ended.returncode == 0:
                self._keys, self._passphrase = ended.stdout, ""
                return
            if ended.returncode != _WRONG:
                said = ended.stderr.strip().splitlines()
                raise BootstrapError(
                    said[-1] if said else "The key file could not be opened: memory is full."
                )
        raise BootstrapError(passphrase.WRONG)

    @contextmanager
    def hand_over(self) -> Iterator[tuple[list[int], dict[str, str]]]:
        """Yield the descriptors that a step inherits, and its variables."""
        if not self._keys:
            yield [], {}
            return
        with passphrase.hand_over(self._keys) as (descriptor, variables):
            yield [descriptor], variables

    def applied_migrations(self, interpreter: Interpreter) -> list[tuple[str, str]] | None:
        """Return app and name of the applied migrations of the database; None where there is none."""
        if not database_path().exists():
            return None
        with self.hand_over() as (descriptors, variables):
            ended = subprocess.run(
                [interpreter.path, "-m", "memoryapp.base.sqlcipher"],
                cwd=ROOT,
                env={**os.environ, **variables},
                pass_fds=descriptors if sys.platform != "win32" else (),
                capture_output=True,
                text=True,
            )
        if ended.returncode:
            return None
        return [(app, name) for app, name in json.loads(ended.stdout)]
