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


# "I'm dyslexic" comes back as "User has dyslexic".
_ADJECTIVE = re.compile(r"^User has (\w+)$")


def _says_am(word: str, said: str) -> bool:
    return bool(re.search(rf"\bi(?:'m|’m| am) {re.escape(word)}\b", said, re.I))


_TRADE_DE = re.compile(
    r"(?:er|in|ist|eur|ör|ent|ant|ärztin|arzt|mann|frau|wirt|koch|loge|or|at|ar|är|hilfe|kraft|student)$"
)
# Names that end as trades do.
_NAMES = (
    "Peter Karin Martin Kathrin Katrin Kevin Robin Benjamin Alexander Walter Werner Günter Günther Rainer "
    "Xaver Oliver Dieter Dietmar Holger Volker Jasmin Kerstin Kirstin Kristin Quentin Valentin Konstantin "
    "Merlin Caspar Oskar Otmar Ingmar Lothar Igor Viktor Hektor Gregor Theodor Vincent Laurent Gunnar Edgar "
    "Ansgar Esther Ester Elinor"
)
_NAMES_DE = frozenset(_NAMES.split())


def tidy(text: str, said: str) -> str:
    """Return a note of the model in the house style; `said` is the message it was taken from."""
    text = " ".join(text.split()).strip(" \"'“”-*•")
    # "…, so only suggest flat routes": what follows from a fact is not the fact.
    text = re.sub(r", so \w.*$", "", text)
    text = re.sub(r"(?<=\w)[.。;,]+$", "", text)
    # The model guesses a gender where the message gave none.
    if not re.search(r"\b(?:he|she|his|her)\b", said, re.I):
        text = re.sub(r"\b(?:his|her)\b", "their", text)
    text = _ADJECTIVE.sub(lambda m: f"User is {m[1]}" if _says_am(m[1], said) else m[0], text)
    for pattern, subject in _FIRST_PERSON:
        changed = pattern.sub(subject, text, count=1)
        if changed != text:
            return changed
    return text


def named(text: str) -> str:
    """Return a note about the name in the one form that names have: "User is Ewa" is "User's name is Ewa"."""
    return re.sub(
        r"^User (?:is (?:called )?|(?:wants|prefers|likes) to be (?:called|addressed as) )(?=[A-Z])",
        "User's name is ",
        text,
    )


def unnamed(text: str, said: str) -> str:
    """Return a German note about the name as one about the trade, where nobody spoke of a name.

    "Ich bin Imkerin" comes back as "Nutzer heißt Imkerin": German writes trades as it writes names.
    """
    match = re.fullmatch(r"Nutzer(?:in)? heißt (\w+)", text)
    if not match or re.search(r"\b(?:heiß\w*|name|nenn\w*|ruf\w*)\b", said, re.I):
        return text
    return f"Nutzer ist {match[1]}" if _TRADE_DE.search(match[1]) and match[1] not in _NAMES_DE else text


def split(text: str) -> list[str]:
    """Return a note as one sentence a fact: "User is allergic to nuts and hates noise" says two things."""
    match = _SECOND_VERB.search(text)
    if not match or not text.startswith("User "):
        return [text]
    return [text[: match.start()], f"User {match[1]}"]
