"""Removes the words for the owner from a fact: "User's sister lives …", "Ich wohne …", "Al usuario …"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from chat.memory.language import detect_language

# Patterns of the subject ("User", "I") and of the possessive ("User's", "my") at the beginning of a sentence.
_BEGINNINGS: dict[str, tuple[str, str]] = {
    "en": (
        r"(?:the )?users?\b(?!['’]s)|i\b|we\b",
        r"(?:the )?user['’]s\b|(?:my|our)\b",
    ),
    "de": (
        r"(?:(?:der|die|dem) )?nutzer(?:in)?\b|ich\b|wir\b",
        r"(?:des )?nutzer(?:in)?s\b|(?:mein|unser)e?[nrsm]?\b",
    ),
    "fr": (
        r"(?:à )?l['’]utilisat(?:eur|rice)\b|j['’]|je\b|nous\b",
        r"(?:mon|ma|mes|notre|nos)\b",
    ),
    "es": (
        r"(?:al |a la |el |la )?usuari[oa]\b|(?:a mí )?me\b|yo\b|nosotros\b",
        r"(?:mis?|nuestr[oa]s?)\b",
    ),
    "it": (
        r"(?:a?l?l['’])utente\b|(?:a me )?mi\b|io\b",
        r"(?:(?:il|la|i|le) )?(?:mi[oae]|miei|nostr[oaie])\b",
    ),
    "pt": (r"(?:o |a |ao |à )?usuári[oa]\b|eu\b", r"(?:(?:os?|as?) )?(?:meus?|minhas?|noss[oa]s?)\b"),
}
# Words for the owner later in the sentence: "the sister of the user".
_LATER_MENTIONS: dict[str, str] = {
    "en": r"\b(?:of|by|for) (?:the )?user\b|\b(?:the )?user['’]s\b|\bmy\b",
    "de": r"\b(?:von )?(?:der |des |dem )?nutzer(?:in)?s?\b|\bmeine[rs]?\b",
    "fr": r"\bde l['’]utilisat(?:eur|rice)\b",
    "es": r"\bdel usuario\b|\bde la usuaria\b",
    "it": r"\bdell['’]utente\b",
    "pt": r"\bd[oa] usuári[oa]\b",
}
# The word for the user, by which the language of a fact is recognised.
_OWNER_WORD = {
    "de": r"\bnutzer(?:in)?s?\b",
    "fr": r"\butilisat(?:eur|rice)\b",
    "es": r"\busuari[oa]\b",
    "it": r"\butente\b",
    "pt": r"\busuári[oa]\b",
    "en": r"\busers?\b",
}
# Beginnings of first-person sentences. They are often too short for `detect_language`.
_FIRST_PERSON = {
    "es": r"^(?:vivo en|soy|trabajo|tengo|hablo|aprendo|me (?:gusta|encanta|llamo)|odio|estoy)\b",
    "it": r"^(?:abito|lavoro|sono|sto|adoro (?:il|lo|la|i|gli|le)|mi piac|parlo|odio (?:il|lo|la|i|gli|le))",
    "pt": r"^(?:moro|trabalho|sou|tenho|gosto|falo|eu|estou|uso|odeio)\b",
    "fr": r"^(?:j['’]|je\b)",
    "de": r"^(?:ich|mein\w*|wir)\b",
    "en": r"^(?:i|i['’]\w+|my|we|our)\b",
}

_CONTRACTED = re.compile(r"\b(I|we|they|user)'(m|ve|re|d|ll)\b", re.I)
_LONG = {"m": "am", "ve": "have", "re": "are", "d": "would", "ll": "will"}


@dataclass(frozen=True, slots=True)
class FactPredicate:
    """The `text` of a fact without the words for the owner.

    `of_owner` is true if the owner is the subject ("User lives …"), `of_possession` if the subject belongs to
    the owner ("User's sister lives …").
    """

    language: str
    text: str
    of_owner: bool
    of_possession: bool


def detect_fact_language(text: str, declared: str = "") -> str:
    """Return the language code of a fact, by its word for the owner, its words, `declared`, or else "en"."""
    folded = text.casefold()
    for language, pattern in _OWNER_WORD.items():
        if re.search(pattern, folded):
            return language
    found = detect_language(text)
    if found == "zh":
        return found
    for language, pattern in _FIRST_PERSON.items():
        # "Ich", "je" and "I" belong to one language; the Spanish, Italian and Portuguese verbs do not.
        if re.search(pattern, folded) and (language in ("de", "fr", "en") or found in ("", "es", "pt", "it")):
            return language
    # Rules of another language find no relations, which is right: there are none for this one.
    return next((language for language in (found, declared) if language in _BEGINNINGS), "en")


def strip_subject(text: str, declared: str = "") -> FactPredicate:
    """Return the fact without the words for its owner; `declared` is its stored language code."""
    language = detect_fact_language(text, declared)
    text = _CONTRACTED.sub(
        lambda m: f"{m[1]} {_LONG[m[2].casefold()]}", " ".join(text.replace("’", "'").split())
    )
    if language == "zh":
        return FactPredicate("zh", text, of_owner=True, of_possession=False)
    subject, possessive = _BEGINNINGS[language]
    if found := re.match(possessive, text, re.I):
        return FactPredicate(language, text[found.end() :].strip(), of_owner=False, of_possession=True)
    if found := re.match(subject, text, re.I):
        return FactPredicate(language, text[found.end() :].strip(), of_owner=True, of_possession=False)
    rest = re.sub(_LATER_MENTIONS[language], "", text, count=1, flags=re.I)
    if rest != text:
        return FactPredicate(language, " ".join(rest.split()), of_owner=False, of_possession=True)
    # Spanish, Italian and Portuguese verbs need no subject: "Trabajo como arquitecta".
    return FactPredicate(language, text, of_owner=language in ("es", "it", "pt"), of_possession=False)
