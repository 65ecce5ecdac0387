"""Backups of encrypted data are encrypted, and a restore keeps the keys of the machine."""

from __future__ import annotations

import zipfile

import pytest

from memoryapp.base.encryption import WrongPassphrase
from memoryapp.base.passphrase import is_encrypted
from tests.installation import MARK, OTHER_PASSPHRASE, PASSPHRASE

_FORGET = "from chat.models import Message; Message.objects.all().delete()"


def count_messages(installation):
    """Return how many messages are stored."""
    return len(installation.dump()["chat_message"])


@pytest.fixture
def backup(encrypted, tmp_path):
    """A backup of the encrypted data, whose messages are then deleted."""
    file = tmp_path / "mine.backup"
    encrypted.run("backup", str(file))
    encrypted.run("shell", "-v0", "-c", _FORGET)
    assert count_messages(encrypted) == 0
    return file


def test_no_text_is_in_a_backup_and_it_comes_back(encrypted, backup):
    with zipfile.ZipFile(backup) as archive:
        assert MARK.encode() not in b"".join(archive.read(name) for name in archive.namelist())
    encrypted.run("restore", str(backup))
    assert count_messages(encrypted) == 2
    assert encrypted.find_files_with(MARK) == []


def test_a_new_passphrase_replaces_the_former_one_and_opens_older_backups(encrypted, backup):
    encrypted.run("encrypt", passphrase=PASSPHRASE, new_passphrase=OTHER_PASSPHRASE)
    with pytest.raises(WrongPassphrase):
        encrypted.open_keys(PASSPHRASE)
    encrypted.run("restore", str(backup), passphrase=OTHER_PASSPHRASE)
    assert count_messages(encrypted) == 2


def test_a_backup_of_another_machine_gets_the_keys_of_this_one(plain, backup):
    plain.run("encrypt", passphrase=OTHER_PASSPHRASE)
    plain.keys = plain.open_keys(OTHER_PASSPHRASE)
    plain.run("shell", "-v0", "-c", _FORGET)
    refused = plain.run("restore", str(backup), check=False)
    assert "--backup-passphrase-fd" in refused.stderr
    assert count_messages(plain) == 0
    plain.run("restore", str(backup), passphrase=OTHER_PASSPHRASE, backup_passphrase=PASSPHRASE)
    assert count_messages(plain) == 2


def test_a_plain_backup_becomes_encrypted_where_the_data_is(plain, encrypted, tmp_path):
    file = tmp_path / "plain.backup"
    plain.run("backup", str(file))
    encrypted.run("shell", "-v0", "-c", _FORGET)
    encrypted.run("restore", str(file))
    assert count_messages(encrypted) == 2
    assert encrypted.find_files_with(MARK) == []


def test_an_encrypted_backup_is_not_restored_in_plain_by_itself(plain, backup):
    before = plain.dump()
    refused = plain.run("restore", str(backup), check=False)
    assert refused.returncode == 1
    assert "manage.py encrypt" in refused.stderr
    assert plain.dump() == before
    assert not is_encrypted(plain.folder)
