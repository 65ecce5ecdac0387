"""What a question asks of the graph, in the words of seven languages; what it does not understand it says."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .question_words import ABOUT, ASKS, BARE, EVERYTHING, HOME, OF_OTHERS, OWNER, PAST, RELATIONS, TYPES
from .tie import KIN, TypeName


@dataclass(frozen=True, slots=True)
class Query:
    """Which relationships are wanted; an empty set of relations or types means any.

    `subject` "" is the owner. `past` wants those that no longer hold as well. Not `understood` wants none.
    """

    relations: frozenset[str] = frozenset()
    types: frozenset[TypeName] = frozenset()
    subject: str = ""
    past: bool = False
    understood: bool = True


# A question to the graph is one line.
_LONGEST = 200

NOT_UNDERSTOOD = Query(understood=False)


def parse(question: str) -> Query:
    """Return what a question asks of the graph; `NOT_UNDERSTOOD` for one that is none of ours."""
    text = " ".join(question[:_LONGEST].replace("’", "'").strip(" ¿¡").split())
    if not text:
        return NOT_UNDERSTOOD
    for pattern, relations in OF_OTHERS:
        if (found := pattern.search(text)) and not OWNER.fullmatch(found["name"].strip()):
            return Query(relations=relations, subject=_name(found["name"]), past=_is_past(text))
    for pattern in ABOUT:
        if (found := pattern.search(text)) and not OWNER.search(found["name"]):
            name = _name(found["name"])
            return Query(subject=name) if len(name.split()) <= 5 else NOT_UNDERSTOOD
    if OWNER.search(text):
        return _about_owner(text)
    if BARE.match(text.rstrip("?？!. ")) and not ASKS.search(text):
        return Query(subject=_name(text))
    return NOT_UNDERSTOOD


def _about_owner(text: str) -> Query:
    relations = next((wanted for pattern, wanted in RELATIONS if pattern.search(text)), frozenset[str]())
    types = frozenset(type_ for pattern, type_ in TYPES if pattern.search(text))
    if relations and relations <= {"lives_in", "lives_near", "works_at", *KIN}:
        # "Where" and "who" have said what is wanted.
        types = frozenset()
    if not relations and (re.search(r"^who\b.*\bknow\b|^wen\b.*\bkenne\b", text, re.I) or "person" in types):
        types = frozenset({"person"})
    if not relations and not types and EVERYTHING.search(text):
        return Query()
    if not relations and not types:
        return NOT_UNDERSTOOD
    past = _is_past(text)
    if past and relations == HOME:
        relations = relations | {"lived_in"}
    return Query(relations=relations, types=types, past=past)


def _is_past(text: str) -> bool:
    return bool(PAST.search(text))


def _name(text: str) -> str:
    name = text.strip(" ?？!！.。\"“”«»'")
    return re.sub(
        r"^(?:the|a|an|der|die|das|le|la|les|l'|el|los|las|il|lo|o|os)[ ](?=\S)", "", name, flags=re.I
    )
