"""Checks that a fact is supported by the user's own words: all names and numbers, and most content words.

The upper-case constants are reason codes of `chat.errors`; they are stored with refused facts.
"""

from __future__ import annotations

import re

from chat.errors import Reason
from chat.memory import attribution, clauses, speech_acts
from chat.memory.mask import HIDDEN
from chat.memory.sentences import split_clauses
from chat.memory.stopwords import MONTHS_AND_DAYS
from chat.memory.text_similarity import (
    FACT_PHRASING_STEMS,
    contains_stems,
    extract_content_stems,
    extract_core_stems,
    extract_names,
    extract_numbers,
    is_negated,
    normalize_text,
    stem_word,
    tokenize,
)

NOT_SAID = "not-in-words"
NO_QUOTE = "no-quote"
NAME_NOT_SAID = "name-not-in-words"
EMPTY = "is-empty"
VAGUE = "is-vague"
FOR_NOW = "is-temporary"
DENIED = "is-denied"

# A fact whose object is a pronoun is useless without its message: "User hopes to buy it".
_UNRESOLVED_PRONOUN = re.compile(
    r"^User (?:\w+ ){1,4}(?:it|them|this|that)"
    r"(?: (?:next|last|this) \w+| again| soon| (?:in|on|since|until|from|by) [\w ]+)?$",
    re.I,
)
# A fact about a home: "User lives near Toledo". The group `place` is the rest of the fact.
_LIVES_IN = re.compile(
    r"\b(?:lives?|is based|resides?|moved) (?:\w+ )?(?:in|near|at|to|outside) (?P<place>.+)$", re.I
)
# The place as part of a journey, which makes it no home: "I drive Rotterdam to Milan", "between Oslo and …".
_PART_OF_JOURNEY = (
    r"(?:(?:from|between) )?{place}(?:\s*[-–—→]\s*|\s+(?:to|and)\s+)\w|\w(?:\s*[–—→]\s*|\s+to\s+){place}"
)
# Words of a message that do speak of a home.
_HOME_WORD = re.compile(
    r"\b(?:live|living|lives|based|home|house|flat|reside|moved?|moving|from here|born|settled)\b", re.I
)


# A fact that matters today only: "tonight", "User had soup for lunch", "User mistyped …".
_TEMPORARY = re.compile(
    r"\b(?:tonight|this evening|right now|ce soir|heute abend|esta noche|stasera|hoje à noite)\b|今晚|"
    r"^User (?:mistyped|misspoke|made a typo|unpacked)|"
    r"^User (?:had|ate|drank|cooked|made|skipped) .*\bfor (?:breakfast|brunch|lunch|dinner|supper)\b",
    re.I,
)
# A fact whose object is the user or the assistant: "User wants to meet the user". "The user interface" is
# another thing.
_ABOUT_THEMSELVES = re.compile(
    r".\b(?:(?:the|den|dem|der|el|la|al|lo|il|o|a|ao|à) |l['’]|à l['’])"
    r"(?:user|assistant|chatbot|nutzer|assistenten?|utilisateur|utilisatrice|usuari[oa]|usuári[oa]|asistente|"
    r"utente|assistente)(?=$|[.,;!?]| (?:again|soon|today|better|in|on|and|to|about)\b)|"
    r".(?:用户|助手)(?=$|[。，])",
    re.I,
)
# A fact that ends before its object: "User's partner isn't".
_UNFINISHED = re.compile(r"\b(?:isn't|aren't|doesn't|don't|is|are|does|has|do|and|or|with|of)$", re.I)
# German and French negate after the verb.
_NEGATION_AFTER_VERB = re.compile(r"\b(?:nicht|pas)\b", re.I)
# A negation counts up to 3 words before the fact's words, and in German and French up to 4 words after them.
_WORDS_BEFORE, _WORDS_AFTER = 3, 4

# Capitalised German nouns look like names: "Ich bin 38" gives a fact with "38 Jahre alt".
_NOT_NAMES = frozenset({"jahr", "jahre"})
# At least this share of the fact's core stems must be in the message; with fewer the model invented them.
_MIN_SHARE_IN_MESSAGE = 0.5


