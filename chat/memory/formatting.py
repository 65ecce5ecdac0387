"""Formats facts for display, as lines of a prompt, and as correction lines that take earlier facts back.

A correction is a list item "- no longer: OLD; now: NEW", or "- no longer: OLD" where nothing replaces it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

_CACHE_SIZE = 8192
# `to_one_line` removes these from the texts of facts, so that no fact can be read as a correction.
_BEGIN, _THEN = "no longer: ", "; now: "


# The quotation marks around a fact in the user's own words, and the replacements for marks inside them.
_OPEN, _CLOSE = "“", "”"
_NESTED = str.maketrans('“”„"', "‘’‚'")
# The day on which the user wrote the sentence may follow in brackets: “we open tomorrow” (3 May 2026).
_OWN_WORDS = re.compile(rf"{_OPEN}(?P<said>[^{_OPEN}{_CLOSE}]*){_CLOSE}(?: \([^()]*\))?")


def format_own_words(sentence: str, most: int, day: str = "") -> str:
    """Return a sentence of the user as the text of a fact, in quotation marks; at most `most` characters.

    `day` is the day on which the user wrote it, for a sentence with a relative date.
    """
    end = f"{_CLOSE} ({day})" if day else _CLOSE
    sentence = re.sub(r"(?<=\d)\"", "″", sentence)
    return f"{_OPEN}{sentence.translate(_NESTED)[: most - len(_OPEN + end)]}{end}"


def extract_own_words(text: str) -> str:
    """Return the sentence in a fact in the user's own words, "" for a fact in other words."""
    found = _OWN_WORDS.fullmatch(text)
    return found["said"] if found is not None else ""


@lru_cache(maxsize=_CACHE_SIZE)
def to_one_line(text: str) -> str:
    """Return a fact's text on one line, without characters that start a section, a list or a correction."""
    line = " ".join(text.split()).lstrip("#-*[ ").replace(_THEN, ", now: ")
    return line.replace(": ", ", ", 1) if line.casefold().startswith(_BEGIN) else line


def format_correction(old: str, new: str = "") -> str:
    """Return the list item that takes back the fact `old`, and replaces it by `new` if that is not empty."""
    return f"- {_BEGIN}{to_one_line(old)}" + (f"{_THEN}{to_one_line(new)}" if new else "")


def parse_correction(line: str) -> tuple[str, str] | None:
    """Return the (old, new) texts of a correction line, with "" for no new text; None for any other line."""
    head = f"- {_BEGIN}"
    if not line.startswith(head):
        return None
    old, _, new = line.removeprefix(head).partition(_THEN)
    return old, new


def apply_corrections(texts: Collection[str]) -> list[str]:
    """Return the facts that are valid after the memory block and the turn notes, which come oldest first.

    Corrections remove the fact that they take back and add their new text.
    """
    valid: dict[str, None] = {}
    for text in texts:
        for line in text.split("\n"):
            if corrected := parse_correction(line):
                old, new = corrected
                valid.pop(old, None)
                if new:
                    valid[new] = None
            elif line.startswith("- "):
                valid[line.removeprefix("- ")] = None
    return list(valid)


def remove_lines(text: str, removed: set[str]) -> str:
    """Return a turn note without the list items that contain one of the `removed` texts.

    A section that loses its last list item is removed with its heading.
    """
    sections = text.split("\n\n")
    return "\n\n".join(section for section in (_filter_section(s, removed) for s in sections) if section)


def _filter_section(section: str, removed: set[str]) -> str:
    lines = section.split("\n")
    kept = [line for line in lines if not _contains_removed(line, removed)]
    return "\n".join(kept) if kept == lines or any(line.startswith("- ") for line in kept) else ""


def _contains_removed(line: str, removed: set[str]) -> bool:
    if not line.startswith("- "):
        return False
    return not removed.isdisjoint(parse_correction(line) or (line.removeprefix("- "),))


# "User" followed by these is a term, not the person: "user interfaces", "user research".
_NOT_A_PERSON = (
    r"(?!(?:and|or|interfaces?|experience|stor(?:y|ies)|research|manuals?|guides?|groups?|names?)\b)"
)
# "User's name is Ewa", "User's birthday is 3 May": shown as "Name: Ewa", "Birthday: 3 May".
_LABELLED_VALUE = re.compile(
    r"^(?:The )?User['’]s (?P<what>(?:[\w-]+ )?(?:name|nickname|birthday|deadline|time zone)) is "
    r"(?P<is>\S.*)$",
    re.I,
)
# The words for the user at the beginning of a fact, in each language of `extraction_prompt.SUBJECTS`. A card
# shows the fact without them and without "is a": "User is a tram driver" is shown as "Tram driver".
_REMOVED_BEGINNINGS = tuple(
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
        r"^ユーザー[はのが]",
        r"^사용자[는의가] ",
        r"^(?:Пользователь|Пользовательница|У пользователя) |^Gebruikers? |"
        r"^Użytkowni(?:k|czka) |^Kullanıcı(?:nın)? |"
        r"^المستخدم |^ผู้ใช้",
    )
)
# A possessive after the first words: "La sœur de l'utilisateur habite à Lyon" is shown as "La sœur habite à
# Lyon".
_POSSESSIVE = re.compile(
    r"^(\S+(?: [\w'’-]+){0,3}?) "
    r"(?:de[rs] Nutzer(?:s|in)|de l['’]utilisat(?:eur|rice)|del usuario|de la usuaria|dell['’]utente|"
    r"d[oa] (?:usuári[oa]|utilizadora?))(?= \S)"
)


def format_for_display(text: str, *, inside: bool = False) -> str:
    """Return a fact's text as its card shows it: "User lives in Oslo" gives "Lives in Oslo".

    With `inside`, for use within a sentence, the text begins in lower case: "lives in Oslo". A text whose
    beginning is not recognised stays unchanged. Only for display: the whole text is stored and edited.
    """
    if (labelled := _LABELLED_VALUE.match(text)) and not inside:
        return f"{_capitalize_first(labelled['what'])}: {labelled['is']}"
    for pattern in _REMOVED_BEGINNINGS:
        if (found := pattern.match(text)) and (rest := text[found.end() :].strip()):
            return rest if inside else _capitalize_first(rest)
    return _POSSESSIVE.sub(r"\1", text)


def format_for_quotation(text: str, *, inside: bool = False) -> str:
    """Return a fact's text as displayed, for a place that puts quotation marks around it.

    A fact in the user's own words loses its own marks. `inside` has the meaning as in `format_for_display`.
    """
    if (own := _OWN_WORDS.fullmatch(text)) is not None:
        return own["said"] + text[own.end("said") + len(_CLOSE) :]
    return format_for_display(text, inside=inside)


def _capitalize_first(text: str) -> str:
    return text[:1].upper() + text[1:]
