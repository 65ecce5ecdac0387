"""Parses questions to the entity graph in seven languages."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .question_words import (
    ABOUT_NAME_PATTERNS,
    BARE_NAME_PATTERN,
    EVERYTHING_PATTERN,
    HOME_RELATIONS,
    NAMED_SUBJECT_PATTERNS,
    OWNER_PATTERN,
    PAST_PATTERN,
    QUESTION_WORD_PATTERN,
    RELATION_PATTERNS,
    TYPE_PATTERNS,
)
from .types import KINSHIP_RELATIONS, EntityType


@dataclass(frozen=True, slots=True)
class GraphQuery:
    """The relations that a question asks for; an empty set of relations or types means any.

    `subject` "" is the owner. With `past` former relations are asked for too. `understood` is false for a
    text that is not recognised as a question to the graph.
    """

    relations: frozenset[str] = frozenset()
    types: frozenset[EntityType] = frozenset()
    subject: str = ""
    past: bool = False
    understood: bool = True


# In characters; the rest of a longer question is ignored.
_MAX_QUESTION = 200

NOT_UNDERSTOOD = GraphQuery(understood=False)


def parse_question(question: str) -> GraphQuery:
    """Return the query of a question; NOT_UNDERSTOOD if it is not recognised."""
    text = " ".join(question[:_MAX_QUESTION].replace("’", "'").strip(" ¿¡").split())
    if not text:
        return NOT_UNDERSTOOD
    for pattern, relations in NAMED_SUBJECT_PATTERNS:
        if (found := pattern.search(text)) and not OWNER_PATTERN.fullmatch(found["name"].strip()):
            return GraphQuery(relations=relations, subject=_clean_name(found["name"]), past=_is_past(text))
    for pattern in ABOUT_NAME_PATTERNS:
        if (found := pattern.search(text)) and not OWNER_PATTERN.search(found["name"]):
            name = _clean_name(found["name"])
            return GraphQuery(subject=name) if len(name.split()) <= 5 else NOT_UNDERSTOOD
    if OWNER_PATTERN.search(text):
        return _parse_question_about_owner(text)
    if BARE_NAME_PATTERN.match(text.rstrip("?？!. ")) and not QUESTION_WORD_PATTERN.search(text):
        return GraphQuery(subject=_clean_name(text))
    return NOT_UNDERSTOOD


def _parse_question_about_owner(text: str) -> GraphQuery:
    relations = next(
        (wanted for pattern, wanted in RELATION_PATTERNS if pattern.search(text)), frozenset[str]()
    )
    types = frozenset(type_ for pattern, type_ in TYPE_PATTERNS if pattern.search(text))
    if relations and relations <= {"lives_in", "lives_near", "works_at", *KINSHIP_RELATIONS}:
        # These relations have only one entity type, so the type words add nothing.
        types = frozenset()
    if not relations and (re.search(r"^who\b.*\bknow\b|^wen\b.*\bkenne\b", text, re.I) or "person" in types):
        types = frozenset({"person"})
    if not relations and not types and EVERYTHING_PATTERN.search(text):
        return GraphQuery()
    if not relations and not types:
        return NOT_UNDERSTOOD
    past = _is_past(text)
    if past and relations == HOME_RELATIONS:
        relations = relations | {"lived_in"}
    return GraphQuery(relations=relations, types=types, past=past)


def _is_past(text: str) -> bool:
    return bool(PAST_PATTERN.search(text))


def _clean_name(text: str) -> str:
    name = text.strip(" ?？!！.。\"“”«»'")
    return re.sub(
        r"^(?:the|a|an|der|die|das|le|la|les|l'|el|los|las|il|lo|o|os)[ ](?=\S)", "", name, flags=re.I
    )
