"""The result of the extraction from one message: candidate facts, refused ones, endings and denials."""

from __future__ import annotations

from dataclasses import dataclass, field

from chat.llm.types import Usage
from chat.memory.fact_dates import NO_DATES, FactDates
from chat.memory.kinds import CategoryName
from chat.memory.text_similarity import is_restatement, normalize_text
from chat.models import Durability

DUPLICATE = "is-duplicate"


@dataclass(frozen=True, slots=True)
class FactCandidate:
    """A fact that may be stored; `quote` is the user's sentence that supports it."""

    text: str
    kind: str
    category: CategoryName
    subject: str
    hedged: bool
    quote: str
    language: str = ""
    # The user explicitly asked to remember it.
    explicit: bool = False
    # The text is the user's sentence between quotation marks, not a note of the model.
    in_own_words: bool = False
    durability: Durability = Durability.LASTING
    dates: FactDates = NO_DATES


@dataclass(frozen=True, slots=True)
class RefusedFact:
    """A proposed fact that is not stored, and the encoded reason (see `chat.errors.Reason`)."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Denial:
    """A negated sentence; `said_wrong` if the user said right before it that something is wrong."""

    sentence: str
    said_wrong: bool


@dataclass(slots=True)
class Extraction:
    """The result of the extraction from one message; `usage` is None if the model was not called."""

    candidates: list[FactCandidate] = field(default_factory=list)
    refused: list[RefusedFact] = field(default_factory=list)
    # Sentences that say that something is over; the fact that they end, if stored, is from an earlier
    # message.
    endings: list[str] = field(default_factory=list)
    # What the user asks to forget, in their own words.
    to_forget: list[str] = field(default_factory=list)
    denials: list[Denial] = field(default_factory=list)
    # The sentences that may change stored facts, whether or not they state a fact.
    sentences: list[str] = field(default_factory=list)
    error: str = ""
    usage: Usage | None = None


def is_duplicate(text: str, kind: str, candidates: list[FactCandidate]) -> bool:
    """Return whether one of the candidates states the fact already; a message counts as one mention."""
    return any(
        normalize_text(c.text) == normalize_text(text) or (c.kind == kind and is_restatement(text, c.text))
        for c in candidates
    )
