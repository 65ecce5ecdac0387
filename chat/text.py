"""Cleans texts that come from outside, to be stored, sent or printed on a terminal. Standard library only."""

from __future__ import annotations

from typing import Any


def replace_lone_surrogates(text: str) -> str:
    """Return the text with each lone surrogate replaced by U+FFFD, so that it can be encoded as UTF-8."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def clean_for_storage(value: Any) -> Any:
    """Return a JSON value whose texts have no NUL characters and no lone surrogates; databases accept
    neither.
    """
    if isinstance(value, str):
        return replace_lone_surrogates(value.replace("\x00", ""))
    if isinstance(value, list):
        return [clean_for_storage(item) for item in value]
    if isinstance(value, dict):
        return {clean_for_storage(name): clean_for_storage(item) for name, item in value.items()}
    return value


# Control characters, except newline and tab, and the marks that reverse the direction of text (U+202A–202E,
# U+2066–2069). Text of a model, a web page or an imported file must not move the cursor, write to the
# clipboard or reorder a line.
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_ORDERS = {code: None for code in _CONTROLS if chr(code) not in "\n\t"}


def strip_terminal_controls(text: str) -> str:
    """Return the text without the characters that control a terminal."""
    return text.translate(_ORDERS)


def format_as_one_line(text: str) -> str:
    """Return the text as one line without control characters, so that it cannot look like further lines of
    output.
    """
    return " ".join(strip_terminal_controls(" ".join(text.split())).split())
