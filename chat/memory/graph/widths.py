"""How wide a text may become in a font that only the browser knows: upper bounds, and cutting to a room.

The bounds are those of DejaVu Sans and Verdana, the widest of the fonts that systems use for their own text.
"""

from __future__ import annotations

import unicodedata

_NARROW = frozenset("ijl.,:;'|/ ")
_SLIM = frozenset('ftr()[]-"!')
_BROAD = frozenset("@%&…—–mwMWŵŴ©®ÆæŒœ#+<=>^~±×÷¬½¼¾жфшщюљњωώ")
# What stands before the phonetic letters is Latin and its marks.
_LATIN_END = "\u0250"


def text_width(text: str, size: float) -> float:
    """Return an upper bound of how wide a text is in a system font of that size, in pixels."""
    return sum(_ems(char) for char in text) * size


def fitted(text: str, room: float, size: float) -> str:
    """Return the text, cut with an ellipsis where it may be wider than the room, in pixels."""
    if text_width(text, size) <= room:
        return text
    room -= text_width("…", size)
    kept = ""
    for char in text:
        room -= _ems(char) * size
        if room < 0:
            break
        kept += char
    return kept.rstrip() + "…"


def _ems(char: str) -> float:
    if char in _NARROW:
        return 0.34
    if char in _SLIM:
        return 0.47
    if char in _BROAD:
        return 1.03
    if char < _LATIN_END:
        return 0.8 if char.isupper() else 0.65
    if unicodedata.combining(char):
        return 0.0
    return 0.8 if char.islower() else 1.1
