"""A fact as it is shown: without "User" in front, which is always the same person (ui.md, the cards)."""

from __future__ import annotations

import re

# Where "User" is the beginning of another word: user interfaces, user research.
_NOT_A_PERSON = (
    r"(?!(?:and|or|interfaces?|experience|stor(?:y|ies)|research|manuals?|guides?|groups?|names?)\b)"
)
_NAME = re.compile(
    r"^(?:The )?User['’]s (?P<what>(?:[\w-]+ )?(?:name|nickname|birthday|deadline|time zone)) is "
    r"(?P<is>\S.*)$",
    re.I,
)
# What is left out, by language: English, German, French, Spanish, Italian, Portuguese, Chinese. "To be" goes
# too where nothing is lost: "User is a tram driver" is a tram driver.
_LEFT_OUT = tuple(
    re.compile(pattern)
    for pattern in (
        rf"^(?:The u|U)ser (?:is (?:an? )?)?{_NOT_A_PERSON}",
        r"^(?:The u|U)ser['’]s ",
        r"^(?:(?:Der|Die) )?Nutzer(?:in)? (?:ist (?:ein(?:e[nrm]?)? )?)?",
        r"^Nutzer(?:in)?s ",
        r"^L['’]utilisat(?:eur|rice) (?:est (?:une? )?)?",
        r"^(?:El usuario|La usuaria) (?:es (?:una? )?)?|^(?:Al usuario|A la usuaria) ",
        r"^L['’]utente (?:è (?:un[oa]? )?)?|^All['’]utente ",
        r"^(?:O usuário|A usuária|O utilizador|A utilizadora) (?:é (?:uma? )?)?",
        r"^用户(?:的|是)?(?!界面|体验)",
    )
)
# "La sœur de l'utilisateur habite à Lyon": whose she is goes without saying.
_WHOSE = re.compile(
    r"^(\S+(?: [\w'’-]+){0,3}?) "
    r"(?:de[rs] Nutzer(?:s|in)|de l['’]utilisat(?:eur|rice)|del usuario|de la usuaria|dell['’]utente|"
    r"d[oa] (?:usuári[oa]|utilizadora?))(?= \S)"
)


def shown(text: str, *, inside: bool = False) -> str:
    """Return a fact's words as a card has them; `inside` a sentence they begin as they would there.

    "User lives in Oslo" is "Lives in Oslo", inside a sentence "lives in Oslo". What does not read well
    without the person in front stays as it is. For showing only: what is kept and edited is the whole text.
    """
    if (name := _NAME.match(text)) and not inside:
        return f"{_capital(name['what'])}: {name['is']}"
    for pattern in _LEFT_OUT:
        if (found := pattern.match(text)) and (rest := text[found.end() :].strip()):
            return rest if inside else _capital(rest)
    return _WHOSE.sub(r"\1", text)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
