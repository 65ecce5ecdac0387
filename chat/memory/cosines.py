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
        # Without what all have in common (`typical_vectors`). Of the questions and facts of seven languages,
        # 60 % of the right pairs and 7 % of the wrong ones reach 0.10, 39 % and 2 % reach 0.15. In the recall
        # cases with the facts of 20 other cases added, 0.10 finds 201 of 261 facts and 0.13 finds 187; in the
        # plain cases 0.10 brings a fact too many in 14 of 184 and 0.13 in 9.
        relevant=0.12,
        # 0.20 finds 62 to 81 % of the facts by one word and 0.3 to 1.4 % of the others, 0.25 finds 46 to 58 %
        # and at most 0.3 %.
        found=0.22,
        # Where the nearest fact to a request reaches it, it is the right one in all four languages.
        described=0.40,
        # "speaks fluent Finnish" / "her Finnish is fluent" 0.93, but "has two sons" / "sons-in-law" 0.90.
        same=0.92,
        # "works as a nurse" / "is a nurse in a hospital" 0.83.
        same_contained=0.80,
        # Of the pairs without a shared word, half of the equal ones and 1 of 15 different ones reach it.
        same_translated=0.75,
        # All equal pairs reach it, and fewer than 1 % of unrelated facts (99th percentile 0.48).
        same_topic=0.55,
        # 62 % of the equal pairs reach it; the model decides.
        may_repeat=0.75,
        # Finds 8 to 10 of 26 facts in each of four languages, and none wrongly.
        meant=0.25,
        meant_margin=0.15,
        # 89 % of other names in four languages and no name of another thing reach it.
        entity=0.50,
    ),
    "minilm-l6-int8": CosineThresholds(
        # Unrelated English pairs stay below 0.19, a third of the related ones is above.
        relevant=0.25,
        # Finds 69 % of the facts by one English word, and none wrongly.
        found=0.35,
        # A paraphrase has about 0.77, a contradiction 0.49.
        described=0.62,
        # "likes jazz" / "enjoys jazz music" 0.90, but "drinks tea" / "drinks coffee" 0.83.
        same=0.90,
        # "is a nurse" / "is a nurse in a hospital" 0.88.
        same_contained=0.80,
        same_translated=0.90,
        same_topic=0.55,
        may_repeat=0.70,
        # Finds 9 of 26 facts in English, and none wrongly.
        meant=0.35,
        meant_margin=0.15,
        # "hotkeys" for "keyboard shortcuts" reaches it, and no name of another thing.
        entity=0.55,
    ),
}
# For an embedder that was not measured: strict, because a false match does more harm than a missed one.
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
