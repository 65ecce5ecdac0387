"""A fact stands only on the user's own words: every name and number, and most of its content (design §5)."""

from __future__ import annotations

import re

from chat.memory import clauses, frames, others
from chat.memory.similar import (
    SCAFFOLD_STEMS,
    contains,
    content,
    core,
    names,
    negated,
    normalise,
    numbers,
    stem,
    tokens,
)
from chat.memory.words import MONTHS_AND_DAYS

NOT_SAID = "not in the user's words"
NO_QUOTE = "nothing in the message says so"
EMPTY = "says nothing"
VAGUE = "says nothing by itself"
FOR_NOW = "only for now"
DENIED = "the user said that it is not so"

# "User hopes to buy it": read a month later, nobody knows what.
_POINTS_AWAY = re.compile(
    r"^User (?:\w+ ){1,4}(?:it|them|this|that)"
    r"(?: (?:next|last|this) \w+| again| soon| (?:in|on|since|until|from|by) [\w ]+)?$",
    re.I,
)
# "I drive Rotterdam to Milan" names two places, and is at home in neither.
_LIVES_IN = re.compile(
    r"\b(?:lives?|is based|resides?|moved) (?:\w+ )?(?:in|near|at|to|outside) (?P<place>.+)$", re.I
)
_ON_THE_WAY = (
    r"(?:(?:from|between) )?{place}(?:\s*[-–—→]\s*|\s+(?:to|and)\s+)\w|\w(?:\s*[–—→]\s*|\s+to\s+){place}"
)
_AT_HOME = re.compile(
    r"\b(?:live|living|lives|based|home|house|flat|reside|moved?|moving|from here|born|settled)\b", re.I
)


# Said to be remembered for an evening, or not at all.
_FOR_NOW = re.compile(
    r"\b(?:tonight|this evening|right now|ce soir|heute abend|esta noche|stasera|hoje à noite)\b|今晚|"
    r"^User (?:mistyped|misspoke|made a typo|unpacked)|"
    r"^User (?:had|ate|drank|cooked|made|skipped) .*\bfor (?:breakfast|brunch|lunch|dinner|supper)\b",
    re.I,
)
# "User's partner isn't": what it is not was left out.
_UNFINISHED = re.compile(r"\b(?:isn't|aren't|doesn't|don't|is|are|does|has|do|and|or|with|of)$", re.I)
_DENIES_AFTER = re.compile(r"\b(?:nicht|pas)\b", re.I)
# How many words before the thing itself a denial may stand, and after it in German and French.
_DENIAL_BEFORE, _DENIAL_AFTER = 3, 4

# German writes nouns as it writes names: "Ich bin 38" comes back as "38 Jahre alt".
_OF_THE_AGE = frozenset({"jahr", "jahre"})
# A paraphrase keeps at least half of its content words; below that the model brought them along.
_SHARE_SAID = 0.5


def ground(fact: str, message: str, question: str = "") -> str:
    """Return why the fact does not stand on this masked message, or an empty string when it does.

    `question` is what the assistant asked just before: ordinary words may come from it, names and numbers
    may not.
    """
    if frames.plays_system(fact) or frames.plays_system(message):
        return frames.SYSTEM
    if not content(fact):
        return EMPTY
    if _FOR_NOW.search(fact):
        return FOR_NOW
    if _POINTS_AWAY.search(fact) or _UNFINISHED.search(fact):
        return VAGUE
    if _is_only_passed(fact, message):
        return NOT_SAID
    reason = _unsaid_name(fact, message) or _unsaid_number(fact, message)
    if reason:
        return reason
    support = clauses.support(fact, message)
    if support is None:
        return NO_QUOTE
    if support.reason:
        return support.reason
    if not _mostly_said(fact, message, question):
        return NOT_SAID
    clause = closest_clause(fact, support.text)
    if is_denied(fact, clause):
        return DENIED
    if frames.is_hedged(clause) or frames.is_hedged(fact):
        return frames.HEDGED
    return frames.OTHERS if others.is_about_others(fact, clause, support.text) else ""


def quote(fact: str, message: str) -> str:
    """Return the user's own sentence that the fact stands on, at most 300 characters."""
    support = clauses.support(fact, message)
    return (support.text if support else message).strip()[:300]


def closest_clause(fact: str, sentence: str) -> str:
    """Return the clause of the sentence that shares most with the fact."""
    wanted = content(fact)
    return max(clauses.clauses(sentence) or [sentence], key=lambda c: len(wanted & content(c)))


def is_denied(fact: str, clause: str) -> bool:
    """Tell whether the clause denies what the fact asserts: "don't rely on red" is no "relies on red"."""
    if negated(fact):
        return False
    words = tokens(clause)
    wanted = core(fact)
    places = [i for i, word in enumerate(words) if contains(wanted, frozenset({stem(word)}))]
    if not places:
        return False
    after = _DENIAL_AFTER if _DENIES_AFTER.search(clause) else 0
    window = words[max(0, places[0] - _DENIAL_BEFORE) : places[-1] + 1 + after]
    # Two denials make none: "can't live without coffee".
    return sum(negated(word) for word in window) % 2 == 1


def _is_only_passed(fact: str, message: str) -> bool:
    home = _LIVES_IN.search(fact)
    if home is None or _AT_HOME.search(message):
        return False
    return bool(re.search(_ON_THE_WAY.format(place=re.escape(home["place"].split(",")[0])), message, re.I))


def _unsaid_name(fact: str, message: str) -> str:
    said = {stem(w) for w in tokens(message)}
    whole = normalise(message)
    for name in sorted(names(fact)):
        if name in MONTHS_AND_DAYS or name in _OF_THE_AGE:
            continue
        if stem(name) not in said and normalise(name) not in whole:
            return f"“{name}” is {NOT_SAID}"
    return ""


def _unsaid_number(fact: str, message: str) -> str:
    missing = sorted(numbers(fact) - numbers(message))
    # A digit may stand inside a word of the user's ("N3", "1st"), where it is not a number of its own.
    loose = [n for n in missing if not re.search(rf"(?<!\d){re.escape(n)}(?!\d)", message)]
    return f"“{loose[0]}” is {NOT_SAID}" if loose else ""


def _mostly_said(fact: str, message: str, question: str) -> bool:
    wanted = core(fact)
    if not wanted - SCAFFOLD_STEMS:
        return True
    said = content(message) | content(question)
    return sum(contains(said, frozenset({word})) for word in wanted) >= _SHARE_SAID * len(wanted)
