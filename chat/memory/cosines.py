"""The cosines of two texts' vectors from which they count as related, or as the same, for each embedder.

Measured by `python -m tests.benchmarks.embedders`; the figures beside each threshold are from its tables.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CosineThresholds:
    """The thresholds of one embedder.

    `relevant`: a fact may help to answer a message. `found`: a search finds a fact; stricter, since the model
    ignores what it does not need and a reader does not. `described`: words describe this fact and no other.
    `same`: two facts say the same; `same_contained`: the same, where one has all words of the other;
    `same_translated`: the same, where they share no word, as in two languages.
    `same_topic`: a fact may have the topic of a candidate that shares no word with it. `may_repeat`: a fact
    may say what a candidate says although the candidate has words that the fact lacks. `meant` and
    `meant_margin`: a request means this fact, and no other is nearer than that margin. `entity`: another
    name of an entity.
    """

    relevant: float
    found: float
    described: float
    same: float
    same_contained: float
    same_translated: float
    same_topic: float
    may_repeat: float
    meant: float
    meant_margin: float
    entity: float


THRESHOLDS_BY_EMBEDDER = {
    "use-multilingual-v3": CosineThresholds(
        relevant=0.10,
        found=0.22,
        described=0.40,
        same=0.92,
        same_contained=0.86,
        same_translated=0.76,
        same_topic=0.55,
        may_repeat=0.75,
        meant=0.25,
        meant_margin=0.10,
        entity=0.50,
    ),
    "minilm-l6-int8": CosineThresholds(
        relevant=0.25,
        found=0.35,
        described=0.62,
        same=0.90,
        same_contained=0.80,
        same_translated=0.90,
        same_topic=0.55,
        may_repeat=0.70,
        meant=0.35,
        meant_margin=0.15,
        entity=0.55,
    ),
}
# For an embedder without measurements, therefore strict.
DEFAULT_THRESHOLDS = CosineThresholds(
    relevant=0.6,
    found=0.6,
    described=0.8,
    same=0.95,
    same_contained=0.95,
    same_translated=0.95,
    same_topic=0.7,
    may_repeat=0.85,
    meant=0.6,
    meant_margin=0.15,
    entity=0.8,
)


def get_thresholds(embedder: str) -> CosineThresholds:
    """Return the thresholds of an embedder by its name in the catalogue."""
    return THRESHOLDS_BY_EMBEDDER.get(embedder, DEFAULT_THRESHOLDS)
