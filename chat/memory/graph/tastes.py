"""Extracts relations of preference facts: likes, dislikes, diet, habits, wishes about answers."""

from __future__ import annotations

import re

from .lexicon import Lexicon, parse_words
from .phrases import LEXICONS, find_name_after, find_names, split_objects, take_after_verb, take_noun_phrase
from .subject import FactPredicate
from .types import EntityMention, Relation
from .well_known_names import classify_name

_PREFERS = parse_words("prefers prefer bevorzugt préfère prefiere preferisce prefere")
_DIETS = parse_words(
    "vegetarian vegan pescatarian halal kosher keto vegetarisch vegan vegetarier vegetarierin veganer "
    "veganerin végétarien végétarienne végane végan vegetariano vegetariana vegano vegana"
)
_NO = parse_words("no without kein keine keinen ohne sans sin nada senza sem")
# An English verb in the third person: "collects".
_THIRD_PERSON = re.compile(r"^[a-z]{2,}s$")
# Words for answers; they are no objects of a wish.
_ANSWERS = parse_words("answers answer replies responses antworten réponses respuestas risposte respostas")
# Negations before the verb: "doesn't want", "no le gusta".
_DENIED = parse_words("no not don't doesn't n' ne non não nicht")


def extract_likes(predicate: FactPredicate, tokens: list[str]) -> list[Relation]:
    """Extract relations from "loves old westerns and tea", "plays the drums", "favourite city is Lisbon"."""
    lexicon = LEXICONS[predicate.language]
    if tokens and tokens[0].casefold() in lexicon.verbs["dislikes"] - lexicon.verbs["likes"] - {"not", "non"}:
        # The kind may be wrong; the verb decides.
        return extract_dislikes(predicate, tokens)
    relation = "prefers" if tokens and tokens[0].casefold() in _PREFERS else "likes"
    return _extract_plays(tokens, lexicon) or _relate_each(
        relation, _find_objects(predicate, tokens, lexicon, "likes")
    )


def extract_dislikes(predicate: FactPredicate, tokens: list[str]) -> list[Relation]:
    """Extract relations from "can't stand loud restaurants"."""
    lexicon = LEXICONS[predicate.language]
    return _relate_each("dislikes", _find_objects(predicate, tokens, lexicon, "dislikes"))


def _extract_plays(tokens: list[str], lexicon: Lexicon) -> list[Relation]:
    if take_after_verb(tokens[:3], lexicon, "likes") is not None:
        return []
    rest = take_after_verb(tokens[:5], lexicon, "plays")
    if rest is None:
        return []
    found = split_objects(take_after_verb(tokens, lexicon, "plays") or [], lexicon)
    return [Relation("plays", EntityMention(name, classify_name(name))) for name in found]


def _find_objects(predicate: FactPredicate, tokens: list[str], lexicon: Lexicon, group: str) -> list[str]:
    if predicate.of_possession:
        # "User's favourite city is Lisbon": the object follows the copula.
        at = next((i for i, t in enumerate(tokens) if t.casefold() in lexicon.copula), None)
        return split_objects(tokens[at + 1 :], lexicon) if at is not None else []
    rest = take_after_verb(tokens, lexicon, group)
    if rest is not None:
        # "Likes to play chess": an infinitive stands before the object.
        return split_objects(_skip_infinitive(rest, lexicon), lexicon)
    if group == "likes" and lexicon.code == "en" and tokens and _THIRD_PERSON.match(tokens[0]):
        # "Collects vintage cameras", "listens to Radiohead".
        return split_objects(tokens[2 if tokens[1:2] == ["to"] else 1 :], lexicon)
    return find_names(tokens, lexicon)[:1] if lexicon.code != "de" else []


def _skip_infinitive(rest: list[str], lexicon: Lexicon) -> list[str]:
    """Return the words after an infinitive: "chess" of "to play chess", "des romans" of "lire des romans"."""
    if rest[:1] == ["to"]:
        return rest[2:]
    verb = bool(rest and lexicon.infinitive and rest[0].endswith(lexicon.infinitive))
    return rest[1:] if verb and len(rest) > 1 and rest[1].casefold() in lexicon.determiners else rest


def _relate_each(relation: str, names: list[str]) -> list[Relation]:
    return [Relation(relation, EntityMention(name, classify_name(name))) for name in names]


def extract_diet(predicate: FactPredicate, tokens: list[str]) -> list[Relation]:
    """Extract relations from "is vegetarian", "eats no pork"."""
    lexicon = LEXICONS[predicate.language]
    name = next((t for t in tokens if t.casefold() in _DIETS), None)
    if name:
        return [Relation("eats", EntityMention(name, "concept"))]
    rest = take_after_verb(tokens, lexicon, "diet")
    if rest is None:
        return []
    denied = any(t.casefold() in _NO | _DENIED for t in tokens)
    return [
        Relation("avoids" if denied else "eats", EntityMention(name, "concept"))
        for name in split_objects(rest, lexicon)
    ]


def extract_habit(predicate: FactPredicate, tokens: list[str]) -> list[Relation]:
    """Extract relations from "gave up smoking"; other habits have no relation."""
    lexicon = LEXICONS[predicate.language]
    rest = take_after_verb(tokens, lexicon, "quit")
    return (
        [Relation("gave_up", EntityMention(name, "concept")) for name in split_objects(rest, lexicon)]
        if rest
        else []
    )


def extract_reply_style(predicate: FactPredicate, tokens: list[str]) -> list[Relation]:
    """Extract relations from "prefers short answers", "wants no emojis"."""
    lexicon = LEXICONS[predicate.language]
    rest = take_after_verb(tokens, lexicon, "wants")
    if rest is None:
        return []
    if any(t.casefold() in _NO | _DENIED for t in tokens[: len(tokens) - len(rest)]):
        wanted, unwanted = [], split_objects(rest, lexicon)
    else:
        no = next((i for i, t in enumerate(rest) if t.casefold() in _NO), len(rest))
        wanted, unwanted = split_objects(rest[:no], lexicon), split_objects(rest[no + 1 :], lexicon)
    return [
        *(
            Relation("prefers", EntityMention(name, "concept"))
            for name in wanted
            if name.casefold() not in _ANSWERS
        ),
        *(Relation("avoids", EntityMention(name, "concept")) for name in unwanted),
    ]


def extract_reply_language(predicate: FactPredicate, tokens: list[str]) -> list[Relation]:
    """Extract the relation from "wants answers in French"."""
    lexicon = LEXICONS[predicate.language]
    found = find_name_after(tokens, frozenset({"in", "auf"}), lexicon)
    if found:
        return [Relation("prefers", EntityMention(found[0], "concept"))]
    at = next((i for i, t in enumerate(tokens) if t.casefold() in {"en", "in", "em"}), None)
    name = take_noun_phrase(tokens[at + 1 :], lexicon)[0] if at is not None else ""
    return [Relation("prefers", EntityMention(name, "concept"))] if name else []


def extract_units(predicate: FactPredicate, tokens: list[str]) -> list[Relation]:
    """Extract relations from "wants distances in miles", "uses metric units"."""
    lexicon = LEXICONS[predicate.language]
    at = next((i for i, t in enumerate(tokens) if t.casefold() in {"in", "en", "em"}), None)
    rest = tokens[at + 1 :] if at is not None else take_after_verb(tokens, lexicon, "wants")
    return [
        Relation("prefers", EntityMention(name, "concept")) for name in split_objects(rest or [], lexicon)
    ]
