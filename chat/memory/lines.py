"""A fact as one line of a prompt."""

from __future__ import annotations


def one_line(text: str) -> str:
    """Return the text as data on one line, so that it cannot open a section of a prompt."""
    return " ".join(text.split()).lstrip("#-*[ ")


def without_lines(text: str, gone: set[str]) -> str:
    """Return a block or note without the list items that say one of `gone`; empty when no item is left."""
    lines = text.split("\n")
    kept = [line for line in lines if line.removeprefix("- ") not in gone or not line.startswith("- ")]
    return "\n".join(kept) if any(line.startswith("- ") for line in kept) else ""
