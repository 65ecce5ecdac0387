"""Analyses what a message asks for, by its words: everything about the user, a greeting.

Pure. `clear_text_caches` empties the text caches of all modules that it imports.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from .change_markers import clear_change_caches
from .formatting import to_one_line
from .request_features import find_suspect
from .stopwords import FUNCTION_WORDS
from .text_similarity import FACT_PHRASING_STEMS, clear_similarity_caches, stem_word, tokenize

_HAN = re.compile(r"[\u3400-\u9fff]+")
_CACHE_SIZE = 8192


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# A request for everything that is known about the user: "What do you know about me?", "Wer bin ich?".
_ABOUT_USER = re.compile(
    r"\b(?:(?:know|learned|learnt|remember(?:ed)?|noted|saved|stored|memor(?:y|ies)) (?:\w+ )?"
    r"(?:about|of|on) me|who (?:am i|i am)|do you (?:know|remember) me|know me|remember me|"
    r"(?:what|anything|everything|all)(?: that| else)? (?:do )?you (?:remember|know|have stored)"
    r"(?: from \w+)?\s*\??$|"
    r"told you about m(?:e|yself)|describe me|introduce me|sum me up|summari[sz]e me|profile of me|"
    r"(?:show|see|view|what's in|what is in)(?: me)? my profile|about myself|my bio\b|"
    r"(?:bio|biography|portrait|introduction|summary) (?:of|about|for) (?:me|myself)|"
    r"über mich|wer (?:bin ich|ich bin)|kennst du mich|beschreib mich|mein profil|"
    r"(?:sais|savez|souviens|retenu|connais)\b.{0,20}\b(?:de|sur) moi|sur moi|qui (?:suis-je|je suis)|"
    r"mon profil|(?:sobre|de) mí\b|sobre mi\b(?! \w)|quién soy|mi perfil|"
    r"su di me|sai di me|ricordi di me|chi sono|il mio profilo|"
    r"sobre mim|de mim|quem (?:sou|eu sou)|meu perfil)"
    r"|关于我|了解我|我是谁|认识我|记得我",
    re.IGNORECASE,
)
_GREETING = _set(
    "hi hello hey hiya yo howdy greetings good morning afternoon evening night day welcome back there "
    "again how are you doing today going is it what's up sup thanks thank ok okay great cool nice bye "
    "goodbye see later soon cheers so much very that was all my friend dear nice to meet everything "
    "hallo guten morgen tag abend nacht moin servus grüß gott wie geht's geht es dir ihnen danke "
    "schön tschüss bis bald na bonjour bonsoir salut coucou merci beaucoup ça va comment vas-tu "
    "allez-vous au revoir bonne nuit journée hola buenos buenas días dias tardes noches qué que tal "
    "cómo como estás estas gracias muchas adiós hasta luego ciao buongiorno buonasera buonanotte "
    "salve come stai sta grazie mille arrivederci va olá ola oi bom boa dia tarde noite tudo bem "
    "obrigado obrigada tchau até logo você está vai"
)
_GREETING_ZH = re.compile(
    r"[你您]好|早上好|晚上好|下午好|早安|晚安|嗨|哈喽|谢谢|再见|吗|最近怎么样|[\s，。！？!?,.~～]"
)
# A letter that is repeated for emphasis: "hiiii".
_REPEATED_LETTER = re.compile(r"(\w)\1{2,}")
# Stems of words that are too common to indicate relevance.
_COMMON_STEMS = frozenset(
    stem_word(word)
    for word in _set(
        "thing things year years day days time times today tomorrow tonight week weeks month weekend make "
        "makes made get gets got go goes going come comes good best better great new old big small little "
        "long short way ways people person number first second last next one two use uses using used need "
        "needs much many more most some any all other every know think help tell give show find can could "
        "would should will may might must let try keep look start idea ideas question answer answers "
        "about after before around without into out up down over under really still ever never always "
        "often only well right away take takes write read plan work works live lives play plays eat eats "
        "drink drinks favourite favorite called friend home tag tage jahr jahre zeit machen macht gut "
        "heute morgen immer jour jours année temps fois faire fait bon día días año años hacer hago bueno "
        "giorno giorni anno fare fatto buono dia dias ano fazer faço bom was wie wo wer kann soll will "
        "muss gibt comment quoi puis peux faut cómo qué dónde puedo debo come dove posso devo como onde"
    )
)
# Characters of Chinese function words and common verbs; a pair with one of them indicates no relevance.
_COMMON_CHARACTER = re.compile(r"[用户的了在是有和也我你他她它什么怎喜欢一个不吃去想要可以]")


@dataclass(frozen=True, slots=True)
class QueryIntent:
    """What a message asks for.

    `terms` are the terms to compare it with facts by. `about_user` asks for everything that is known about
    the user.
    """

    terms: frozenset[str]
    about_user: bool
    greeting: bool


@lru_cache(maxsize=256)
def analyse_message(message: str) -> QueryIntent:
    """Return the intent of a message, determined by its words; cached."""
    about_user = bool(_ABOUT_USER.search(message))
    return QueryIntent(
        terms=extract_terms(message),
        about_user=about_user,
        greeting=not about_user and is_greeting(message),
    )


def is_greeting(message: str) -> bool:
    """Return whether a message consists only of words of greeting, thanks or goodbye."""
    bare = _GREETING_ZH.sub("", message) if _HAN.search(message) else message
    words = [_REPEATED_LETTER.sub(r"\1", w.casefold()) for w in tokenize(bare)]
    return all(w in _GREETING for w in words)


@lru_cache(maxsize=_CACHE_SIZE)
def extract_terms(text: str) -> frozenset[str]:
    """Return the terms to compare texts by: stems of meaningful words, and pairs of Chinese characters."""
    found = {term for word in tokenize(text) if (term := _extract_term(word))}
    if not text.isascii():
        pairs = {run[i : i + 2] for run in _HAN.findall(text) for i in range(len(run) - 1)}
        found.update(pair for pair in pairs if not _COMMON_CHARACTER.search(pair))
    return frozenset(found)


def clear_text_caches() -> None:
    """Empty all caches of texts, so that no text of a deleted fact stays in this process."""
    clear_similarity_caches()
    clear_change_caches()
    for function in (analyse_message, extract_terms, _extract_term, to_one_line, find_suspect):
        function.cache_clear()


@lru_cache(maxsize=_CACHE_SIZE)
def _extract_term(word: str) -> str:
    """Return the stem of a word, "" if the word is too common to indicate relevance."""
    root = stem_word(word)
    is_common = word.casefold() in FUNCTION_WORDS or root in FACT_PHRASING_STEMS or root in _COMMON_STEMS
    return "" if is_common or len(root) < 2 or _HAN.match(root) else root
