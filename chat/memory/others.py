"""Keeps what someone else is or does from becoming the user's: a friend's home, a boss's job (design §5)."""

from __future__ import annotations

import re

from chat.memory.frames import OTHERS, speaks_of_self

# Relatives belong to the user's own identity and are kept; these people do not.
_OTHER = re.compile(
    r"\b(?:friend|buddy|mate|boss|manager|colleague|coworker|co-worker|neighbou?r|roommate|flatmate|"
    r"teacher|professor|client|customer|"
    r"landlord|teammate|classmate|ex|doctor|guy|freund(?:in)?|chef(?:in)?|kolleg(?:e|in)|"
    r"nachbar(?:in)?|mitbewohner(?:in)?|kunde|"
    r"ami|amie|copain|copine|patronne?|collègue|voisine?|colocataire|cliente?|amig[oa]|jef[ea]|"
    r"compañer[oa]|vecin[oa]|"
    r"amic[oa]|cap[oa]|collega|vicin[oa]|coinquilin[oa]|chefe|colega|vizinh[oa])s?\b|朋友|老板|同事|邻居|室友|客户|老师",
    re.I,
)
_I = re.compile(r"\b(?:i|i'm|i've|we|ich|wir|je|j'\w+|nous|yo|io|eu)\b|我(?!的)", re.I)
_OPENS_WITH_OTHER = re.compile(
    rf"^(?:\w+[,:] )?(?:my|our|a|an|one of my|the|mein\w*|unser\w*|mon|ma|mes|un|une|mi|mis|il mio|"
    rf"la mia|o meu|a minha|我的?)"
    rf"(?: \w+)? ?(?:{_OTHER.pattern})",
    re.I,
)
# "User's boss …" and "User has a friend …", but not "User is a teacher".
_OWNED_OTHER = re.compile(
    rf"\b(?:user's|nutzers|has an?) (?:\w+ )?(?:{_OTHER.pattern})|的(?:{_OTHER.pattern})", re.I
)
_RELATIVE = re.compile(
    r"\b(?:wife|husband|partner|spouse|fianc[ée]e?|girlfriend|boyfriend|daughter|son|kids?|"
    r"child(?:ren)?|baby|twins?|mother|mom|mum|father|dad|"
    r"parents?|sister|brother|siblings?|aunt|uncle|cousin|niece|nephew|grand\w+|in-laws?|frau|mann|"
    r"partnerin|tochter|sohn|kind(?:er)?|mutter|vater|"
    r"eltern|schwester|bruder|oma|opa|femme|mari|fille|fils|enfants?|mère|père|sœur|soeur|frère|"
    r"espos[oa]|marido|mujer|pareja|hij[oa]s?|madre|"
    r"padre|herman[oa]s?|moglie|marito|figli[oae]?|sorella|fratello|genitori|mulher|filh[oa]s?|mãe|pai|"
    r"irmã|irmão)\b|"
    r"妻子|老婆|丈夫|老公|女儿|儿子|孩子|妈妈|母亲|爸爸|父亲|姐姐|妹妹|哥哥|弟弟",
    re.I,
)
_PRONOUN = re.compile(
    r"^(?:and |but |then )?(?:he|she|they|er|sie|il|elle|ils|elles|él|ella|ellos|lui|lei|loro|ele|ela|"
    r"eles)\b|^[他她]",
    re.I,
)


# "They made me senior editor" says what the user is now.
_DONE_TO_ME = re.compile(
    r"\b(?:made|promoted|appointed|hired|fired|elected|named|moved|transferred|diagnosed|put|offered) me\b",
    re.I,
)


def is_about_others(fact: str, clause: str, sentence: str) -> bool:
    """Tell whether the fact gives the user what its clause says of another person."""
    if _RELATIVE.search(fact):
        return False
    if _OWNED_OTHER.search(fact):
        return True
    return _subject_is_other(clause, sentence)


def only_others(sentence: str) -> str:
    """Return that a sentence is about someone else, when its subject is and it never says "I"."""
    if not _OPENS_WITH_OTHER.search(sentence) or _I.search(sentence):
        return ""
    return OTHERS


def speaks_of_relative(sentence: str) -> bool:
    """Tell whether a sentence says something of a relative of the user."""
    return bool(_RELATIVE.search(sentence)) and speaks_of_self(sentence)


def _subject_is_other(clause: str, sentence: str) -> bool:
    """Tell whether the clause, or the one it hangs on, has somebody else for its subject."""
    if _I.search(clause) or _DONE_TO_ME.search(clause):
        return False
    start = sentence.find(clause)
    before = sentence[: max(start, 0)]
    opening = clause if _names_someone(clause) or _PRONOUN.search(clause) else before
    return bool(_PRONOUN.search(opening) or _names_someone(opening))


def _names_someone(text: str) -> bool:
    head = " ".join(text.split()[:5])
    # "My friend Tom…", "Mein Chef…": the subject stands within the first words.
    return bool((_OTHER.search(head) or _RELATIVE.search(head)) and speaks_of_self(head))
