"""The keys of encrypted data: made and changed with a passphrase, and used by this process.

The key file holds a random key of the database (SQLCipher) and an identity of age for the other files. It is
itself a file of age, encrypted with the passphrase (scrypt, about a second for each attempt). So another
passphrase needs no new encryption of the data. Nobody can open the data without the passphrase.
"""

from __future__ import annotations

import json
import re
import secrets
import subprocess
import sys
import threading
from dataclasses import asdict, dataclass
from pathlib import Path

import pyrage

from . import passphrase as given
from .env import ROOT, BadValue, data_path
from .files import write_private_file
from .passphrase import WrongPassphrase

# Characters. A copy of the files can be tried with as many passphrases as an attacker has time for.
LEAST_LENGTH = 12
# Letters. Longer ones would not fit into the pipe to a child process.
_MOST_LENGTH = 1000
# How files of age begin.
AGE_HEADER = b"age-encryption.org/v1\n"
_WRONG_CODE = 3
_NOT_OURS = "The file is encrypted with another passphrase, or damaged."
# The work of scrypt in the head of a file, as a power of two: 20 takes a gigabyte of memory. No program asks
# for more.
_SCRYPT_WORK, _MOST_WORK = re.compile(rb"age-encryption\.org/v1\n-> scrypt [^ \n]{1,64} (\d{1,2})\n"), 20


@dataclass(frozen=True, repr=False)
class Keys:
    """The passphrase, the key of the database (64 hexadecimal digits) and the identity for other files."""

    passphrase: str
    database: str
    identity: str


def make_keys(passphrase: str) -> Keys:
    """Return new random keys. Raises BadValue for a passphrase that is too short."""
    return Keys(check_passphrase(passphrase), secrets.token_hex(32), str(pyrage.x25519.Identity.generate()))


def check_passphrase(passphrase: str) -> str:
    """Return a new passphrase in its one form. Raises BadValue where it is too short."""
    if len(passphrase := given.normalize(passphrase)) < LEAST_LENGTH:
        raise BadValue(f"The passphrase needs {LEAST_LENGTH} characters at least; five words are good.")
    if len(passphrase) > _MOST_LENGTH or "\n" in passphrase:
        raise BadValue(f"The passphrase must be one line of at most {_MOST_LENGTH} characters.")
    return passphrase


def write_key_file(folder: Path, keys: Keys) -> None:
    """Encrypt the keys with their passphrase and store them, at once or not at all."""
    values = {name: value for name, value in asdict(keys).items() if name != "passphrase"}
    content = pyrage.passphrase.encrypt(json.dumps(values).encode(), keys.passphrase)
    # All data depends on this file, so it is read once before it counts.
    open_key_file(content, keys.passphrase)
    write_private_file(given.key_file(folder), content)


def open_key_file(content: bytes, passphrase: str) -> Keys:
    """Return the keys of a key file. Raises WrongPassphrase, and BadValue for a damaged file."""
    passphrase = given.normalize(passphrase)
    try:
        values = json.loads(pyrage.passphrase.decrypt(content, passphrase))
    except pyrage.DecryptError as error:
        if content.startswith(AGE_HEADER) and b"-> scrypt " in content[:200]:
            raise WrongPassphrase(given.WRONG) from None
        raise BadValue(
            f"The key file {given.KEY_FILE} is damaged. A backup of this data holds another one: "
            f"unzip -p BACKUP {given.KEY_FILE} > {given.key_file(data_path())}"
        ) from error
    return Keys(passphrase, values["database"], values["identity"])


_lock = threading.Lock()
_keys: Keys | None = None


def process_keys() -> Keys:
    """Return the keys of the data folder. The first call takes them from the parent process, opens the key
    file with the passphrase that was given, or asks in the terminal.

    Raises BadValue without a passphrase, and WrongPassphrase.
    """
    with _lock:
        if _keys is None:
            use_keys(_find_keys())
        return _keys  # type: ignore[return-value]  # use_keys has set them


def use_keys(keys: Keys) -> None:
    """Use these keys in this process from now on. It writes no core dumps any more, which would hold them."""
    global _keys
    _keys = keys
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def dump_process_keys() -> str:
    """Return the keys of this process as text for `passphrase.hand_over`."""
    return given.dump_keys(asdict(process_keys()))


