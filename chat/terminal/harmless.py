"""Texts of others on a terminal: none gives it orders, none looks like lines that we wrote."""

from __future__ import annotations

# What a terminal takes for an order: a model's words, a page that was pasted, or a file that comes in must
# not move its cursor or write into the clipboard. Nor must they turn the order of letters around: 202A–202E
# and 2066–2069 are the marks that do so for the rest of a line.
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_ORDERS = {code: None for code in _CONTROLS if chr(code) not in "\n\t"}


def harmless(text: str) -> str:
    """Return a text without the characters that a terminal obeys."""
    return text.translate(_ORDERS)


def in_a_line(text: str) -> str:
    """Return a text as one line: what stands in a list must not look like more of it."""
    return " ".join(harmless(" ".join(text.split())).split())
