"""The little words that hold a fact together, a tongue at a time; between them stand its things."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


def words(text: str) -> frozenset[str]:
    """Return the words of a line, case folded as the words of a fact are: "fließend" is "fliessend"."""
    return frozenset(text.casefold().split())


@dataclass(frozen=True)
class Tongue:
    """One language's closed words, all lower case."""

    code: str
    # Strip off the head of a noun phrase.
    determiners: frozenset[str]
    indefinite: frozenset[str]
    # End a noun phrase: prepositions, times, adverbs.
    cut: frozenset[str]
    # End the whole list of objects: what follows is another clause.
    breaks: frozenset[str]
    joins: frozenset[str]
    # Auxiliaries and adverbs before the object.
    fillers: frozenset[str]
    # A phrase that begins with one of these is half a sentence.
    empty: frozenset[str]
    # Hold a name together from inside: "University of Cape Town".
    inner: frozenset[str]
    called: frozenset[str]
    copula: frozenset[str]
    # Words for "as" in "works as".
    as_: frozenset[str]
    place: frozenset[str]
    near: frozenset[str]
    from_: frozenset[str]
    to: frozenset[str]
    at: frozenset[str]
    with_: frozenset[str]
    about: frozenset[str]
    # The verbs of a kind, with the little words that belong to them.
    verbs: Mapping[str, frozenset[str]] = field(default_factory=dict)
    infinitive: tuple[str, ...] = ()

    @property
    def all_verbs(self) -> frozenset[str]:
        """Return the verbs of every kind that say something by themselves."""
        return frozenset(w for group in self.verbs.values() for w in group if len(w) > 3) - self.cut - self.to
