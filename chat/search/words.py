"""Splits a text into normalised words, without case and accents, for any language. Pure functions.

Both databases index the words of this module separated by blanks, so both find the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

# Longer words are cut: nobody searches for them, and they would bloat the index.
LONGEST = 64

# Scripts without blanks between words: each character is a word, and a word becomes a phrase of characters.
# Thai, Lao, Burmese, Khmer, Japanese, Chinese. Korean uses blanks but attaches particles to words, so it is
# treated the same way.
_UNSPACED = (
    "\u0e01-\u0e4f\u0e80-\u0ecf\u1000-\u103f\u1050-\u109f\u1100-\u11ff\u1780-\u17d3\u3005-\u3007"
    "\u3041-\u3096\u309d-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7ff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
# Accents, Hebrew and Arabic vowel signs, and the Arabic stroke that lengthens words.
_ACCENTS = "\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u065f\u0670"
# Indic vowel signs, which Python does not count as letters.
_INDIC = "\u0900-\u0963\u0966-\u0dff"
# Signs that people search for: "C++", "50 %", currencies, emoji.
_SIGNS = "+#%&@$£¥§°\u20a0-\u20bf\u2600-\u27bf\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
# Letters that Unicode does not decompose, with their usual replacement. Migration 0012 contains the same
# table.
_LETTERS = str.maketrans(
    {"đ": "d", "ð": "d", "ħ": "h", "ı": "i", "ł": "l", "ø": "o", "ŧ": "t", "æ": "ae", "œ": "oe", "þ": "th"}
)
_SHADES = "\ufe0e\ufe0f\U0001f3fb-\U0001f3ff"

_PIECE = re.compile(rf"[{_UNSPACED}]|(?:[^\W_{_UNSPACED}]|[{_ACCENTS}{_INDIC}])+|[{_SIGNS}][{_SHADES}]*")
_PLAIN_PIECE = re.compile(r"[a-z0-9]+|[+#%&@$]")
_IGNORED = re.compile(f"[{_ACCENTS}{_SHADES}]")


class Word(NamedTuple):
    """A normalised word and its span in the text."""

    form: str
    start: int
    end: int


def split_words(text: str) -> list[str]:
    """Return the normalised words of a text in order."""
    if text.isascii():
        return [form[:LONGEST] for form in _PLAIN_PIECE.findall(text.lower())]
    return [word.form for word in iter_words(unicodedata.normalize("NFC", text))]


def iter_words(text: str) -> Iterator[Word]:
    """Yield the normalised words of a text with their spans. The text must be in Unicode form NFC."""
    if text.isascii():
        for piece in _PLAIN_PIECE.finditer(text.lower()):
            yield Word(piece[0][:LONGEST], piece.start(), piece.end())
        return
    for piece in _PIECE.finditer(text):
        raw = piece[0]
        if raw.isascii():
            yield Word(raw.lower()[:LONGEST], piece.start(), piece.end())
            continue
        # "½" and "㎏" become several words, which share one span.
        for form in _PIECE.findall(fold_text(raw)):
            yield Word(form[:LONGEST], piece.start(), piece.end())


def fold_text(text: str) -> str:
    """Return the text without case, accents and compatibility forms: "Straße" becomes "strasse", "Łódź"
    becomes "lodz".
    """
    bare = _IGNORED.sub("", unicodedata.normalize("NFKD", text.casefold()))
    return unicodedata.normalize("NFC", bare).casefold().translate(_LETTERS)
