"""Reads a file that is stored in blocks of one size, at any place. Standard library only."""

from __future__ import annotations

import errno
import io
from collections.abc import Callable, Iterable, Iterator

# Bytes in a block; the last one may have fewer.
BLOCK = 1 << 20


class BlockReader(io.RawIOBase):
    """A file of `size` bytes whose blocks `read_block` returns by their number; holds one of them."""

    def __init__(self, size: int, read_block: Callable[[int], bytes]) -> None:
        super().__init__()
        self._size, self._read_block = size, read_block
        self._held: tuple[int, bytes] = (-1, b"")
        self._place = 0

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
        number, start = divmod(self._place, BLOCK)
        if self._held[0] != number:
            self._held = (number, self._read_block(number))
        part = self._held[1][start : start + len(buffer)]
        buffer[: len(part)] = part
        self._place += len(part)
        return len(part)


def split_into_blocks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the bytes of chunks of any size as blocks."""
    held = bytearray()
    for chunk in chunks:
        held += chunk
        while len(held) >= BLOCK:
            yield bytes(held[:BLOCK])
            del held[:BLOCK]
    if held:
        yield bytes(held)
