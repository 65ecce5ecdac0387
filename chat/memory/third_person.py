"""Puts a note's verb into the third person where a small model copied the user's first: "Nutzer lerne"."""

from __future__ import annotations

import re

_NOTE_DE = re.compile(r"^(?P<who>Nutzer(?:in)?) (?P<verb>\w+)(?=\s|$)")
# Strong verbs change their stem; the others take -t, or -et where the stem could not be spoken without.
_STRONG = {
    "bin": "ist",
    "habe": "hat",
    "hab": "hat",
    "werde": "wird",
    "weiß": "weiß",
    "esse": "isst",
    "fahre": "fährt",
    "fange": "fängt",
    "gebe": "gibt",
    "halte": "hält",
    "helfe": "hilft",
    "lasse": "lässt",
    "laufe": "läuft",
    "lese": "liest",
    "nehme": "nimmt",
    "schlafe": "schläft",
    "sehe": "sieht",
    "spreche": "spricht",
    "trage": "trägt",
    "treffe": "trifft",
    "trete": "tritt",
    "vergesse": "vergisst",
    "wachse": "wächst",
    "backe": "backt",
    "sammle": "sammelt",
    "bastle": "bastelt",
    "angle": "angelt",
    "segle": "segelt",
    "handle": "handelt",
    "wandere": "wandert",
}
_NEEDS_E = re.compile(r"(?:[td]|ch[mn]|[^aeiouäöülrhmn][mn])$")
# Other forms in -te are the past ("lernte") or a wish ("möchte"), which the third person shares.
_STEMS_IN_T = re.compile(
    r"(?:arbeit|acht|antwort|berat|bet|biet|bitt|gestalt|halt|heirat|leit|miet|reit|rett|streit|test|"
    r"tret|unterricht|verwalt|wart|zücht)$"
)
# "La usuaria encanta el son": the one who likes is the object of these verbs.
_OBJECT_VERBS = (
    (
        re.compile(r"^(?:El usuario|La usuaria) (?P<no>no )?(?P<verb>encantan?|gustan?|interesan?|duelen?) "),
        {"El usuario": "Al usuario", "La usuaria": "A la usuaria"},
        "le",
    ),
    (
        re.compile(r"^L'utente (?P<no>non )?(?P<verb>piacciono|piace|interessano?) "),
        {"L'utente": "All'utente"},
        "",
    ),
)


def third_person(text: str, said: str) -> str:
    """Return a note with its verb in the third person; `said` is the message that it was taken from."""
    if match := _NOTE_DE.match(text):
        return f"{match['who']} {_conjugated(match['verb'], said)}{text[match.end() :]}"
    for pattern, datives, pronoun in _OBJECT_VERBS:
        if match := pattern.match(text):
            who = next(form for form in datives if text.startswith(form))
            words = [datives[who], (match["no"] or "").strip(), pronoun, match["verb"]]
            return f"{' '.join(word for word in words if word)} {text[match.end() :]}"
    return text


def _conjugated(verb: str, said: str) -> str:
    """Return the verb as it goes with "Nutzer", where the user wrote it with "ich"."""
    if verb.endswith("en") and re.search(rf"\bzu {verb}\b", said):
        return _STRONG.get(verb[:-1]) or _with_t(verb[:-2])  # "Ich bin dabei, Ungarisch zu lernen"
    stem = verb.removesuffix("e") if verb.endswith("e") else verb.removesuffix("et")
    if stem.endswith("t") and not _STEMS_IN_T.search(stem):
        return verb
    if stem == verb or not re.search(rf"\bich {stem}e?\b|\b{stem}e? ich\b", said, re.I):
        return _STRONG[verb] if verb in ("bin", "hab") else verb
    return _STRONG.get(f"{stem}e") or _with_t(stem)


def _with_t(stem: str) -> str:
    return f"{stem}et" if _NEEDS_E.search(stem) else f"{stem}t"
