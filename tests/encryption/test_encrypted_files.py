"""A temporary encrypted file reads like a plain one at any place."""

from __future__ import annotations

import io
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryapp.base import block_reader, encrypted_file
from memoryapp.base.encrypted_file import EncryptedFile


@pytest.fixture(autouse=True, scope="module")
def _small_blocks():
    """Blocks of a few bytes, so that files have many."""
    before = block_reader.BLOCK
    block_reader.BLOCK = encrypted_file.BLOCK = 16
    yield
    block_reader.BLOCK = encrypted_file.BLOCK = before


@given(
    chunks=st.lists(st.binary(max_size=50), max_size=6),
    moves=st.lists(st.tuples(st.integers(0, 200), st.integers(-1, 60)), max_size=8),
)
def test_any_place_reads_as_in_a_plain_file(chunks, moves):
    plain = io.BytesIO(b"".join(chunks))
    with tempfile.TemporaryDirectory() as folder:
        made = EncryptedFile(Path(folder) / "file")
        made.write(chunks)
        with made.open("rb") as opened:
            for place, count in moves:
                assert opened.seek(place) == plain.seek(place)
                assert opened.read(count) == plain.read(count)
            assert opened.seek(0, io.SEEK_END) == len(plain.getvalue())


def test_an_archive_can_be_read_from_it(tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.json", "x" * 1000)
    made = EncryptedFile(tmp_path / "file")
    made.write([packed.getvalue()])
    assert b"a.json" not in (tmp_path / "file").read_bytes()
    with made.open("rb") as opened, zipfile.ZipFile(opened) as archive:
        assert archive.read("a.json") == b"x" * 1000


def test_a_changed_file_is_not_read(tmp_path):
    made = EncryptedFile(tmp_path / "file")
    made.write([b"secret" * 10])
    content = bytearray((tmp_path / "file").read_bytes())
    content[-1] ^= 1
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ValueError, match="damaged"):
        made.open("rb").read()
