"""The lines that an assistant writes, before the protocol's package reads them."""

from __future__ import annotations

import json
import re
from io import BufferedIOBase, TextIOWrapper
from typing import IO

from chat.porting.storable import whole

# An assistant that cuts a text may cut a letter in two, and JSON lets it: the package drops such a line in
# silence, and the assistant waits for its answer.
_HALVES = re.compile(rb"\\u[dD][89a-fA-F]")


def mended(line: bytes) -> bytes:
    """Return a line of JSON in which halves of letters are marks; any other line as it is."""
    if _HALVES.search(line) is None:
        return line
    try:
        text = json.dumps(json.loads(line), ensure_ascii=False)
    except (ValueError, RecursionError):
        return line
    return whole(text).encode() + b"\n"


class _Lines(BufferedIOBase):
    """Reads a line at a time, as TextIOWrapper asks for it."""

    name = "stdin"

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def read1(self, size: int = -1) -> bytes:
        return mended(self._source.readline())


def lines_of(source: IO[bytes]) -> TextIOWrapper:
    """Return an assistant's lines as text; what is no UTF-8 is a mark."""
    return TextIOWrapper(_Lines(source), encoding="utf-8", errors="replace")
