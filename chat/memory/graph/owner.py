"""Takes the owner out of a fact: "User's sister lives…", "Ich wohne…" and "Al usuario le gusta…" alike."""

from __future__ import annotations

import re
from dataclasses import dataclass

from chat.memory.language import detect

# Subject and possessive at the head of a sentence, the house style first, then the first person.
_HEADS: dict[str, tuple[str, str]] = {
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
_ELSEWHERE: dict[str, str] = {
    "en": r"\b(?:of|by|for) (?:the )?user\b|\b(?:the )?user['’]s\b|\bmy\b",
    "de": r"\b(?:von )?(?:der |des |dem )?nutzer(?:in)?s?\b|\bmeine[rs]?\b",
    "fr": r"\bde l['’]utilisat(?:eur|rice)\b",
    "es": r"\bdel usuario\b|\bde la usuaria\b",
    "it": r"\bdell['’]utente\b",
    "pt": r"\bd[oa] usuári[oa]\b",
}
_OWNER_WORD = {
    "de": r"\bnutzer(?:in)?s?\b",
    "fr": r"\butilisat(?:eur|rice)\b",
    "es": r"\busuari[oa]\b",
    "it": r"\butente\b",
    "pt": r"\busuári[oa]\b",
    "en": r"\busers?\b",
}
# Sentences of one's own in languages whose verb says "I": too short for their commonest words to tell.
_FIRST_VERB = {
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
class Sentence:
    """A fact without its owner: `by_owner` when they are its subject, `owned` when the subject is theirs."""

    language: str
    rest: str
    by_owner: bool
    owned: bool


def tongue_of(text: str, declared: str = "") -> str:
    """Return the language of a fact: its own word for the owner tells, then the label, then its words."""
    folded = text.casefold()
    for language, pattern in _OWNER_WORD.items():
        if re.search(pattern, folded):
            return language
    found = detect(text)
    if found == "zh":
        return found
    for language, pattern in _FIRST_VERB.items():
        # "Ich", "je" and "I" are of one language alone; a verb is not.
        if re.search(pattern, folded) and (language in ("de", "fr", "en") or found in ("", "es", "pt", "it")):
            return language
    return found or (declared if declared in _HEADS else "en")


def peel(text: str, declared: str = "") -> Sentence:
    """Return the sentence without the word for its owner."""
    language = tongue_of(text, declared)
    text = _CONTRACTED.sub(
        lambda m: f"{m[1]} {_LONG[m[2].casefold()]}", " ".join(text.replace("’", "'").split())
    )
    if language == "zh":
        return Sentence("zh", text, by_owner=True, owned=False)
    subject, possessive = _HEADS[language]
    owned = re.match(possessive, text, re.I)
    if owned:
        return Sentence(language, text[owned.end() :].strip(), by_owner=False, owned=True)
    own = re.match(subject, text, re.I)
    if own:
        return Sentence(language, text[own.end() :].strip(), by_owner=True, owned=False)
    rest = re.sub(_ELSEWHERE[language], "", text, count=1, flags=re.I)
    if rest != text:
        return Sentence(language, " ".join(rest.split()), by_owner=False, owned=True)
    # "Trabajo como arquitecta": the verb alone says who.
    return Sentence(language, text, by_owner=language in ("es", "it", "pt"), owned=False)
