"""Normalizes the model's sentences to the form of stored facts: "User …", no full stop.

In the comments, "is returned as" means that the model answers a message with that sentence.
"""

from __future__ import annotations

import re

# Beginnings that become "User is", "User has", "User's" or "User".
_SUBJECT_REPLACEMENTS = (
    (re.compile(r"^I'?m\b|^I am\b", re.I), "User is"),
    (re.compile(r"^I've\b|^I have\b", re.I), "User has"),
    (re.compile(r"^My\b", re.I), "User's"),
    (re.compile(r"^The user's\b", re.I), "User's"),
    (re.compile(r"^(?:The user|They)\b", re.I), "User"),
)

# A second verb after "and", which states a second fact: "User is allergic to nuts and hates noise".
_SECOND_VERB = re.compile(
    r",? and ((?:hates|loves|likes|dislikes|prefers|wants|lives|works|has|uses|is|can't stand|enjoys|speaks|"
    r"plays)\b.+)$"
)


# "I'm dyslexic" is returned as "User has dyslexic".
_HAS_ONE_WORD = re.compile(r"^User has (\w+)$")


# "User can't eat walnuts because they are allergic to them": the fact is the allergy.
_INDIRECT_ALLERGY = re.compile(
    r"^User can(?:'t|not) (?:eat|have|drink) (.+?)(?: because|,? as|,? since) (?:they are|they're|of) "
    r".*\ballerg\w*.*$"
)


# "User used to love olives but now hates them": only the second half is true now.
_FORMER_STATE = re.compile(r"^User used to .{2,60}?,? (?:but|and) (?:now|these days|nowadays) (?=\w)")


def rewrite_indirect_allergy(text: str) -> str:
    """Return "User can't eat X because they are allergic …" as "User is allergic to X"; others unchanged."""
    return _INDIRECT_ALLERGY.sub(r"User is allergic to \1", text)


def _says_i_am(word: str, message: str) -> bool:
    return bool(re.search(rf"\bi(?:'m|’m| am) {re.escape(word)}\b", message, re.I))


# Endings of German names of professions: "Lehrer", "Ärztin", "Student".
_TRADE_DE = re.compile(
    r"(?:er|in|ist|eur|ör|ent|ant|ärztin|arzt|mann|frau|wirt|koch|loge|or|at|ar|är|hilfe|kraft|student)$"
)
# German words that stand after "Ich bin der/die" without being names: "der Neue", "die Mama", "der Chef".
_ROLE_DE = re.compile(
    rf"{_TRADE_DE.pattern}|(?:st|neu|klein|groß|alt|jung|dumm)e[rn]?$|^(?:chef|boss|mama|papa|oma|opa|"
    rf"mutter|vater|"
    r"tochter|sohn|freund|nachbar|kunde|gast|typ)",
    re.I,
)
# First names with the ending of a profession.
_NAMES_LIKE_TRADES = (
    "Peter Karin Martin Kathrin Katrin Kevin Robin Benjamin Alexander Walter Werner Günter Günther Rainer "
    "Xaver Oliver Dieter Dietmar Holger Volker Jasmin Kerstin Kirstin Kristin Quentin Valentin Konstantin "
    "Merlin Caspar Oskar Otmar Ingmar Lothar Igor Viktor Hektor Gregor Theodor Vincent Laurent Gunnar Edgar "
    "Ansgar Esther Ester Elinor"
)
_NAMES_DE = frozenset(_NAMES_LIKE_TRADES.split())


def normalize_sentence(text: str, said: str) -> str:
    """Return a sentence of the model in the form of stored facts; `said` is the message it is about."""
    text = " ".join(text.split()).strip(" \"'“”-*•")
    # A conclusion is no part of the fact: "…, so only suggest flat routes".
    text = re.sub(r", so \w.*$", "", text)
    text = re.sub(r"(?<=\w)[.。;,]+$", "", text)
    text = _FORMER_STATE.sub("User ", text)
    # The model guesses a gender that the message does not give.
    if not re.search(r"\b(?:he|she|his|her)\b", said, re.I):
        text = re.sub(r"\b(?:his|her)\b", "their", text)
        text = re.sub(r"\b(?:himself|herself)\b", "themselves", text)
    text = _HAS_ONE_WORD.sub(lambda m: f"User is {m[1]}" if _says_i_am(m[1], said) else m[0], text)
    for pattern, subject in _SUBJECT_REPLACEMENTS:
        changed = pattern.sub(subject, text, count=1)
        if changed != text:
            return changed
    return text


def normalize_name_sentence(text: str) -> str:
    """Return a sentence about the name in one form: "User is Ewa" becomes "User's name is Ewa"."""
    return re.sub(
        r"^User (?:is (?:called )?|(?:wants|prefers|likes) to be (?:called|addressed as) )(?=[A-Z])",
        "User's name is ",
        text,
    )


