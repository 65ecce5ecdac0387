"""`manage.py encrypt` makes all files unreadable without the passphrase; `decrypt` gives all of it back."""

from __future__ import annotations

import os
import sqlite3
import zipfile
from contextlib import closing

import pytest

from memoryapp.base.encryption import make_keys, open_key_file, write_key_file
from memoryapp.base.locking import try_lock
from memoryapp.base.passphrase import is_encrypted, key_file
from tests.installation import MARK, OTHER_PASSPHRASE, PASSPHRASE, Installation


def test_no_file_contains_what_was_said_and_decrypting_gives_every_row_back(plain):
    before = plain.dump()
    assert {path.name for path in plain.find_files_with(MARK)} == {"memoryapp.sqlite3", "provider.json"}
    said = plain.run("encrypt", passphrase=PASSPHRASE)
    assert "forgets the passphrase" in said.stderr
    plain.keys = plain.open_keys(PASSPHRASE)
    assert plain.find_files_with(MARK) == []
    assert list(plain.folder.glob("working-*")) == []
    assert plain.dump() == before
    plain.run("decrypt")
    assert not is_encrypted(plain.folder)
    assert {path.name for path in plain.find_files_with(MARK)} == {"memoryapp.sqlite3", "provider.json"}
    assert plain.dump() == before


def test_all_files_are_readable_by_their_owner_only(encrypted):
    opened = [path.name for path in encrypted.folder.glob("*") if path.stat().st_mode & 0o077]
    assert [name for name in opened if "lock" not in name and name != "static"] == []


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"passphrase": OTHER_PASSPHRASE}, "This passphrase does not open the data."),
        ({"passphrase": ""}, "This passphrase does not open the data."),
        ({}, "no terminal to ask for the passphrase"),
    ],
)
def test_nothing_opens_without_the_passphrase(encrypted, given, sentence):
    encrypted.keys = None
    ended = encrypted.run("export_memory", check=False, **given)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert sentence in ended.stderr


def test_a_descriptor_that_is_not_there_is_told(encrypted):
    encrypted.keys = None
    ended = encrypted.run("export_memory", "--passphrase-fd", "77", check=False)
    assert ended.returncode == 1
    assert "descriptor 77" in ended.stderr


def test_a_short_passphrase_is_refused_and_changes_nothing(plain):
    before = plain.dump()
    ended = plain.run("encrypt", check=False, passphrase="short")
    assert ended.returncode == 1
    assert "12 characters" in ended.stderr
    assert not is_encrypted(plain.folder)
    assert plain.dump() == before


def test_encrypting_waits_for_no_running_server(plain):
    with try_lock(plain.folder / "engine.lock"):
        ended = plain.run("encrypt", check=False, passphrase=PASSPHRASE)
    assert ended.returncode == 1
    assert "running already" in ended.stderr
    assert not is_encrypted(plain.folder)


def test_encrypting_is_refused_while_another_program_uses_the_database(plain):
    with closing(sqlite3.connect(plain.database)) as other:
        other.execute("PRAGMA journal_mode=WAL")
        other.execute("SELECT count(*) FROM chat_message").fetchall()
        ended = plain.run("encrypt", check=False, passphrase=PASSPHRASE)
    assert ended.returncode == 1
    assert "Another program uses the database" in ended.stderr
    assert not is_encrypted(plain.folder)


def test_encrypting_and_decrypting_twice_change_nothing(encrypted):
    before = encrypted.database.read_bytes()
    assert "encrypted already" in encrypted.run("encrypt").stdout
    assert encrypted.database.read_bytes() == before
    encrypted.run("decrypt")
    encrypted.keys = None
    assert "not encrypted" in encrypted.run("decrypt").stdout


def test_a_damaged_former_database_is_named_before_anything_changes(plain):
    former = plain.folder / "memoryapp-before-20260101-000000.sqlite3"
    former.write_bytes(plain.database.read_bytes()[:20_000])
    ended = plain.run("encrypt", check=False, passphrase=PASSPHRASE)
    assert ended.returncode == 1
    assert "--remove-former" in ended.stderr
    assert former.name in ended.stderr
    assert not is_encrypted(plain.folder)


def test_a_damaged_former_database_does_not_keep_the_data_encrypted(encrypted):
    former = encrypted.folder / "memoryapp-before-20260101-000000.sqlite3"
    former.write_bytes(b"x" * 20_000)
    said = encrypted.run("decrypt").stdout
    assert former.name in said
    assert not is_encrypted(encrypted.folder)


def test_a_lost_key_file_is_told_with_the_way_to_get_it_back(encrypted, tmp_path):
    backup = tmp_path / "mine.backup"
    encrypted.run("backup", str(backup))
    key_file(encrypted.folder).unlink()
    ended = encrypted.run("encrypt", check=False, passphrase=PASSPHRASE)
    assert f"unzip -p BACKUP encryption.key > {key_file(encrypted.folder)}" in ended.stderr
    with zipfile.ZipFile(backup) as archive:
        archive.extract("encryption.key", encrypted.folder)
    assert encrypted.dump()["chat_message"]


def test_help_asks_for_no_passphrase(encrypted):
    encrypted.keys = None
    assert "usage" in encrypted.run("backup", "-h").stdout


def test_a_full_disk_is_told_before_anything_changes(plain):
    with plain.database.open("ab") as file:
        # A file with a hole is larger than any disk.
        os.truncate(file.fileno(), 1 << 42)
    ended = plain.run("encrypt", check=False, passphrase=PASSPHRASE)
    assert "not enough room" in ended.stderr
    assert not is_encrypted(plain.folder)


def test_a_passphrase_is_the_same_in_both_ways_to_write_a_letter(tmp_path):
    keys = make_keys("caf\u00e9 and some words")
    write_key_file(tmp_path, keys)
    assert open_key_file(key_file(tmp_path).read_bytes(), "cafe\u0301 and some words") == keys


def test_former_databases_are_encrypted_and_decrypted_and_unencrypted_backups_named(plain):
    former = plain.folder / "memoryapp-before-20260101-000000.sqlite3"
    former.write_bytes(plain.database.read_bytes())
    # A second name of the same file, as a restore leaves one that was killed before it replaced anything.
    linked = plain.folder / "memoryapp-before-20260102-000000.sqlite3"
    os.link(plain.database, linked)
    (plain.folder / "before-update-20260101-000000.backup").write_bytes(b"a backup")
    before = plain.dump()
    assert "before-update-20260101-000000.backup" in plain.encrypt()
    assert plain.find_files_with(MARK) == []
    assert plain.dump() == before
    assert linked.stat().st_ino != plain.database.stat().st_ino
    plain.run("decrypt")
    assert plain.dump() == before
    for database in (former, linked):
        with closing(sqlite3.connect(database)) as opened:
            assert opened.execute("SELECT count(*) FROM chat_message").fetchone() == (2,)


def test_a_new_installation_can_be_encrypted_before_its_first_start(tmp_path):
    new = Installation(tmp_path / "data")
    new.encrypt()
    new.run("migrate", "-v0", "contenttypes")
    assert b"SQLite format" not in new.database.read_bytes()[:16]


def test_the_check_of_the_installation_tells_whether_data_is_encrypted(plain, encrypted):
    said = plain.run("doctor", check=False).stdout
    assert "encryption" in said
    assert "manage.py encrypt" in said
    assert "on;" in encrypted.run("doctor", check=False).stdout
