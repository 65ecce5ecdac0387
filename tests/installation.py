"""A data folder of its own, and the program's commands and server on it, also with a passphrase."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from memoryapp.base.encryption import Keys, open_key_file
from memoryapp.base.passphrase import KEYS_FD, dump_keys, key_file
from memoryapp.base.sqlcipher import connect
from tests.data_folder import build_environment
from tests.page_client import ROOT, PageClient, start_server_process

PASSPHRASE, OTHER_PASSPHRASE = "correct horse battery staple", "five other words than those"
# In the texts of all kinds of data that `FILL` stores.
MARK = "Zebrafinch"
FILL = f"""
from chat.actions.facts import add_fact
from chat.actions.messages import finish_reply, send_message
from chat.actions.owners import local_owner
from memoryapp.base.provider import ServerChoice, save_choice
owner = local_owner()
add_fact(owner, "User keeps a {MARK}")
asked, reply = send_message(owner, "Hello {MARK}")
finish_reply(reply, "A {MARK} is a bird", "complete")
save_choice(ServerChoice("http://127.0.0.1:1", key="{MARK}"))
"""


@dataclass
class Installation:
    """The data folder and the environment of its processes; `keys` are those of the data once it is
    encrypted, so that most commands need not derive them again.
    """

    folder: Path
    keys: Keys | None = None

    def __post_init__(self) -> None:
        self.environment = build_environment(
            self.folder, MODEL_DIR=str(self.folder / "none"), ENGINE="0", PROVIDER_URL=""
        )

    def run(self, *command: str, check: bool = True, **descriptors: str) -> subprocess.CompletedProcess[str]:
        """Run a command of manage.py.

        `descriptors` are the texts that the command reads from descriptors, by the name of its argument
        without the ending "_fd".
        """
        with ExitStack() as stack:
            arguments, passed = [*command], []
            for name, text in descriptors.items():
                number = stack.enter_context(readable_descriptor(text))
                arguments += [f"--{name.replace('_', '-')}-fd", str(number)]
                passed.append(number)
            environment = dict(self.environment)
            if self.keys is not None and not descriptors:
                number = stack.enter_context(readable_descriptor(dump_keys(asdict(self.keys))))
                environment[KEYS_FD] = str(number)
                passed.append(number)
            ended = subprocess.run(
                [sys.executable, "manage.py", *arguments],
                cwd=ROOT,
                env=environment,
                pass_fds=passed,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
            )
        if check:
            assert ended.returncode == 0, ended.stderr
        return ended

    @contextmanager
    def serve(self) -> Iterator[PageClient]:
        """Run the real server, and kill it at the end of the block."""
        environment, passed = dict(self.environment), []
        with ExitStack() as stack:
            if self.keys is not None:
                passed = [stack.enter_context(readable_descriptor(dump_keys(asdict(self.keys))))]
                environment[KEYS_FD] = str(passed[0])
            process, base = start_server_process(
                environment, "manage.py", "serve", "--no-browser", "--port", descriptors=passed
            )
        try:
            yield PageClient(base)
        finally:
            process.kill()
            process.wait()

    def encrypt(self) -> str:
        """Encrypt the data, and open its keys; return what the command said."""
        said = self.run("encrypt", passphrase=PASSPHRASE).stdout
        self.keys = self.open_keys(PASSPHRASE)
        return said

    def open_keys(self, passphrase: str) -> Keys:
        """Return the keys of the data."""
        return open_key_file(key_file(self.folder).read_bytes(), passphrase)

    @property
    def database(self) -> Path:
        """The file of the database."""
        return self.folder / "memoryapp.sqlite3"

    def dump(self) -> dict[str, list[Any]]:
        """Return all rows of all tables, whether the database is encrypted or not."""
        key = self.keys.database if self.keys is not None and key_file(self.folder).exists() else ""
        opened = connect(self.database, key)
        try:
            names = [n for (n,) in opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            return {n: sorted(opened.execute(f'SELECT * FROM "{n}"'), key=repr) for n in names}  # noqa: S608
        finally:
            opened.close()

    def find_files_with(self, text: str) -> list[Path]:
        """Return the files of the data folder that contain a text."""
        return [path for path in self.folder.rglob("*") if text.encode() in _read(path)]


@contextmanager
def readable_descriptor(text: str) -> Iterator[int]:
    """Yield a descriptor from which a process reads a text."""
    reading, writing = os.pipe()
    os.write(writing, text.encode())
    os.close(writing)
    try:
        yield reading
    finally:
        os.close(reading)


def _read(path: Path) -> bytes:
    """Return the content of a file, nothing for a folder or a file that is gone."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, IsADirectoryError):
        return b""
