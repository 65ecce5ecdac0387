"""Extracts the relations of a fact: its kind selects the rule, its sentence gives the names."""

from __future__ import annotations

from collections.abc import Callable

from . import chinese, identity, people, projects, tastes
from .attitudes import extract_attitudes
from .phrases import LEXICONS, split_words
from .subject import FactPredicate, strip_subject
from .types import EntityMention, Relation

Rule = Callable[[FactPredicate, list[str]], list[Relation]]

_RULES: dict[str, Rule] = {
    "home": identity.extract_home,
    "origin": identity.extract_origin,
    "employer": identity.extract_employer,
    "job": identity.extract_job,
    "relationship": people.extract_spouse_or_partner,
    "family": people.extract_family,
    "pet": people.extract_pets,
    "health": identity.extract_health,
    "language": identity.extract_languages,
    "event": identity.extract_event,
    "likes": tastes.extract_likes,
    "dislikes": tastes.extract_dislikes,
    "diet": tastes.extract_diet,
    "habit": tastes.extract_habit,
    "reply_language": tastes.extract_reply_language,
    "reply_style": tastes.extract_reply_style,
    "units": tastes.extract_units,
    "building": projects.extract_building,
    "learning": projects.extract_learning,
    "goal": projects.extract_goal,
    "tools": projects.extract_tools,
    "deadline": projects.extract_deadline,
}


def extract_relations(kind: str, text: str, language: str = "") -> list[Relation]:
    """Return the relations of a fact without duplicates; [] if it names no entity or its kind has no rule.

    `language` is the stored language code of the fact; it is used only if the words do not show the language.
    """
    rule = _RULES.get(kind)
    if rule is None:
        return []
    predicate = strip_subject(text, language)
    if predicate.language == "zh":
        found = chinese.extract_chinese_relations(kind, predicate.text)
    else:
        lexicon = LEXICONS[predicate.language]
        tokens = split_words(predicate.text, lexicon)
        attitudes = extract_attitudes(tokens, lexicon) if predicate.of_owner else []
        found = attitudes or rule(predicate, tokens)
    return [relation for relation in dict.fromkeys(found) if _is_valid(relation)]


def _is_valid(relation: Relation) -> bool:
    ends = [end for end in (relation.target, relation.source) if end]
    return all(map(_has_valid_name, ends)) and relation.target != relation.source


def _has_valid_name(entity: EntityMention) -> bool:
    return any(c.isalnum() for c in entity.name) and not entity.name.isdigit()
