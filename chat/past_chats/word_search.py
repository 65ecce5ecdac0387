"""Finds the messages of past conversations that share words with a message, rare words first.

Unlike the search page, any of the words is enough. Each is looked up in the full text index by the beginning
of its stem.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from chat.models import SearchEntry, User
from chat.search.index import find_newest_rows
from chat.search.query import QueryPart, SearchQuery
from chat.search.words import split_words

from .stems import extract_stems, find_language

# A word with more messages than this says little; only its newest are read.
_MOST_MESSAGES = 1000
_MOST_WORDS = 16
# Four times as many messages are read as are wanted, because some belong to conversations that are left out.
_SPARE = 4
# A shorter beginning is searched as a word, in singular and plural: "cat" begins many words.
_PREFIX_FROM = 5


@dataclass(frozen=True, slots=True)
class WordMatches:
    """The words of a message, and the earlier messages that contain some of them.

    `beginnings` maps the stem of each word, by the rules of `language`, to the letters with which its forms
    begin. `weights` maps the stem to its weight: rare words weigh more. `scores` maps the key of an earlier
    message to the sum of the weights of the words that it contains.
    """

    language: str
    beginnings: dict[str, str]
    weights: dict[str, float]
    scores: dict[Any, float]


def find_matching_messages(owner: User, text: str, most: int, without: Collection[Any]) -> WordMatches:
    """Look up the words of `text` in the owner's messages; return the `most` messages that score highest.

    Messages of the conversations `without` (keys) are left out. A query for each word, at most `_MOST_WORDS`,
    and one for the messages.
    """
    language = find_language(text)
    stems = extract_stems(text, language)
    # The longest are the rare ones, as a rule.
    chosen = sorted(stems, key=lambda stem: -len(stem))[:_MOST_WORDS]
    found = {stem: _find_entries(owner, stems[stem]) for stem in chosen}
    weights = {stem: weigh_word(len(keys)) for stem, keys in found.items()}
    sums: dict[int, float] = defaultdict(float)
    for stem, keys in found.items():
        for key in keys:
            sums[key] += weights[stem]
    best = sorted(sums, key=lambda key: (-sums[key], -key))[: most * _SPARE]
    entries = SearchEntry.objects.for_owner(owner).filter(pk__in=best)
    rows = entries.filter(message__replaced_by=None).values_list("pk", "message", "conversation")
    messages = {key: message for key, message, conversation in rows if conversation not in without}
    scores = {messages[key]: sums[key] for key in [key for key in best if key in messages][:most]}
    return WordMatches(language, {stem: stems[stem] for stem in chosen}, weights, scores)


def weigh_word(count: int) -> float:
    """Return the weight of a word that `count` messages contain, as BM25 weighs it in 1,000 messages."""
    return math.log(1 + (_MOST_MESSAGES - count + 0.5) / (count + 0.5))


def _find_entries(owner: User, beginning: str) -> list[int]:
    words = tuple(split_words(beginning))
    if not words:
        return []
    if len(words) > 1 or len(beginning) >= _PREFIX_FROM:
        part = QueryPart((words,), prefix=len(beginning) >= _PREFIX_FROM)
    else:
        part = QueryPart((words, (f"{words[0]}s",)))
    return find_newest_rows(owner, SearchQuery((part,)), _MOST_MESSAGES)
