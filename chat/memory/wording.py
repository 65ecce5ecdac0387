"""The house style of a fact: a sentence about "User", in their language, without a full stop (seed 004)."""

from __future__ import annotations

import re

_FIRST_PERSON = (
    (re.compile(r"^I'?m\b|^I am\b", re.I), "User is"),
    (re.compile(r"^I've\b|^I have\b", re.I), "User has"),
    (re.compile(r"^My\b", re.I), "User's"),
    (re.compile(r"^The user's\b", re.I), "User's"),
    (re.compile(r"^(?:The user|They)\b", re.I), "User"),
)

_SECOND_VERB = re.compile(
    r",? and ((?:hates|loves|likes|dislikes|prefers|wants|lives|works|has|uses|is|can't stand|enjoys|speaks|"
    r"plays)\b.+)$"
)


# "I'm dyslexic" comes back as "User has dyslexic".
_ADJECTIVE = re.compile(r"^User has (\w+)$")


# "I can't eat walnuts because I'm allergic to them" is an allergy said in a roundabout way.
_CANNOT_EAT = re.compile(
    r"^User can(?:'t|not) (?:eat|have|drink) (.+?)(?: because|,? as|,? since) (?:they are|they're|of) "
    r".*\ballerg\w*.*$"
)


# "User used to love olives but now hates them": what holds is the second half.
_ONCE = re.compile(r"^User used to .{2,60}?,? (?:but|and) (?:now|these days|nowadays) (?=\w)")


def plainly(text: str) -> str:
    """Return a note that says an allergy in a roundabout way as the allergy itself."""
    return _CANNOT_EAT.sub(r"User is allergic to \1", text)


def _says_am(word: str, said: str) -> bool:
    return bool(re.search(rf"\bi(?:'m|’m| am) {re.escape(word)}\b", said, re.I))


_TRADE_DE = re.compile(
    r"(?:er|in|ist|eur|ör|ent|ant|ärztin|arzt|mann|frau|wirt|koch|loge|or|at|ar|är|hilfe|kraft|student)$"
)
# "Ich bin der Neue": who has an article and yet no name.
_ROLE_DE = re.compile(
    rf"{_TRADE_DE.pattern}|(?:st|neu|klein|groß|alt|jung|dumm)e[rn]?$|^(?:chef|boss|mama|papa|oma|opa|"
    rf"mutter|vater|"
    r"tochter|sohn|freund|nachbar|kunde|gast|typ)",
    re.I,
)
# Names that end as trades do.
_NAMES = (
    "Peter Karin Martin Kathrin Katrin Kevin Robin Benjamin Alexander Walter Werner Günter Günther Rainer "
    "Xaver Oliver Dieter Dietmar Holger Volker Jasmin Kerstin Kirstin Kristin Quentin Valentin Konstantin "
    "Merlin Caspar Oskar Otmar Ingmar Lothar Igor Viktor Hektor Gregor Theodor Vincent Laurent Gunnar Edgar "
    "Ansgar Esther Ester Elinor"
)
_NAMES_DE = frozenset(_NAMES.split())


def tidy(text: str, said: str) -> str:
    """Return a note of the model in the house style; `said` is the message it was taken from."""
    text = " ".join(text.split()).strip(" \"'“”-*•")
    # "…, so only suggest flat routes": what follows from a fact is not the fact.
    text = re.sub(r", so \w.*$", "", text)
    text = re.sub(r"(?<=\w)[.。;,]+$", "", text)
    text = _ONCE.sub("User ", text)
    # The model guesses a gender where the message gave none.
    if not re.search(r"\b(?:he|she|his|her)\b", said, re.I):
        text = re.sub(r"\b(?:his|her)\b", "their", text)
        text = re.sub(r"\b(?:himself|herself)\b", "themselves", text)
    text = _ADJECTIVE.sub(lambda m: f"User is {m[1]}" if _says_am(m[1], said) else m[0], text)
    for pattern, subject in _FIRST_PERSON:
        changed = pattern.sub(subject, text, count=1)
        if changed != text:
            return changed
    return text


def named(text: str) -> str:
    """Return a note about the name in the one form that names have: "User is Ewa" is "User's name is Ewa"."""
    return re.sub(
        r"^User (?:is (?:called )?|(?:wants|prefers|likes) to be (?:called|addressed as) )(?=[A-Z])",
        "User's name is ",
        text,
    )


# "Soy enfermera" comes back as "La usuaria se llama enfermera": names are written with a capital.
_LOWER_NAME = re.compile(
    r"^(?P<who>L'utilisat\w+|El usuario|La usuaria|L'utente|O usuário|A usuária) "
    r"(?P<verb>s'appelle|se llama|si chiama|se chama) (?P<what>(?-i:[a-zà-ÿ]).*)$"
)
_IS = {"s'appelle": "est", "se llama": "es", "si chiama": "è", "se chama": "é"}
_NAMING = re.compile(
    r"\b(?:heiß\w*|name|nenn\w*|ruf\w*|m'appelle|nom|prénom|llamo|llamen?|nombre|chiamo|nome|chamo|chame)\b",
    re.I,
)


def unnamed(text: str, said: str) -> str:
    """Return a note about the name as one about the trade, where nobody spoke of a name, and the reverse.

    "Ich bin Imkerin" comes back as "Nutzer heißt Imkerin": German writes trades as it writes names. "Ich bin
    die Resi" gives a name, with the article that no trade has.
    """
    if match := re.fullmatch(r"(Nutzer(?:in)?) ist (?:d(?:er|ie) )?([A-ZÄÖÜ]\w+)", text):
        named = re.search(rf"\bbin d(?:er|ie) {match[2]}\b", said) and not _ROLE_DE.search(match[2])
        return f"{match[1]} heißt {match[2]}" if named or match[2] in _NAMES_DE else text
    if _NAMING.search(said):
        return text
    if match := _LOWER_NAME.match(text):
        return f"{match['who']} {_IS[match['verb']]} {match['what']}"
    match = re.fullmatch(r"Nutzer(?:in)? heißt (\w+)", text)
    if not match:
        return text
    return f"Nutzer ist {match[1]}" if _TRADE_DE.search(match[1]) and match[1] not in _NAMES_DE else text


# "I used to love olives but now I hate them": the model notes the last words alone.
_BEFORE_THEM = re.compile(
    r"\bused to (?:\w+ ){1,2}?(?P<what>[\w' -]{2,40}?),? (?:but|and)(?: \w+){0,2} (?:i|we) .*\b(?:them|it)\b",
    re.I,
)


def spelled_out(text: str, said: str) -> str:
    """Return a note that ends with "them" or "it" with the thing that the message means by it."""
    match = _BEFORE_THEM.search(said)
    return re.sub(r"(?<= )(?:them|it)$", match["what"], text) if match else text


def split(text: str) -> list[str]:
    """Return a note as one sentence a fact: "User is allergic to nuts and hates noise" says two things."""
    match = _SECOND_VERB.search(text)
    if not match or not text.startswith("User "):
        return [text]
    return [text[: match.start()], f"User {match[1]}"]
