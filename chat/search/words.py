"""The words of a text as the index holds them: one form for all cases and accents, no language. Pure.

Both databases get the words of this module with blanks between them, so that they find the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

# Longer ones are no words that anybody looks for, and an index has no room for them.
LONGEST = 64

# Scripts that put no blanks between words: each character is a word of its own, and a word a phrase of them.
# Thai, Lao, Burmese, Khmer, Japanese, Chinese; Korean has blanks, but hangs its particles on the words.
_UNSPACED = (
    "\u0e01-\u0e4f\u0e80-\u0ecf\u1000-\u103f\u1050-\u109f\u1100-\u11ff\u1780-\u17d3\u3005-\u3007"
    "\u3041-\u3096\u309d-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7ff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
# Accents, Hebrew and Arabic vowel signs and the stroke that draws Arabic words out.
_ACCENTS = "\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u065f\u0670"
# Vowel signs of India are no letters to Python, and no accents either.
_INDIC = "\u0900-\u0963\u0966-\u0dff"
# What people look for though it is no letter: "C++", "50 %", money, pictures.
_SIGNS = "+#%&@$£¥§°\u20a0-\u20bf\u2600-\u27bf\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
# Letters that Unicode does not take apart, and who lacks the keys writes so; 0012 has them too.
_LETTERS = str.maketrans(
    {"đ": "d", "ð": "d", "ħ": "h", "ı": "i", "ł": "l", "ø": "o", "ŧ": "t", "æ": "ae", "œ": "oe", "þ": "th"}
)
_SHADES = "\ufe0e\ufe0f\U0001f3fb-\U0001f3ff"

_PIECE = re.compile(rf"[{_UNSPACED}]|(?:[^\W_{_UNSPACED}]|[{_ACCENTS}{_INDIC}])+|[{_SIGNS}][{_SHADES}]*")
_PLAIN_PIECE = re.compile(r"[a-z0-9]+|[+#%&@$]")
_IGNORED = re.compile(f"[{_ACCENTS}{_SHADES}]")


class Word(NamedTuple):
    """A word of a text in its one form, and where it stands there."""

    form: str
    start: int
    end: int


def words(text: str) -> list[str]:
    """Return the words of a text in order, each in its one form."""
    if text.isascii():
        return [form[:LONGEST] for form in _PLAIN_PIECE.findall(text.lower())]
    return [word.form for word in placed(unicodedata.normalize("NFC", text))]


def placed(text: str) -> Iterator[Word]:
    """Yield the words of a text with their places; the text is in form NFC."""
    if text.isascii():
        for piece in _PLAIN_PIECE.finditer(text.lower()):
            yield Word(piece[0][:LONGEST], piece.start(), piece.end())
        return
    for piece in _PIECE.finditer(text):
        raw = piece[0]
        if raw.isascii():
            yield Word(raw.lower()[:LONGEST], piece.start(), piece.end())
            continue
        # "½" and "㎏" are several signs; whatever comes of them stands in the one place.
        for form in _PIECE.findall(folded(raw)):
            yield Word(form[:LONGEST], piece.start(), piece.end())


def folded(text: str) -> str:
    """Return a text without case, accents and forms of writing: "Straße" is "strasse", "Łódź" is "lodz"."""
    bare = _IGNORED.sub("", unicodedata.normalize("NFKD", text.casefold()))
    return unicodedata.normalize("NFC", bare).casefold().translate(_LETTERS)
