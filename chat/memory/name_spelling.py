"""Restores the user's spelling of names that the model wrote in another way ("Benedict" for "Benedikt")."""

from __future__ import annotations

import re
from difflib import get_close_matches

from .text_similarity import extract_names, normalize_text, remove_accents, tokenize

# Names of three letters have too many neighbours: "Ana", "Ada", "Ina".
_MIN_LETTERS = 4
# "Benedict" and "Benedikt" have 0.88, "Zurich" and "Zürich" 0.83, "Berlin" and "Bernie" 0.67.
_MIN_RATIO = 0.75


def restore_spelling(fact: str, message: str) -> str:
    """Return the fact with the message's spelling of each name that the message has in another one.

    The words must begin with the same letter. A name without a similar word in the message stays as it is.
    """
    words = [re.sub(r"['’]s?$", "", word) for word in tokenize(message)]
    said = {remove_accents(word.casefold()): word for word in words if len(word) >= _MIN_LETTERS}
    whole = normalize_text(message)
    for name in sorted(extract_names(fact)):
        if len(name) < _MIN_LETTERS or normalize_text(name) in whole:
            continue
        plain = remove_accents(name)
        similar = [word for word in said if word[0] == plain[0]]
        if found := get_close_matches(plain, similar, n=1, cutoff=_MIN_RATIO):
            spelling = said[found[0]]
            spelling = spelling if spelling[0].isupper() else spelling.capitalize()
            fact = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", lambda _, new=spelling: new, fact, flags=re.I)
    return fact
