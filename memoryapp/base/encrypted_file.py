"""Temporary files that only this process can decrypt. Each block is encrypted alone, for random access."""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import IO

from .block_reader import BLOCK, BlockReader, split_into_blocks
from .encryption import TemporaryCipher

# Before each encrypted block: its length in bytes.
_LENGTH = struct.Struct(">I")


@cache
def _cipher() -> TemporaryCipher:
    return TemporaryCipher()


class EncryptedFile:
    """A file that this process has written with `write` and can read again."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, chunks: Iterable[bytes]) -> None:
        """Write a new file, readable by its owner only."""
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            for block in split_into_blocks(chunks):
                encrypted = _cipher().encrypt(block)
                file.write(_LENGTH.pack(len(encrypted)))
                file.write(encrypted)

    def open(self, mode: str) -> IO[bytes]:
        """Open it for reading; the mode is "rb"."""
        return io.BufferedReader(_Reader(self.path), BLOCK)


class _Reader(BlockReader):
    """Reads the text of an encrypted file at any place."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        blocks = self._find_blocks()

        def read_block(number: int) -> bytes:
            place, length = blocks[number]
            self._file.seek(place)
            return _cipher().decrypt(self._file.read(length))

        last = len(blocks) - 1
        super().__init__(last * BLOCK + len(read_block(last)) if blocks else 0, read_block)

    def _find_blocks(self) -> list[tuple[int, int]]:
        """Return place and length of each encrypted block; blocks of one length differ when encrypted."""
        found, place = [], 0
        while header := self._file.read(_LENGTH.size):
            (length,) = _LENGTH.unpack(header)
            found.append((place + _LENGTH.size, length))
            place = self._file.seek(place + _LENGTH.size + length)
        return found

    def close(self) -> None:
        self._file.close()
        super().close()
