"""The house style of a fact: a sentence about "User", in the user's language, without a full stop (seed 004)."""

from __future__ import annotations

import re

_FIRST_PERSON = (
    (re.compile(r"^I'?m\b|^I am\b", re.I), "User is"),
    (re.compile(r"^I've\b|^I have\b", re.I), "User has"),
    (re.compile(r"^My\b", re.I), "User's"),
    (re.compile(r"^The user's\b", re.I), "User's"),
    (re.compile(r"^(?:The user|They)\b", re.I), "User"),
)


def tidy(text: str, said: str) -> str:
    """Return a note of the model in the house style; `said` is the message it was taken from."""
    text = " ".join(text.split()).strip(" \"'“”-*•")
    text = re.sub(r"(?<=\w)[.。;,]+$", "", text)
    for pattern, subject in _FIRST_PERSON:
        changed = pattern.sub(subject, text, count=1)
        if changed != text:
            return changed
    return text
