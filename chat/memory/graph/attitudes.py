"""Extracts relations that facts of any kind may state: admires, struggles with, has good, designed for."""

from __future__ import annotations

from .lexicon import Lexicon, parse_words
from .phrases import find_name_end, find_names, join_words, split_objects, take_noun_phrase
from .types import EntityMention, Relation
from .well_known_names import classify_name

_ADMIRES = parse_words("admires admire admiring bewundert admira ammira")
_STRUGGLES = parse_words(
    "struggles struggle struggling kämpft ringt lutte luttent lucha luchando lotta fatica luta lutando"
)
_WITH = parse_words("with mit contre contra contro con com")
# Before the reason of praise ("for its keyboard shortcuts"), and before those whom a project is for.
_FOR = parse_words("for für pour para per por pela pelo pelas pelos")
# Between "for" and the quality: "for its …". Without one of them a reason may follow that is no quality.
_ITS = parse_words(
    "its their his her the seine seiner ihre ihrer die das den sa son ses leur su sus la el los las il lo le "
    "i gli sua suo sue suoi seu seus suas"
)
# Words after "for" that name no purpose: "for years", "for fun", "for now".
_NO_PURPOSE = parse_words(
    "years year months month weeks week days day hours now fun free work school a while ever life living "
    "example jahre monate wochen tage spaß ans mois semaines jours años meses semanas días anni mesi "
    "settimane giorni anos dias"
)


def extract_attitudes(tokens: list[str], lexicon: Lexicon) -> list[Relation]:
    """Extract relations from "admires Linear for its keyboard shortcuts", "struggles with insomnia"."""
    found: list[Relation] = []
    for i, token in enumerate(tokens):
        folded = token.casefold()
        if folded in _ADMIRES:
            found += _extract_admiration(tokens[i + 1 :], lexicon)
        elif folded in _STRUGGLES and (at := _find_within(tokens, i + 1, _WITH)) is not None:
            found += [
                Relation("struggles_with", EntityMention(name, "concept"))
                for name in split_objects(tokens[at + 1 :], lexicon)
            ]
    return found


def extract_purpose(tokens: list[str], project: EntityMention, lexicon: Lexicon) -> list[Relation]:
    """Extract "designed for" from the words after a project: "Selene for ADHD management" gives "ADHD"."""
    at = _find_within(tokens, 0, _FOR, most=len(tokens))
    if at is None or at + 1 == len(tokens) or tokens[at + 1].casefold() in _NO_PURPOSE:
        return []
    rest = tokens[at + 1 :]
    end = find_name_end(rest, 0, lexicon) if lexicon.code != "de" else 0
    name = join_words(rest[:end]) if end else take_noun_phrase(rest, lexicon)[0]
    return [Relation("designed_for", EntityMention(name, classify_name(name)), project)] if name else []


def _extract_admiration(tokens: list[str], lexicon: Lexicon) -> list[Relation]:
    reason = _find_within(tokens, 1, _FOR, most=7)
    objects = tokens[:reason] if reason is not None else tokens
    names = (find_names(objects, lexicon) if lexicon.code != "de" else [])[:1] or split_objects(
        objects, lexicon
    )
    found = [Relation("admires", EntityMention(name, classify_name(name))) for name in names]
    if not found or reason is None or reason + 2 >= len(tokens):
        return found
    quality = tokens[reason + 1 :]
    if quality[0].casefold() not in _ITS and tokens[reason].casefold() not in {"pela", "pelo"}:
        return found
    return [
        *found,
        *(
            Relation("has_good", EntityMention(name, "concept"), found[0].target)
            for name in split_objects(quality[1:] if quality[0].casefold() in _ITS else quality, lexicon)
        ),
    ]


def _find_within(tokens: list[str], start: int, words: frozenset[str], most: int = 5) -> int | None:
    return next(
        (i for i in range(start, min(start + most, len(tokens))) if tokens[i].casefold() in words), None
    )