def check_grounding(
    fact: str, message: str, question: str = "", own_names: frozenset[str] = frozenset()
) -> str:
    """Return the reason code why the masked message does not support the fact, "" if it supports it.

    `question` is the assistant's question before the message: ordinary words of the fact may come from it,
    names and numbers may not. `own_names` as in `clauses.judge_sentences`.
    """
    if speech_acts.contains_prompt_injection(fact) or speech_acts.contains_prompt_injection(message):
        return speech_acts.SYSTEM
    if not extract_content_stems(fact):
        return EMPTY
    if _TEMPORARY.search(fact):
        return FOR_NOW
    if (
        HIDDEN in fact
        or _UNRESOLVED_PRONOUN.search(fact)
        or _UNFINISHED.search(fact)
        or _ABOUT_THEMSELVES.search(fact)
    ):
        return VAGUE
    if _is_home_only_part_of_journey(fact, message):
        return NOT_SAID
    reason = _find_unsaid_name(fact, message) or _find_unsaid_number(fact, message)
    if reason:
        return reason
    support = clauses.find_supporting_sentence(fact, message, own_names)
    if support is None:
        return NO_QUOTE
    if support.reason:
        return support.reason
    if not _has_enough_words(fact, message, question):
        return NOT_SAID
    clause = find_closest_clause(fact, support.text)
    if is_denied(fact, clause):
        return DENIED
    if speech_acts.is_hedged(clause) or speech_acts.is_hedged(fact):
        return speech_acts.HEDGED
    return speech_acts.OTHERS if attribution.is_about_others(fact, clause, support.text) else ""


def find_quote(fact: str, message: str, own_names: frozenset[str] = frozenset()) -> str:
    """Return the user's sentence that supports the fact, else the message; cut to 300 characters."""
    support = clauses.find_supporting_sentence(fact, message, own_names)
    return (support.text if support else message).strip()[:300]


def find_closest_clause(fact: str, sentence: str) -> str:
    """Return the clause of the sentence that shares the most content stems with the fact."""
    wanted = extract_content_stems(fact)
    return max(split_clauses(sentence) or [sentence], key=lambda c: len(wanted & extract_content_stems(c)))


def is_denied(fact: str, clause: str) -> bool:
    """Return whether the clause denies what the fact asserts: "don't rely on red" denies "relies on red"."""
    if is_negated(fact):
        return False
    words = tokenize(clause)
    wanted = extract_core_stems(fact)
    places = [i for i, word in enumerate(words) if contains_stems(wanted, frozenset({stem_word(word)}))]
    if not places:
        return False
    after = _WORDS_AFTER if _NEGATION_AFTER_VERB.search(clause) else 0
    window = words[max(0, places[0] - _WORDS_BEFORE) : places[-1] + 1 + after]
    # Two negations cancel each other: "can't live without coffee".
    return sum(is_negated(word) for word in window) % 2 == 1


def _is_home_only_part_of_journey(fact: str, message: str) -> bool:
    home = _LIVES_IN.search(fact)
    if home is None or _HOME_WORD.search(message):
        return False
    place = re.escape(home["place"].split(",")[0])
    return bool(re.search(_PART_OF_JOURNEY.format(place=place), message, re.I))


def _find_unsaid_name(fact: str, message: str) -> str:
    """Return the encoded reason with the first name of the fact that is not in the message, or ""."""
    said = {stem_word(w) for w in tokenize(message)}
    whole = normalize_text(message)
    for name in sorted(extract_names(fact)):
        if name in MONTHS_AND_DAYS or name in _NOT_NAMES:
            continue
        if stem_word(name) not in said and normalize_text(name) not in whole:
            return Reason(NAME_NOT_SAID, {"name": name}).encode()
    return ""


def _find_unsaid_number(fact: str, message: str) -> str:
    """Return the encoded reason with the first number of the fact that is not in the message, or ""."""
    missing = sorted(extract_numbers(fact) - extract_numbers(message))
    # `extract_numbers` does not find digits inside a word of the message ("N3", "1st").
    unsaid = [n for n in missing if not re.search(rf"(?<!\d){re.escape(n)}(?!\d)", message)]
    return Reason(NAME_NOT_SAID, {"name": unsaid[0]}).encode() if unsaid else ""


def _has_enough_words(fact: str, message: str, question: str) -> bool:
    wanted = extract_core_stems(fact)
    if not wanted - FACT_PHRASING_STEMS:
        return True
    said = extract_content_stems(message) | extract_content_stems(question)
    return sum(contains_stems(said, frozenset({word})) for word in wanted) >= _MIN_SHARE_IN_MESSAGE * len(
        wanted
    )
