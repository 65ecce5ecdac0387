"""Temporary files that only this process can decrypt. Each block is encrypted alone, for random access."""

from __future__ import annotations

import errno
import io
import os
import struct
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import IO

from .encryption import TemporaryCipher

# Bytes of text in a block. The last block may have fewer.
_BLOCK = 1 << 20
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
        held = bytearray()
        with os.fdopen(handle, "wb") as file:
            for chunk in chunks:
                held += chunk
                while len(held) >= _BLOCK:
                    _write_block(file, bytes(held[:_BLOCK]))
                    del held[:_BLOCK]
            if held:
                _write_block(file, bytes(held))

    def open(self, mode: str) -> IO[bytes]:
        """Open it for reading; the mode is "rb"."""
        return io.BufferedReader(_Reader(self.path), _BLOCK)


def _write_block(file: IO[bytes], text: bytes) -> None:
    encrypted = _cipher().encrypt(text)
    file.write(_LENGTH.pack(len(encrypted)))
    file.write(encrypted)


class _Reader(io.RawIOBase):
    """Reads the text of an encrypted file at any place; holds one decrypted block."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = path.open("rb")
        self._blocks = self._find_blocks()
        self._held: tuple[int, bytes] = (-1, b"")
        self._size = 0
        if self._blocks:
            last = len(self._blocks) - 1
            self._size = last * _BLOCK + len(self._read_block(last))
        self._place = 0

    def _find_blocks(self) -> list[tuple[int, int]]:
        """Return place and length of each encrypted block; blocks of one length differ when encrypted."""
        found, place = [], 0
        while header := self._file.read(_LENGTH.size):
            (length,) = _LENGTH.unpack(header)
            found.append((place + _LENGTH.size, length))
            place = self._file.seek(place + _LENGTH.size + length)
        return found

    def _read_block(self, number: int) -> bytes:
        if self._held[0] != number:
            place, length = self._blocks[number]
            self._file.seek(place)
            self._held = (number, _cipher().decrypt(self._file.read(length)))
        return self._held[1]

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        if start + offset < 0:
            raise OSError(errno.EINVAL, "a place before the beginning")
        self._place = start + offset
        return self._place

    def tell(self) -> int:
        return self._place

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        if self._place >= self._size:
            return 0
        number, start = divmod(self._place, _BLOCK)
        part = self._read_block(number)[start : start + len(buffer)]
        buffer[: len(part)] = part
        self._place += len(part)
        return len(part)

    def close(self) -> None:
        self._file.close()
        super().close()
