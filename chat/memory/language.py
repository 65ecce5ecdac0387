"""Which of our languages a text is in, from its commonest words; enough for a tag and a fixed phrase."""

from __future__ import annotations

import re

_HAN = re.compile(r"[\u3400-\u9fff]")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
# Words that hardly occur in the other languages here.
_COMMON = {
    "en": "the and is i i'm my of with have to for at you this that are was it's what not user user's in "
    "please",
    "de": "ich und ist der die das mein meine nicht mit bin habe auf für ein eine im wohne bei von wir heiße "
    "nutzer",
    "fr": "je suis le les et mon ma des est pas avec dans pour une j'ai j'aime l'utilisateur l'utilisatrice "
    "au nous depuis chez",
    "es": "soy y el los mi con en una estoy tengo que por para como del vivo trabajo usuario usuaria llamo "
    "me gusta",
    "it": "sono e il mio mia con in una che per di ho come lavoro vivo l'utente mi piace gli non sto alla",
    "pt": "sou e o meu minha com em uma que por para como do tenho moro trabalho usuário não estou eu gosto "
    "chamo",
}
_SETS = {language: frozenset(words.split()) for language, words in _COMMON.items()}


def detect(text: str) -> str:
    """Return "zh", "de", "fr", "es", "it", "pt" or "en"; "" when nothing tells."""
    if _HAN.search(text):
        return "zh"
    words = _WORD.findall(text.casefold().replace("’", "'"))
    scores = {language: sum(w in common for w in words) for language, common in _SETS.items()}
    best = max(scores, key=lambda language: scores[language])
    return best if scores[best] else ""
