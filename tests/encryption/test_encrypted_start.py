"""`start` asks for the passphrase once, and hands the keys to its steps."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

import pytest

from memoryapp.base import passphrase, provider
from memoryapp.base.env import BadValue
from memoryapp.base.passphrase import PASSPHRASE_FD
from memoryapp.bootstrap import preparation
from memoryapp.bootstrap.encrypted_data import EncryptedData
from memoryapp.bootstrap.environment import Interpreter
from memoryapp.bootstrap.errors import BootstrapError
from tests.installation import OTHER_PASSPHRASE, PASSPHRASE, readable_descriptor


@pytest.fixture
def interpreter():
    """The Python that runs the tests, in the place of .venv's."""
    return Interpreter(Path(sys.executable), "cp311", "linux", Path(sysconfig.get_path("purelib")))


@pytest.fixture
def start_with(encrypted, monkeypatch):
    """Return a function that begins a start with a passphrase in a descriptor."""
    monkeypatch.setenv("DATA_DIR", str(encrypted.folder))
    monkeypatch.delenv("DJANGO_SETTINGS_MODULE")

    def begin(text):
        with readable_descriptor(text) as descriptor:
            # Both sides close theirs.
            monkeypatch.setenv(PASSPHRASE_FD, str(os.dup(descriptor)))
            return EncryptedData()

    return begin


def test_each_step_gets_the_keys(start_with, interpreter, encrypted, capfd):
    data = start_with(PASSPHRASE)
    data.open(interpreter.path)
    applied = data.applied_migrations(interpreter)
    assert ("chat", "0001_initial") in applied
    preparation._manage(interpreter, "Checking", "check", ["migrate", "--check"], 0, data)
    preparation._manage(interpreter, "Checking", "check", ["migrate", "--check"], 0, data)
    assert "done" in capfd.readouterr().out


def test_a_wrong_passphrase_ends_the_start_with_a_sentence(start_with, interpreter):
    data = start_with(OTHER_PASSPHRASE)
    with pytest.raises(BootstrapError, match="does not open the data"):
        data.open(interpreter.path)


def test_the_terminal_is_asked_again_after_a_wrong_passphrase(encrypted, interpreter, monkeypatch, capsys):
    monkeypatch.setenv("DATA_DIR", str(encrypted.folder))
    typed = iter([OTHER_PASSPHRASE, PASSPHRASE])
    monkeypatch.setattr(passphrase, "ask", lambda prompt="": next(typed))
    data = EncryptedData()
    data.open(interpreter.path)
    assert data.applied_migrations(interpreter)
    assert "does not open the data" in capsys.readouterr().out


def test_a_start_without_a_terminal_says_how_to_give_the_passphrase(encrypted, monkeypatch):
    monkeypatch.setenv("DATA_DIR", str(encrypted.folder))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    with pytest.raises(BadValue, match="--passphrase-fd"):
        EncryptedData()


def test_a_start_refuses_data_whose_encryption_was_broken_off(encrypted, plain, monkeypatch):
    encrypted.database.write_bytes(plain.database.read_bytes())
    monkeypatch.setenv("DATA_DIR", str(encrypted.folder))
    with pytest.raises(BootstrapError, match="broken off"):
        EncryptedData()


def test_whether_a_server_is_chosen_is_known_without_the_passphrase(encrypted, plain, monkeypatch):
    monkeypatch.delenv("PROVIDER_URL", raising=False)
    for installation in (encrypted, plain):
        monkeypatch.setenv("DATA_DIR", str(installation.folder))
        assert provider.is_remote()
        provider.choice_path().unlink()
        assert not provider.is_remote()
