"""Accounts of what was said, in sentences: how they begin, whether they are true, how they thin out. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from chat.topics.match import shared, words

from .language import detect

# A full stop within a number or a name ("2.5", "memory.css") ends no sentence.
_SENTENCE = re.compile(r"[^.!?。！？\n]+(?:[.!?](?!\s)[^.!?。！？\n]+)*[.!?。！？]*")

_NUMBER = re.compile(r"\d+")
# In what the default model told rightly 0.7 and more of the words had been said; "The user" never has.
_SAID = 0.5
_ENOUGH_TO_TELL = 2000  # characters by which a language is known
# A small model that is only told to sum up copies what it read (the default one, every time): worked examples
# and a beginning that is forced make it tell instead.
_BEGINNINGS = {
    "en": ("English", "The user "),
    "de": ("German", "Der Nutzer "),
    "fr": ("French", "L'utilisateur "),
    "es": ("Spanish", "El usuario "),
    "it": ("Italian", "L'utente "),
    "pt": ("Portuguese", "O usuário "),
    "zh": ("Chinese", "用户"),
}


def beginning_for(theirs: str) -> tuple[str, str]:
    """Return the language of what the user said, by its English name, and how an account in it begins."""
    return _BEGINNINGS.get(detect(theirs[:_ENOUGH_TO_TELL]), _BEGINNINGS["en"])


def borne_out(sentence: str, said: str) -> bool:
    """Return whether a sentence has its numbers and most of its words from what was said.

    A small model now and then tells of the worked examples, or answers the question instead.
    """
    own = words(sentence)
    return set(_NUMBER.findall(sentence)) <= set(_NUMBER.findall(said)) and shared(own, words(said)) >= _SAID


def sentences(text: str) -> list[str]:
    """Return the sentences of a text in order, each on one line."""
    return [one for found in _SENTENCE.findall(text) if (one := " ".join(found.split()))]


def thinned(told: Sequence[str], room: int, count: Callable[[str], int]) -> list[str]:
    """Return sentences that take at most `room` tokens together, unless a single one takes more.

    What was told first stays, for it says what all is about; of the older half every second one goes, again
    and again, so that the account gets sparser the longer ago it was.
    """
    kept = list(told)
    while len(kept) > 1 and count(" ".join(kept)) > room:
        if len(kept) == 2:
            return kept[1:]
        older = len(kept) // 2 + 1
        kept = [sentence for n, sentence in enumerate(kept) if n % 2 == 0 or n >= older]
    return kept
