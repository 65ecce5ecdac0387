"""The house style of a fact: a sentence about "User", in their language, without a full stop (seed 004)."""

from __future__ import annotations

import re

_FIRST_PERSON = (
    (re.compile(r"^I'?m\b|^I am\b", re.I), "User is"),
    (re.compile(r"^I've\b|^I have\b", re.I), "User has"),
    (re.compile(r"^My\b", re.I), "User's"),
    (re.compile(r"^The user's\b", re.I), "User's"),
    (re.compile(r"^(?:The user|They)\b", re.I), "User"),
)

_SECOND_VERB = re.compile(
    r",? and ((?:hates|loves|likes|dislikes|prefers|wants|lives|works|has|uses|is|can't stand|enjoys|speaks|"
    r"plays)\b.+)$"
)


def tidy(text: str, said: str) -> str:
    """Return a note of the model in the house style; `said` is the message it was taken from."""
    text = " ".join(text.split()).strip(" \"'“”-*•")
    text = re.sub(r"(?<=\w)[.。;,]+$", "", text)
    # The model guesses a gender where the message gave none.
    if not re.search(r"\b(?:he|she|his|her)\b", said, re.I):
        text = re.sub(r"\b(?:his|her)\b", "their", text)
    for pattern, subject in _FIRST_PERSON:
        changed = pattern.sub(subject, text, count=1)
        if changed != text:
            return changed
    return text


def split(text: str) -> list[str]:
    """Return a note as one sentence a fact: "User is allergic to nuts and hates noise" says two things."""
    match = _SECOND_VERB.search(text)
    if not match or not text.startswith("User "):
        return [text]
    return [text[: match.start()], f"User {match[1]}"]
