"""Detects facts about other people, so that a friend's home or a boss's job is not stored as the user's."""

from __future__ import annotations

import re

from .speech_acts import OTHERS, is_first_person

# People whose facts are not stored ("friend", "Chefin", "voisin", "同事"). Relatives are not in this list:
# their facts are stored with kind `family`.
_NON_RELATIVE = re.compile(
    r"\b(?:friend|buddy|mate|boss|manager|colleague|coworker|co-worker|neighbou?r|roommate|flatmate|"
    r"teacher|professor|client|customer|"
    r"landlord|teammate|classmate|ex|doctor|guy|freund(?:in)?|chef(?:in)?|kolleg(?:e|in)|"
    r"nachbar(?:in)?|mitbewohner(?:in)?|kunde|"
    r"ami|amie|copain|copine|patronne?|collègue|voisine?|colocataire|cliente?|amig[oa]|jef[ea]|"
    r"compañer[oa]|vecin[oa]|"
    r"amic[oa]|cap[oa]|collega|vicin[oa]|coinquilin[oa]|chefe|colega|vizinh[oa])s?\b|朋友|老板|同事|邻居|室友|客户|老师",
    re.I,
)
# First-person subject pronouns: "I", "ich", "j'ai", "我" but not "我的".
_FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|we|ich|wir|je|j'\w+|nous|yo|io|eu)\b|我(?!的)", re.I)
# A sentence that begins with such a person: "My boss …", "So, one of my friends …", "Mein neuer Chef …".
_STARTS_WITH_NON_RELATIVE = re.compile(
    rf"^(?:\w+[,:] )?(?:my|our|a|an|one of my|the|mein\w*|unser\w*|mon|ma|mes|un|une|mi|mis|il mio|"
    rf"la mia|o meu|a minha|我的?)"
    rf"(?: \w+)? ?(?:{_NON_RELATIVE.pattern})",
    re.I,
)
# A fact about such a person: "User's boss …" and "User has a friend …", but not "User is a teacher".
_FACT_ABOUT_NON_RELATIVE = re.compile(
    rf"\b(?:user's|nutzers|has an?) (?:\w+ )?(?:{_NON_RELATIVE.pattern})|的(?:{_NON_RELATIVE.pattern})", re.I
)
# Words for relatives: "wife", "Tochter", "frère", "hermano", "女儿".
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
# A clause that begins with a third-person pronoun: "and she works …", "il est …", "他…".
_STARTS_WITH_THIRD_PERSON = re.compile(
    r"^(?:and |but |then )?(?:he|she|they|er|sie|il|elle|ils|elles|él|ella|ellos|lui|lei|loro|ele|ela|"
    r"eles)\b|^[他她]",
    re.I,
)


# Another subject that says something about the user: "They made me senior editor", "she hired me".
_USER_AS_OBJECT = re.compile(
    r"\b(?:made|promoted|appointed|hired|fired|elected|named|moved|transferred|diagnosed|put|offered) me\b",
    re.I,
)


def is_about_others(fact: str, clause: str, sentence: str) -> bool:
    """Return whether the fact ascribes to the user what its clause says about another person.

    `clause` is the part of the user's `sentence` that supports the fact. Facts about relatives are allowed.
    """
    if _RELATIVE.search(fact):
        return False
    if _FACT_ABOUT_NON_RELATIVE.search(fact):
        return True
    return _has_other_subject(clause, sentence)


def refuse_other_subject(sentence: str) -> str:
    """Return the reason OTHERS if a sentence has another person as subject and no "I" in it, else ""."""
    if not _STARTS_WITH_NON_RELATIVE.search(sentence) or _FIRST_PERSON.search(sentence):
        return ""
    return OTHERS


def mentions_relative(sentence: str) -> bool:
    """Return whether a sentence is about a relative of the user ("Mi hija se llama Lucía")."""
    return bool(_RELATIVE.search(sentence)) and is_first_person(sentence)


def _has_other_subject(clause: str, sentence: str) -> bool:
    """Return whether the clause, or the text before it where the clause has no subject, is about others."""
    if _FIRST_PERSON.search(clause) or _USER_AS_OBJECT.search(clause):
        return False
    start = sentence.find(clause)
    before = sentence[: max(start, 0)]
    has_subject = _starts_with_person(clause) or _STARTS_WITH_THIRD_PERSON.search(clause)
    opening = clause if has_subject else before
    return bool(_STARTS_WITH_THIRD_PERSON.search(opening) or _starts_with_person(opening))


def _starts_with_person(text: str) -> bool:
    # The subject stands within the first five words: "My friend Tom…", "Mein Chef…".
    head = " ".join(text.split()[:5])
    return bool((_NON_RELATIVE.search(head) or _RELATIVE.search(head)) and is_first_person(head))
