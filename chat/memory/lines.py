"""A fact as one line of a prompt, and the line that takes one back."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

_REMEMBERED = 8192
# What a fact's text may not say, so that no fact reads as a correction.
_BEGIN, _THEN = "no longer: ", "; now: "


@lru_cache(maxsize=_REMEMBERED)
def one_line(text: str) -> str:
    """Return the text as data on one line, so that it can neither open a section nor take back a fact."""
    line = " ".join(text.split()).lstrip("#-*[ ").replace(_THEN, ", now: ")
    return line.replace(": ", ", ", 1) if line.casefold().startswith(_BEGIN) else line


def correction(old: str, new: str = "") -> str:
    """Return the list item that says what has replaced a text said earlier; without `new`, nothing has."""
    return f"- {_BEGIN}{one_line(old)}" + (f"{_THEN}{one_line(new)}" if new else "")


def read_correction(line: str) -> tuple[str, str] | None:
    """Return what a list item takes back and what it says instead, None when it is no correction."""
    head = f"- {_BEGIN}"
    if not line.startswith(head):
        return None
    old, _, new = line.removeprefix(head).partition(_THEN)
    return old, new


def said_by(texts: Collection[str]) -> list[str]:
    """Return what a block and notes, oldest first, say in the end: corrected lines have given way."""
    said: dict[str, None] = {}
    for text in texts:
        for line in text.split("\n"):
            if corrected := read_correction(line):
                old, new = corrected
                said.pop(old, None)
                if new:
                    said[new] = None
            elif line.startswith("- "):
                said[line.removeprefix("- ")] = None
    return list(said)


def without_lines(text: str, gone: set[str]) -> str:
    """Return a note without the list items that say one of `gone`; what is left empty by that goes whole."""
    parts = text.split("\n\n")
    return "\n\n".join(part for part in (_without(part, gone) for part in parts) if part)


def _without(part: str, gone: set[str]) -> str:
    lines = part.split("\n")
    kept = [line for line in lines if not _says(line, gone)]
    return "\n".join(kept) if kept == lines or any(line.startswith("- ") for line in kept) else ""


def _says(line: str, gone: set[str]) -> bool:
    if not line.startswith("- "):
        return False
    return not gone.isdisjoint(read_correction(line) or (line.removeprefix("- "),))