# "Soy enfermera" is returned as "La usuaria se llama enfermera": a lower-case word is no name.
_LOWER_CASE_NAME = re.compile(
    r"^(?P<who>L'utilisat\w+|El usuario|La usuaria|L'utente|O usuário|A usuária) "
    r"(?P<verb>s'appelle|se llama|si chiama|se chama) (?P<what>(?-i:[a-zà-ÿ]).*)$"
)
_IS = {"s'appelle": "est", "se llama": "es", "si chiama": "è", "se chama": "é"}
# Words of a message that gives a name: "heiße", "m'appelle", "llamo".
_NAMING_WORD = re.compile(
    r"\b(?:heiß\w*|name|nenn\w*|ruf\w*|m'appelle|nom|prénom|llamo|llamen?|nombre|chiamo|nome|chamo|chame)\b",
    re.I,
)


def correct_name_or_trade(text: str, said: str) -> str:
    """Correct a sentence that takes a profession for a name, or a German name for a profession.

    "Ich bin Imkerin" is returned as "Nutzer heißt Imkerin", because German capitalises professions too. "Ich
    bin die Resi" gives a name: German professions have no article there.
    """
    if match := re.fullmatch(r"(Nutzer(?:in)?) ist (?:d(?:er|ie) )?([A-ZÄÖÜ]\w+)", text):
        is_name = re.search(rf"\bbin d(?:er|ie) {match[2]}\b", said) and not _ROLE_DE.search(match[2])
        return f"{match[1]} heißt {match[2]}" if is_name or match[2] in _NAMES_DE else text
    if _NAMING_WORD.search(said):
        return text
    if match := _LOWER_CASE_NAME.match(text):
        return f"{match['who']} {_IS[match['verb']]} {match['what']}"
    match = re.fullmatch(r"Nutzer(?:in)? heißt (\w+)", text)
    if not match:
        return text
    return f"Nutzer ist {match[1]}" if _TRADE_DE.search(match[1]) and match[1] not in _NAMES_DE else text


# "I used to love olives but now I hate them" is returned as "User hates them"; `what` is "olives".
_PRONOUN_REFERENT = re.compile(
    r"\bused to (?:\w+ ){1,2}?(?P<what>[\w' -]{2,40}?),? (?:but|and)(?: \w+){0,2} (?:i|we) .*\b(?:them|it)\b",
    re.I,
)


def replace_trailing_pronoun(text: str, said: str) -> str:
    """Replace "them" or "it" at the end of a sentence by the thing that the message `said` refers to."""
    match = _PRONOUN_REFERENT.search(said)
    return re.sub(r"(?<= )(?:them|it)$", match["what"], text) if match else text


def split_second_verb(text: str) -> list[str]:
    """Split a sentence with two facts: "User is allergic to nuts and hates noise" gives two sentences."""
    match = _SECOND_VERB.search(text)
    if not match or not text.startswith("User "):
        return [text]
    return [text[: match.start()], f"User {match[1]}"]


_GERMAN_FACT = re.compile(r"^(?P<who>Nutzer(?:in)?) (?P<verb>\w+)(?=\s|$)")
# Irregular forms of the third person. All other verbs get "-t", or "-et" after stems of _NEEDS_E.
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
# Stems such as "arbeit", "rechn" and "atm", to which "-t" cannot be added directly.
_NEEDS_E = re.compile(r"(?:[td]|ch[mn]|[^aeiouäöülrhmn][mn])$")
# Stems that end in "t". Other forms in "-te" are a past tense ("lernte") or "möchte", whose third person is
# the same.
_STEMS_IN_T = re.compile(
    r"(?:arbeit|acht|antwort|berat|bet|biet|bitt|gestalt|halt|heirat|leit|miet|reit|rett|streit|test|"
    r"tret|unterricht|verwalt|wart|zücht)$"
)
# "La usuaria encanta el son" becomes "A la usuaria le encanta el son": the person is the indirect object of
# these verbs. Each entry has the pattern, the dative forms of the subject, and the pronoun before the verb.
_DATIVE_VERBS = (
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


def conjugate_third_person(text: str, said: str) -> str:
    """Return a fact with its verb in the third person; `said` is the message that the fact is from."""
    if match := _GERMAN_FACT.match(text):
        return f"{match['who']} {_conjugate_german(match['verb'], said)}{text[match.end() :]}"
    for pattern, datives, pronoun in _DATIVE_VERBS:
        if match := pattern.match(text):
            who = next(form for form in datives if text.startswith(form))
            words = [datives[who], (match["no"] or "").strip(), pronoun, match["verb"]]
            return f"{' '.join(word for word in words if word)} {text[match.end() :]}"
    return text


def _conjugate_german(verb: str, said: str) -> str:
    """Return the third person of a verb that the message has with "ich" or "zu"; other verbs unchanged."""
    if verb.endswith("en") and re.search(rf"\bzu {verb}\b", said):
        return _STRONG.get(verb[:-1]) or _add_ending(verb[:-2])  # "Ich bin dabei, Ungarisch zu lernen"
    stem = verb.removesuffix("e") if verb.endswith("e") else verb.removesuffix("et")
    if stem.endswith("t") and not _STEMS_IN_T.search(stem):
        return verb
    if stem == verb or not re.search(rf"\bich {stem}e?\b|\b{stem}e? ich\b", said, re.I):
        return _STRONG[verb] if verb in ("bin", "hab") else verb
    return _STRONG.get(f"{stem}e") or _add_ending(stem)


def _add_ending(stem: str) -> str:
    return f"{stem}et" if _NEEDS_E.search(stem) else f"{stem}t"
