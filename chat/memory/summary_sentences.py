"""Sentences of summaries: their beginning, whether the conversation supports them, how they are thinned."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from chat.topics.match import compute_shared_ratio, extract_match_terms

from .language import NAMES, detect_language

# A sentence with its end mark. A full stop inside a number or a name ("2.5", "memory.css") ends no sentence.
_SENTENCE = re.compile(r"[^.!?。！？\n]+(?:[.!?](?!\s)[^.!?。！？\n]+)*[.!?。！？]*")

_NUMBER = re.compile(r"\d+")
# The share of a sentence's match terms that the conversation must contain. Correct sentences of the default
# model have 0.7 and more; the words "The user" never occur.
_MIN_SHARE = 0.5
_DETECTION_LENGTH = 2000  # characters that are enough to detect a language
# The beginning that a grammar forces on a summary, by language code. Without worked examples and a forced
# beginning the default model copies the conversation instead of summarising it.
_BEGINNINGS = {
    "en": "The user ",
    "de": "Der Nutzer ",
    "fr": "L'utilisateur ",
    "es": "El usuario ",
    "it": "L'utente ",
    "pt": "O usuário ",
    "zh": "用户",
    "ja": "ユーザーは",
    "ko": "사용자는 ",
    "ru": "Пользователь ",
    "nl": "De gebruiker ",
    "pl": "Użytkownik ",
    "tr": "Kullanıcı ",
    "ar": "المستخدم ",
    "th": "ผู้ใช้",
}


def choose_language_and_beginning(theirs: str) -> tuple[str, str]:
    """Return the English name of the language of the user's text, and the beginning of a summary in it."""
    language = detect_language(theirs[:_DETECTION_LENGTH]) or "en"
    return NAMES[language], _BEGINNINGS[language]


def is_supported(sentence: str, said: str) -> bool:
    """Return whether all numbers and at least half of the terms of a sentence are in the conversation `said`.

    A small model sometimes repeats a worked example, or answers the user's question instead of summarising.
    """
    own = extract_match_terms(sentence)
    return (
        set(_NUMBER.findall(sentence)) <= set(_NUMBER.findall(said))
        and compute_shared_ratio(own, extract_match_terms(said)) >= _MIN_SHARE
    )


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text in order, with single spaces and without line breaks."""
    return [sentence for found in _SENTENCE.findall(text) if (sentence := " ".join(found.split()))]


def thin_sentences(sentences: Sequence[str], room: int, count: Callable[[str], int]) -> list[str]:
    """Return as many sentences as fit into `room` tokens, at least one; `count` counts tokens of a text.

    Removes every second sentence of the older half, repeatedly, so that the summary is sparser for older
    times. The first sentence stays, because it says what the conversation is about, until two are left.
    """
    kept = list(sentences)
    while len(kept) > 1 and count(" ".join(kept)) > room:
        if len(kept) == 2:
            return kept[1:]
        older = len(kept) // 2 + 1
        kept = [sentence for n, sentence in enumerate(kept) if n % 2 == 0 or n >= older]
    return kept
