"""Reads a JSON document value by value, so that one of hundreds of megabytes is never held whole."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import IO, Any, NoReturn

from django.utils.translation import gettext as _

from .problems import BadFile
from .storable import storable

# Characters that are read at once.
_CHUNK = 1 << 20
# Characters that one value may have: a conversation, a list of facts. A broken file is not held whole either.
MOST_IN_A_VALUE = 64 << 20
# An error so near to the end of what was read may be a number, a word or an escape that goes on.
_MAY_GO_ON = 16
_BLANK = re.compile(r"[ \t\n\r]*")
# Halves of pairs and NUL, which no database takes; they can stand in a document as escapes only.
_UNSTORABLE = re.compile(r"\\u(?:[dD][89a-fA-F]|0000)")


class Reader:
    """The place in a document up to which it has been read."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._text, self._at = "", 0
        self._ended = False
        # Of what was let go already.
        self._lines, self._column = 0, 0
        self._decoder = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite)

    def peek(self) -> str:
        """Return the next character that is not blank, without taking it; "" at the end."""
        while True:
            blank = _BLANK.match(self._text, self._at)
            self._at = blank.end() if blank else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def take(self, wanted: str) -> None:
        """Take the next character, which must be one of those."""
        found = self.peek()
        if not found or found not in wanted:
            self._fail(_("the file ends too early") if not found else _("this is not JSON"))
        self._at += 1

    def items(self) -> Iterator[None]:
        """Step to each item of the list that begins here; take its value before the next step."""
        if self.peek() not in ("[", ""):
            self._fail(_("must be a list"))
        self.take("[")
        if self.peek() == "]":
            self._at += 1
            return
        while True:
            yield None
            if self._closed("]"):
                return

    def members(self) -> Iterator[str]:
        """Return the name of each member of the object that begins here; take its value before the next."""
        self.take("{")
        if self.peek() == "}":
            self._at += 1
            return
        while True:
            if self.peek() != '"':
                self._fail(_("this is not JSON"))
            name = self.value()
            self.take(":")
            yield name
            if self._closed("}"):
                return

    def value(self, where: str = "") -> Any:
        """Take the whole value that begins here."""
        self.peek()
        while True:
            try:
                found, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if not self._unfinished(error):
                    self._fail(_("this is not JSON"), error.pos)
            except (RecursionError, ValueError):
                self._fail(_("this is nested too deeply, or holds a number that is none"))
            else:
                # A number may go on in what was not read yet, also after a point.
                if end + _MAY_GO_ON < len(self._text) or self._ended:
                    if _UNSTORABLE.search(self._text, self._at, end):
                        found = self._storable(found)
                    self._at = end
                    return found
            if len(self._text) - self._at > MOST_IN_A_VALUE:
                raise BadFile(_("this is too large"), where or self._place(self._at))
            if not self._more() and self._at >= len(self._text):
                self._fail(_("the file ends too early"))

    def _storable(self, found: Any) -> Any:
        try:
            return storable(found)
        except RecursionError:
            self._fail(_("this is nested too deeply, or holds a number that is none"))

    def end(self) -> None:
        """Nothing may follow."""
        if self.peek():
            self._fail(_("something follows after the end"))

    def _closed(self, bracket: str) -> bool:
        self.take(f",{bracket}")
        return self._text[self._at - 1] == bracket

    def _unfinished(self, error: json.JSONDecodeError) -> bool:
        if self._ended:
            return False
        # Of a text that does not end, the beginning is told.
        return error.msg.startswith("Unterminated string") or error.pos > len(self._text) - _MAY_GO_ON

    def _more(self) -> bool:
        """Read on, twice as much as is held, and let go of what was taken."""
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
            raise BadFile(_("This file is not text in UTF-8.")) from error
        self._text, self._at, self._ended = held + fresh, 0, not fresh
        return bool(fresh)

    def _fail(self, why: str, at: int | None = None) -> NoReturn:
        raise BadFile(why, self._place(self._at if at is None else at))

    def _place(self, at: int) -> str:
        before = self._text[:at]
        lines = before.count("\n")
        column = len(before) - before.rfind("\n") if lines else self._column + len(before) + 1
        return _("line %(line)d, column %(column)d") % {"line": self._lines + lines + 1, "column": column}


def _finite(text: str) -> float:
    """Return a number; one that is too large for any would be read as infinity, which no database takes."""
    number = float(text)
    if math.isinf(number):
        raise ValueError(text)
    return number


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)
