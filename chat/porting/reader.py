"""Reads a JSON document value by value, so that a file of hundreds of megabytes is never held in memory as a
whole.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import IO, Any, NoReturn

from chat.errors import BadFile, Reason
from chat.text import clean_for_storage

# Characters of one read.
_CHUNK = 1 << 20
# Characters of one value, such as a conversation. A damaged file could otherwise be read into memory as a
# whole.
MOST_IN_A_VALUE = 16 << 20
# Lists, objects and their items in one value. An empty list has three characters and takes 64 bytes.
MOST_ITEMS_IN_A_VALUE = 1_000_000
# A parse error within so many characters of the end of the buffer may be an unfinished number, word or
# escape.
_MAY_GO_ON = 16
_BLANK = re.compile(r"[ \t\n\r]*")
_ITEM = re.compile(r"[\[{,]")
# A string, also one that the held text cuts off.
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\Z)', re.S)
# Surrogates and NUL, which databases do not accept. In JSON they can only be written as escapes.
_UNSTORABLE = re.compile(r"\\u(?:[dD][89a-fA-F]|0000)")


class Reader:
    """A JSON document and the position up to which it has been read.

    All methods raise BadFile with line and column.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._text, self._at = "", 0
        self._ended = False
        # Lines and columns of the text that was consumed and dropped.
        self._lines, self._column = 0, 0
        self._decoder = json.JSONDecoder(parse_constant=_reject_constant, parse_float=_parse_finite)

    def peek(self) -> str:
        """Return the next character that is not white space, without consuming it; "" at the end."""
        while True:
            blank = _BLANK.match(self._text, self._at)
            self._at = blank.end() if blank else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._read_more():
                return ""

    def take(self, wanted: str) -> None:
        """Consume the next character, which must be one of `wanted`."""
        found = self.peek()
        if not found or found not in wanted:
            self._fail("file-truncated" if not found else "file-json-malformed")
        self._at += 1

    def items(self) -> Iterator[None]:
        """Step through the items of the list that begins here.

        Read each item's value before the next step.
        """
        if self.peek() not in ("[", ""):
            self._fail("field-not-a-list")
        self.take("[")
        if self.peek() == "]":
            self._at += 1
            return
        while True:
            yield None
            if self._take_separator("]"):
                return

    def members(self) -> Iterator[str]:
        """Yield the names of the members of the object that begins here.

        Read each member's value before the next step.
        """
        self.take("{")
        if self.peek() == "}":
            self._at += 1
            return
        while True:
            if self.peek() != '"':
                self._fail("file-json-malformed")
            name = self.value()
            self.take(":")
            yield name
            if self._take_separator("}"):
                return

    def value(self, where: str = "") -> Any:
        """Read the whole value that begins here. `where` is the place that an error names."""
        self.peek()
        while True:
            if len(self._text) - self._at > _CHUNK and self._count_items() > MOST_ITEMS_IN_A_VALUE:
                raise BadFile("file-item-too-large", where or self._describe_place(self._at))
            try:
                found, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if not self._may_be_unfinished(error):
                    self._fail("file-json-malformed", error.pos)
            except (RecursionError, ValueError):
                self._fail("file-nested-too-deeply")
            else:
                # A number may continue in text that is not read yet, also after a decimal point.
                if end + _MAY_GO_ON < len(self._text) or self._ended:
                    if _UNSTORABLE.search(self._text, self._at, end):
                        found = self._clean(found)
                    self._at = end
                    return found
            if len(self._text) - self._at > MOST_IN_A_VALUE:
                raise BadFile("file-item-too-large", where or self._describe_place(self._at))
            if not self._read_more() and self._at >= len(self._text):
                self._fail("file-truncated")

    def _count_items(self) -> int:
        """Return how many items the held text has at most, exactly where a rough count is not enough."""
        rough = sum(self._text.count(mark, self._at) for mark in "[{,")
        if rough <= MOST_ITEMS_IN_A_VALUE:
            return rough
        return sum(len(_ITEM.findall(piece)) for piece in _STRING.split(self._text[self._at :]))

    def _clean(self, found: Any) -> Any:
        try:
            return clean_for_storage(found)
        except RecursionError:
            self._fail("file-nested-too-deeply")

    def end(self) -> None:
        """Raise BadFile where something follows."""
        if self.peek():
            self._fail("file-text-after-end")

    def _take_separator(self, bracket: str) -> bool:
        self.take(f",{bracket}")
        return self._text[self._at - 1] == bracket

    def _may_be_unfinished(self, error: json.JSONDecodeError) -> bool:
        if self._ended:
            return False
        # For an unterminated string the parser reports the string's start.
        return error.msg.startswith("Unterminated string") or error.pos > len(self._text) - _MAY_GO_ON

    def _read_more(self) -> bool:
        """Read at least as many characters as are held, and drop those that were consumed.

        Returns False at the end of the file.
        """
        if self._ended:
            return False
        gone = self._text[: self._at]
        lines = gone.count("\n")
        self._column = len(gone) - gone.rfind("\n") - 1 if lines else self._column + len(gone)
        self._lines += lines
        held = self._text[self._at :]
        try:
            fresh = self._stream.read(max(_CHUNK, len(held)))
        except UnicodeDecodeError as error:
            raise BadFile("file-not-utf8") from error
        self._text, self._at, self._ended = held + fresh, 0, not fresh
        return bool(fresh)

    def _fail(self, why: str, at: int | None = None) -> NoReturn:
        raise BadFile(why, self._describe_place(self._at if at is None else at))

    def _describe_place(self, at: int) -> Reason:
        before = self._text[:at]
        lines = before.count("\n")
        column = len(before) - before.rfind("\n") if lines else self._column + len(before) + 1
        return Reason("file-position", {"line": self._lines + lines + 1, "column": column})


def _parse_finite(text: str) -> float:
    """Return a number; raise ValueError for one that is too large, which Python reads as infinity and no
    database accepts.
    """
    number = float(text)
    if math.isinf(number):
        raise ValueError(text)
    return number


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(name)
