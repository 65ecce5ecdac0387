"""Detects the language of a text with py3langid, by the byte sequences that are frequent in a language."""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

# English names of languages by their codes. These are the languages that the multilingual embedder
# (`chat.llm.use_embedder`) was trained on.
NAMES = {
    "ar": "Arabic",
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fr": "French",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "ru": "Russian",
    "th": "Thai",
    "tr": "Turkish",
    "zh": "Chinese",
}
# A single name or a greeting has less, "I'm vegan" has 0.54, "mon adresse" 0.37.
_MIN_PROBABILITY = 0.3
# Threads that need the model at the same time load it once.
_loading = threading.Lock()


def detect_language(text: str) -> str:
    """Return the code of the language, one of NAMES; "" if the text is too short to tell.

    Takes some 40 microseconds; the first call loads the model of the library, about half a second. A fact
    that begins with "User" is English, whatever names it has.
    """
    if text.startswith(("User ", "User's ")):
        return "en"
    with _loading:
        identifier = _load()
    language, probability = identifier.classify(text)
    return language if probability >= _MIN_PROBABILITY else ""


@cache
def _load() -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(list(NAMES))
    return identifier