def _find_keys() -> Keys:
    if handed := given.read_descriptor(given.KEYS_FD):
        return Keys(**json.loads(handed))
    content = given.key_file(data_path()).read_bytes()
    if (passphrase := given.read_descriptor(given.PASSPHRASE_FD)) is not None:
        return open_key_file(content, passphrase)
    return ask_and_open(content, "Passphrase: ")


def ask_and_open(content: bytes, prompt: str) -> Keys:
    """Ask in the terminal for the passphrase of a key file, up to three times, and return the keys."""
    for _ in range(given.ATTEMPTS - 1):
        try:
            return open_key_file(content, given.ask(prompt))
        except WrongPassphrase as problem:
            print(problem, file=sys.stderr)
    return open_key_file(content, given.ask(prompt))


def encrypt(content: bytes) -> bytes:
    """Encrypt a file of the data folder with the keys of this process."""
    recipient = pyrage.x25519.Identity.from_str(process_keys().identity).to_public()
    return bytes(pyrage.encrypt(content, [recipient]))


def decrypt(content: bytes) -> bytes:
    """Decrypt a file of the data folder. Raises ValueError where other keys encrypted it."""
    try:
        return bytes(pyrage.decrypt(content, [pyrage.x25519.Identity.from_str(process_keys().identity)]))
    except pyrage.DecryptError as error:
        raise ValueError("encrypted with other keys, or damaged") from error


def encrypt_for_people(content: bytes) -> bytes:
    """Encrypt a file with the passphrase itself, so that it can be opened elsewhere, as with `age -d`."""
    return _run_with_passphrase("encrypt", content)


def decrypt_from_people(content: bytes) -> bytes:
    """Decrypt a file that was encrypted with this passphrase. Raises WrongPassphrase for another one."""
    work = _SCRYPT_WORK.match(content)
    if work is None or int(work[1]) > _MOST_WORK:
        raise WrongPassphrase(_NOT_OURS)
    return _run_with_passphrase("decrypt", content)


def _run_with_passphrase(what: str, content: bytes) -> bytes:
    """Encrypt or decrypt in another process: it takes seconds, during which no other thread could run."""
    command = [sys.executable, "-m", "memoryapp.base.encryption", what]
    given_to_it = process_keys().passphrase.encode() + b"\n" + content
    ended = subprocess.run(command, cwd=ROOT, input=given_to_it, capture_output=True)
    if ended.returncode == _WRONG_CODE:
        raise WrongPassphrase(_NOT_OURS)
    if ended.returncode:
        raise MemoryError("the file could not be encrypted or decrypted: is there enough memory?")
    return ended.stdout


class TemporaryCipher:
    """Encrypts files that end with this process, with a key that is nowhere else."""

    def __init__(self) -> None:
        self._identity = pyrage.x25519.Identity.generate()
        self._recipients = [self._identity.to_public()]

    def encrypt(self, content: bytes) -> bytes:
        """Encrypt some bytes; the result has some hundred bytes more, not always as many."""
        return bytes(pyrage.encrypt(content, self._recipients))

    def decrypt(self, content: bytes) -> bytes:
        """Decrypt some bytes. Raises ValueError for damaged ones."""
        try:
            return bytes(pyrage.decrypt(content, [self._identity]))
        except pyrage.DecryptError as error:
            raise ValueError("damaged") from error


def main(what: str) -> int:
    """Read a passphrase from standard input, and open the keys, or encrypt or decrypt what follows it.

    Writes the result to standard output; returns the exit code: 3 for a wrong passphrase.
    """
    passphrase, _, content = sys.stdin.buffer.read().partition(b"\n")
    try:
        if what == "open":
            keys = open_key_file(given.key_file(data_path()).read_bytes(), passphrase.decode())
            content = given.dump_keys(asdict(keys)).encode()
        elif what == "encrypt":
            content = pyrage.passphrase.encrypt(content, passphrase.decode())
        else:
            content = pyrage.passphrase.decrypt(content, passphrase.decode())
    except (WrongPassphrase, pyrage.DecryptError):
        return _WRONG_CODE
    except (BadValue, OSError) as problem:
        print(problem, file=sys.stderr)
        return 1
    sys.stdout.buffer.write(content)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
