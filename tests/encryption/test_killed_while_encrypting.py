"""`encrypt` and `decrypt` that are killed at any step lose nothing, and the same command goes on."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import asdict

import pytest

from memoryapp.base.passphrase import KEYS_FD, dump_keys, is_encrypted, key_file
from tests.installation import MARK, PASSPHRASE, readable_descriptor
from tests.page_client import ROOT

# Runs a command of manage.py, and kills the process before or after it calls a function.
_KILLED = """
import os, signal, sys
moment, module, name, *command = sys.argv[1:]
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")
import django
django.setup()
from importlib import import_module
place = import_module(module)
called = getattr(place, name)
def kill(*arguments, **named):
    if moment == "after":
        called(*arguments, **named)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(place, name, kill)
from django.core.management import execute_from_command_line
execute_from_command_line(["manage.py", *command])
"""
ENCRYPTION = "chat.management.encryption"


def run_killed(installation, descriptor, variable, *step_and_command):
    """Run a command that is killed at a step."""
    ended = subprocess.run(
        [sys.executable, "-c", _KILLED, *step_and_command],
        cwd=ROOT,
        env=installation.environment | {variable: str(descriptor)},
        pass_fds=[descriptor],
        capture_output=True,
        check=False,
    )
    assert ended.returncode == -9, ended.stderr.decode()


def run_killed_with_keys(installation, *step_and_command):
    """Run a command with the keys of the data, and kill it at a step."""
    with readable_descriptor(dump_keys(asdict(installation.keys))) as descriptor:
        run_killed(installation, descriptor, KEYS_FD, *step_and_command)


STEPS = [
    ("after", "memoryapp.base.encryption", "write_key_file"),
    ("after", "memoryapp.base.provider", "encrypt_choice"),
    ("after", ENCRYPTION, "copy_with_key"),
    ("before", ENCRYPTION, "remove_beside"),
    ("before", ENCRYPTION, "overwrite_nameless"),
]


def test_encrypting_that_was_killed_at_each_step_goes_on(plain):
    before = plain.dump()
    first, *later, last = STEPS
    with readable_descriptor(PASSPHRASE) as descriptor:
        run_killed(plain, descriptor, "PASSPHRASE_FD", *first, "encrypt")
    assert is_encrypted(plain.folder)
    plain.keys = plain.open_keys(PASSPHRASE)
    for step in later:
        run_killed_with_keys(plain, *step, "encrypt")
        assert "was broken off" in plain.run("export_memory", check=False).stderr
    run_killed_with_keys(plain, *last, "encrypt")
    # The encrypted database is in its place.
    assert plain.dump() == before
    plain.run("encrypt")
    assert plain.dump() == before
    assert plain.find_files_with(MARK) == []


@pytest.mark.parametrize(
    ("moment", "module", "name"),
    [
        ("after", "memoryapp.base.provider", "decrypt_choice"),
        ("before", ENCRYPTION, "remove_beside"),
        ("before", ENCRYPTION, "overwrite_nameless"),
    ],
)
def test_decrypting_that_was_killed_goes_on(encrypted, moment, module, name):
    before = encrypted.dump()
    run_killed_with_keys(encrypted, moment, module, name, "decrypt")
    encrypted.run("decrypt")
    assert not key_file(encrypted.folder).exists()
    assert encrypted.dump() == before
    assert {path.name for path in encrypted.find_files_with(MARK)} == {"memoryapp.sqlite3", "provider.json"}
