"""Ties of what the owner likes, avoids and wants from answers."""

from __future__ import annotations

import re

from .known import type_of
from .lexicon import Tongue, words
from .owner import Sentence
from .phrases import TONGUES, after_verb, name_after, names_in, objects, phrase
from .tie import Thing, Tie

_DIETS = words(
    "vegetarian vegan pescatarian halal kosher keto vegetarisch vegan vegetarier vegetarierin veganer "
    "veganerin végétarien végétarienne végane végan vegetariano vegetariana vegano vegana"
)
_NO = words("no without kein keine keinen ohne sans sin nada senza sem")
_THIRD_PERSON = re.compile(r"^[a-z]{2,}s$")
# What is asked for is an answer anyway.
_ANSWERS = words("answers answer replies responses antworten réponses respuestas risposte respostas")
# "Can't stand", "no le gusta": a no before the verb.
_DENIED = words("no not don't doesn't n' ne non não nicht")


def likes(sentence: Sentence, tokens: list[str]) -> list[Tie]:
    """Read "Loves old westerns and tea", "plays the drums", "favourite city is Lisbon"."""
    tongue = TONGUES[sentence.language]
    if tokens and tokens[0].casefold() in tongue.verbs["dislikes"] - tongue.verbs["likes"] - {"not", "non"}:
        # The kind may be wrong; the verb is the owner's own.
        return dislikes(sentence, tokens)
    return _plays(tokens, tongue) or _tastes("likes", _liked(sentence, tokens, tongue, "likes"))


def dislikes(sentence: Sentence, tokens: list[str]) -> list[Tie]:
    """Read "Can't stand loud restaurants"."""
    tongue = TONGUES[sentence.language]
    return _tastes("dislikes", _liked(sentence, tokens, tongue, "dislikes"))


def _plays(tokens: list[str], tongue: Tongue) -> list[Tie]:
    if after_verb(tokens[:3], tongue, "likes") is not None:
        return []
    rest = after_verb(tokens[:5], tongue, "plays")
    if rest is None:
        return []
    found = objects(after_verb(tokens, tongue, "plays") or [], tongue)
    return [Tie("plays", Thing(name, type_of(name))) for name in found]


def _liked(sentence: Sentence, tokens: list[str], tongue: Tongue, group: str) -> list[str]:
    if sentence.owned:
        # "User's favourite city is Lisbon": the thing stands after the copula.
        at = next((i for i, t in enumerate(tokens) if t.casefold() in tongue.copula), None)
        return objects(tokens[at + 1 :], tongue) if at is not None else []
    rest = after_verb(tokens, tongue, group)
    if rest is not None:
        # "Likes to play chess": the infinitive stands between.
        return objects(_past_infinitive(rest, tongue), tongue)
    if group == "likes" and tongue.code == "en" and tokens and _THIRD_PERSON.match(tokens[0]):
        # "Collects vintage cameras", "listens to Radiohead".
        return objects(tokens[2 if tokens[1:2] == ["to"] else 1 :], tongue)
    return names_in(tokens, tongue)[:1] if tongue.code != "de" else []


def _past_infinitive(rest: list[str], tongue: Tongue) -> list[str]:
    """Return "chess" of "to play chess", and "romans policiers" of "lire des romans policiers"."""
    if rest[:1] == ["to"]:
        return rest[2:]
    verb = bool(rest and tongue.infinitive and rest[0].endswith(tongue.infinitive))
    return rest[1:] if verb and len(rest) > 1 and rest[1].casefold() in tongue.determiners else rest


def _tastes(relation: str, names: list[str]) -> list[Tie]:
    return [Tie(relation, Thing(name, type_of(name))) for name in names]


def diet(sentence: Sentence, tokens: list[str]) -> list[Tie]:
    """Read "Is vegetarian", "eats no pork"."""
    tongue = TONGUES[sentence.language]
    known = next((t for t in tokens if t.casefold() in _DIETS), None)
    if known:
        return [Tie("eats", Thing(known, "concept"))]
    rest = after_verb(tokens, tongue, "diet")
    if rest is None:
        return []
    denied = any(t.casefold() in _NO | _DENIED for t in tokens)
    return [Tie("avoids" if denied else "eats", Thing(name, "concept")) for name in objects(rest, tongue)]


def habit(sentence: Sentence, tokens: list[str]) -> list[Tie]:
    """Read "Gave up smoking"; what is done every morning names no thing."""
    tongue = TONGUES[sentence.language]
    rest = after_verb(tokens, tongue, "quit")
    return [Tie("gave_up", Thing(name, "concept")) for name in objects(rest, tongue)] if rest else []


def reply_style(sentence: Sentence, tokens: list[str]) -> list[Tie]:
    """Read "Prefers short answers", "wants no emojis"."""
    tongue = TONGUES[sentence.language]
    rest = after_verb(tokens, tongue, "wants")
    if rest is None:
        return []
    if any(t.casefold() in _NO | _DENIED for t in tokens[: len(tokens) - len(rest)]):
        wanted, unwanted = [], objects(rest, tongue)
    else:
        no = next((i for i, t in enumerate(rest) if t.casefold() in _NO), len(rest))
        wanted, unwanted = objects(rest[:no], tongue), objects(rest[no + 1 :], tongue)
    return [
        *(Tie("prefers", Thing(name, "concept")) for name in wanted if name.casefold() not in _ANSWERS),
        *(Tie("avoids", Thing(name, "concept")) for name in unwanted),
    ]


def reply_language(sentence: Sentence, tokens: list[str]) -> list[Tie]:
    """Read "Wants answers in French"."""
    tongue = TONGUES[sentence.language]
    found = name_after(tokens, frozenset({"in", "auf"}), tongue)
    if found:
        return [Tie("prefers", Thing(found[0], "concept"))]
    at = next((i for i, t in enumerate(tokens) if t.casefold() in {"en", "in", "em"}), None)
    name = phrase(tokens[at + 1 :], tongue)[0] if at is not None else ""
    return [Tie("prefers", Thing(name, "concept"))] if name else []


def units(sentence: Sentence, tokens: list[str]) -> list[Tie]:
    """Read "Wants distances in miles", "uses metric units"."""
    tongue = TONGUES[sentence.language]
    at = next((i for i, t in enumerate(tokens) if t.casefold() in {"in", "en", "em"}), None)
    rest = tokens[at + 1 :] if at is not None else after_verb(tokens, tongue, "wants")
    return [Tie("prefers", Thing(name, "concept")) for name in objects(rest or [], tongue)]
