"""Detects conversations of greetings and thanks only, from which no title can be made. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_HAN = re.compile(r"[\u3400-\u9fff]")
_GREETINGS_HAN = re.compile("你好吗|你好|您好|早上好|晚上好|下午好|谢谢|再见|嗨")
# Words that chats begin with, by language.
_GREETINGS_BY_LANGUAGE = {
    "en": "hi hello hey there hiya yo how are you doing today good morning afternoon evening night what's up "
    "sup thanks thank ok okay yes no please test testing nice to meet",
    "de": "hallo guten morgen tag abend moin servus wie geht geht's es dir ihnen euch danke bitte ja nein na",
    "fr": "salut bonjour bonsoir coucou ça ca va comment allez-vous vas-tu tu vous merci oui non",
    "es": "hola buenos días dias buenas tardes noches qué que tal cómo como estás estas está gracias sí si",
    "it": "ciao buongiorno buonasera salve come stai sta grazie",
    "pt": "olá ola oi bom dia boa tarde noite tudo bem obrigado obrigada sim",
}
_GREETINGS = frozenset(word for words in _GREETINGS_BY_LANGUAGE.values() for word in words.split())
# So many other words, or Chinese characters, are no small talk any more.
_MIN_WORDS, _MIN_HAN = 2, 4


def is_small_talk(texts: Iterable[str]) -> bool:
    """Return whether the texts hold greetings only, or fewer than _MIN_WORDS other words."""
    said = " ".join(texts)
    if len(_HAN.findall(_GREETINGS_HAN.sub("", said))) >= _MIN_HAN:
        return False
    words = (word.casefold().replace("’", "'") for word in _WORD.findall(_HAN.sub("", said)))
    return sum(word not in _GREETINGS for word in words) < _MIN_WORDS
