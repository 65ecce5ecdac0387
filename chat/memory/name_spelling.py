"""Gives the names of a fact as the user wrote them, where the model spelled or completed them by itself."""

from __future__ import annotations

import re
from difflib import get_close_matches

from .text_similarity import extract_names, normalize_text, remove_accents, tokenize

# Names of three letters have too many neighbours: "Ana", "Ada", "Ina".
_MIN_LETTERS = 4
# "Benedict" and "Benedikt" have 0.88, "Pickel" and "Pickle" 0.83, "Carl" and "call" 0.75, "Berlin" and
# "Bernie" 0.67.
_MIN_RATIO = 0.8
# Words that differ at their end only are two words: "Korean" and "Korea", "Maria" and "Mario".
_MAX_END = 1


def restore_names(fact: str, message: str) -> str:
    """Return the fact with the message's spelling of each name that the message has in another one.

    The words must begin with the same letter. A name that completes one of the message ("Arch Linux" for
    "Arch", "Leeds, England" for "Leeds") is removed. Other names stay as they are.
    """
    words = [re.sub(r"['’]s?$", "", word) for word in tokenize(message)]
    said = {remove_accents(word.casefold()): word for word in words if len(word) >= _MIN_LETTERS}
    # In a message without capitals a name has none either.
    has_capitals = not message.islower()
    whole = normalize_text(message)
    for name in sorted(extract_names(fact)):
        if len(name) < _MIN_LETTERS or normalize_text(name) in whole:
            continue
        plain = remove_accents(name)
        similar = [
            word
            for word, written in said.items()
            if word == plain or (_may_be_same(word, plain) and (written[0].isupper() or not has_capitals))
        ]
        if found := get_close_matches(plain, similar, n=1, cutoff=_MIN_RATIO):
            fact = _replace_name(fact, name, said[found[0]])
        else:
            fact = _remove_completion(fact, name, said)
    return fact


def _may_be_same(word: str, name: str) -> bool:
    """Return whether two words may be spellings of one name: they differ before their ends."""
    end = min(len(word), len(name)) - _MAX_END
    return word[0] == name[0] and word[:end] != name[:end]


def _replace_name(fact: str, name: str, spelling: str) -> str:
    spelling = spelling if spelling[0].isupper() else spelling.capitalize()
    return re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", spelling.replace("\\", ""), fact, flags=re.I)


def _remove_completion(fact: str, name: str, said: dict[str, str]) -> str:
    """Return the fact without a name that directly follows one of the message."""
    match = re.search(rf"(?<!\w)(?P<before>[^\W\d_]+),? {re.escape(name)}(?!\w)", fact, re.I)
    if match is None or not match["before"][0].isupper():
        return fact
    if remove_accents(match["before"].casefold()) not in said:
        return fact
    return fact[: match.end("before")] + fact[match.end() :]
