"""From a fact to its ties: the kind gives the relation, the sentence gives the things."""

from __future__ import annotations

from collections.abc import Callable

from . import chinese, life, people, projects, tastes
from .owner import Sentence, peel
from .phrases import TONGUES, split_words
from .tie import Thing, Tie

Rule = Callable[[Sentence, list[str]], list[Tie]]

_RULES: dict[str, Rule] = {
    "home": life.home,
    "origin": life.origin,
    "employer": life.employer,
    "job": life.job,
    "relationship": people.relationship,
    "family": people.family,
    "pet": people.pet,
    "health": life.health,
    "language": life.language,
    "event": life.event,
    "likes": tastes.likes,
    "dislikes": tastes.dislikes,
    "diet": tastes.diet,
    "habit": tastes.habit,
    "reply_language": tastes.reply_language,
    "reply_style": tastes.reply_style,
    "units": tastes.units,
    "building": projects.building,
    "learning": projects.learning,
    "goal": projects.goal,
    "tools": projects.tools,
    "deadline": projects.deadline,
}


def ties(kind: str, text: str, language: str = "") -> list[Tie]:
    """Return what a fact ties to what, none where it names nothing; no two of them are equal.

    `language` is the fact's label and is believed only where the words do not tell.
    """
    rule = _RULES.get(kind)
    if rule is None:
        return []
    sentence = peel(text, language)
    if sentence.language == "zh":
        found = chinese.ties(kind, sentence.rest)
    else:
        found = rule(sentence, split_words(sentence.rest, TONGUES[sentence.language]))
    return [tie for tie in dict.fromkeys(found) if _is_sound(tie)]


def _is_sound(tie: Tie) -> bool:
    return all(_is_name(thing) for thing in (tie.target, tie.source) if thing) and tie.target != tie.source


def _is_name(thing: Thing) -> bool:
    return any(c.isalnum() for c in thing.name) and not thing.name.isdigit()
