"""How sure memory is of a fact: the numbers of design §5 (seed 004, "Duplicate & Conflict Handling")."""

from __future__ import annotations

EXTRACTED = 0.75  # seed 004: the user's own statement, read by the model; also "told" facts
BY_HAND = 0.6  # seed 004: "manual facts get lower initial confidence"; highlights are by hand too
REPEAT = 0.15  # seed 004: boost for each further mention
REPEAT_BY_HAND = 0.25  # design §5: "boost faster on repetition"
CERTAIN = 1.0

_HAND_MADE = frozenset({"manual", "highlight"})


def baseline(origin: str) -> float:
    """Return the confidence of a new or replacing fact of this origin, 0–1."""
    return BY_HAND if origin in _HAND_MADE else EXTRACTED


def reinforced(confidence: float, origin: str) -> float:
    """Return the confidence after one more mention of a fact of this origin, at most 1.0."""
    boost = REPEAT_BY_HAND if origin in _HAND_MADE else REPEAT
    return round(min(CERTAIN, confidence + boost), 6)
