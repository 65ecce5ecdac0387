"""The grammatical words and verbs of one language, by which names are found in facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


def parse_words(text: str) -> frozenset[str]:
    """Return the words of a text, case folded: "fließend" becomes "fliessend", as in facts."""
    return frozenset(text.casefold().split())


@dataclass(frozen=True)
class Lexicon:
    """The word lists of one language, case folded; `code` is the language code."""

    code: str
    # Removed from the beginning of a noun phrase: articles, possessives, numerals.
    determiners: frozenset[str]
    indefinite: frozenset[str]
    # Words that end a noun phrase: prepositions, times, adverbs.
    cut: frozenset[str]
    # Words that end the whole list of objects, because another clause begins.
    breaks: frozenset[str]
    # Words for "and" and "or".
    joins: frozenset[str]
    # Auxiliaries and adverbs that may stand before the object.
    fillers: frozenset[str]
    # A phrase that begins with one of these words is no name.
    empty: frozenset[str]
    # Words inside names: "University of Cape Town".
    inner: frozenset[str]
    # Words before a name: "called", "named".
    called: frozenset[str]
    copula: frozenset[str]
    # Words for "as" in "works as".
    as_: frozenset[str]
    # Prepositions before a place, a near place, an origin, a destination, a workplace, a tool, a topic.
    place: frozenset[str]
    near: frozenset[str]
    from_: frozenset[str]
    to: frozenset[str]
    at: frozenset[str]
    with_: frozenset[str]
    about: frozenset[str]
    # The verbs by group, often a kind of fact, with the particles that belong to them.
    verbs: Mapping[str, frozenset[str]] = field(default_factory=dict)
    # Endings of infinitives; empty where infinitives are not recognised by their ending.
    infinitive: tuple[str, ...] = ()

    @property
    def all_verbs(self) -> frozenset[str]:
        """Return the verbs of all groups that have more than three letters and are no prepositions."""
        return frozenset(w for group in self.verbs.values() for w in group if len(w) > 3) - self.cut - self.to
