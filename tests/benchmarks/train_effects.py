"""Trains `chat.memory.effect_classifier`: `python -m tests.benchmarks.train_effects [--write]`.

Reads the facts of `effects.jsonl`, each with sentences that replace, end, keep or repeat it, and pairs each
sentence with two other facts too, which it does not concern, and the sentences of `statements.jsonl` with
facts that they hardly ever change. Embeds them with the installed embedder and fits
the classifier. Prints how well it separates, on facts left out, the sentences that change a fact from
those that do not, for the facts of the update cases, how well it finds those that the cases must lose, and
how often an ordinary message changes one of many facts.
`--write` stores the weights. Takes about seven minutes.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The import of this module sets Django up.
from .train_durability import DATA, load  # isort: skip
from chat.llm import weights
from chat.llm.embedder import Embedder, load_embedder
from chat.management.evaluation.scores import contains_word
from chat.memory.effect_classifier import (
    ENDED,
    FOLDER,
    HOLDS,
    OTHER,
    REPEATED,
    REPLACED,
)
from chat.memory.pair_classifier import PairWeights, build_inputs
from chat.memory.sentences import split_sentences

from .pair_training import fit_pairs, store_weights

COLUMNS = {"replaced": REPLACED, "ended": ENDED, "holds": HOLDS, "repeats": REPEATED}
# Each is the best of three to four on the update cases. Without the bilinear scores the area under the curve
# there is 0.903 instead of 0.918.
PENALTY, BILINEAR_PENALTY = 0.0002, 0.003
# Each sentence is paired with so many other facts, each the most similar of so many drawn. Without them the
# classifier finds that a sentence changes something, and not what.
OTHERS, DRAWN = 2, 4
# A sentence of ordinary talk is paired with the most similar of so many facts, as many as a memory may hold.
DRAWN_FOR_TALK = 40
# A sentence is not paired with a fact whose cosine with the sentence, or with the sentence's own fact, is at
# least this: "I moved to Rome" replaces "lives in Ghent", and "lives in Oslo" too.
MAX_COSINE_OF_OTHER = 0.5
# How `add_mistakes` chooses pairs: at most MISTAKES facts of DRAWN_FOR_MISTAKES drawn ones for each sentence,
# each with at least the probability MIN_MISTAKE of being changed. Without these pairs one ordinary message in
# ten changes one of 150 stored facts.
MISTAKES, DRAWN_FOR_MISTAKES, MIN_MISTAKE = 2, 100, 0.2
SHARE_LEFT_OUT = 0.2
LIMITS = (0.4, 0.45, 0.5, 0.6)
FACTS_KNOWN = 150
Matrix = NDArray[np.float32]


@dataclass
class Pairs:
    """Sentences and facts: the number of the fact, unit vectors of both, and the effect, a pair a row."""

    numbers: NDArray[np.int64]
    sentences: Matrix
    facts: Matrix
    effects: NDArray[np.int64]

    def choose(self, rows: NDArray[Any]) -> Pairs:
        """Return some of the pairs."""
        return Pairs(self.numbers[rows], self.sentences[rows], self.facts[rows], self.effects[rows])


def read_pairs(embedder: Embedder) -> Pairs:
    """Return the pairs of the file."""
    rows = [
        (number, row["note"], sentence, column)
        for number, row in enumerate(load("effects.jsonl"))
        for name, column in COLUMNS.items()
        for sentence in row[name]
    ]
    numbers, facts, sentences, effects = zip(*rows, strict=True)
    return Pairs(np.array(numbers), embed(embedder, sentences), embed(embedder, facts), np.array(effects))


def embed(embedder: Embedder, texts: Any) -> Matrix:
    """Return the vectors of texts, a row a text; each different text is embedded once."""
    different = sorted(set(texts))
    places = {text: place for place, text in enumerate(different)}
    return embedder.embed(different)[[places[text] for text in texts]].astype(np.float32)


def add_others(pairs: Pairs, random: np.random.Generator) -> Pairs:
    """Return the pairs and, for each sentence, pairs with facts that it does not concern."""
    every = np.arange(len(pairs.numbers))
    chosen = []
    for _ in range(OTHERS):
        drawn = random.integers(0, len(every), (len(every), DRAWN))
        cosines = np.einsum("pd,pnd->pn", pairs.sentences, pairs.facts[drawn])
        chosen.append(drawn[every, cosines.argmax(axis=1)])
    row, other = np.tile(every, OTHERS), np.concatenate(chosen)
    different = np.einsum("pd,pd->p", pairs.facts[row], pairs.facts[other]) < MAX_COSINE_OF_OTHER
    row, other = row[different], other[different]
    return Pairs(
        np.concatenate([pairs.numbers, pairs.numbers[row]]),
        np.vstack([pairs.sentences, pairs.sentences[row]]),
        np.vstack([pairs.facts, pairs.facts[other]]),
        np.concatenate([pairs.effects, np.full(len(row), OTHER)]),
    )


def add_ordinary_talk(pairs: Pairs, embedder: Embedder, random: np.random.Generator) -> Pairs:
    """Return the pairs, and pairs of the sentences of `statements.jsonl`, written by others, with facts."""
    sentences = embed(embedder, [row["text"] for row in load("statements.jsonl")])
    drawn = random.integers(0, len(pairs.numbers), (len(sentences), DRAWN_FOR_TALK))
    cosines = np.einsum("pd,pnd->pn", sentences, pairs.facts[drawn])
    cosines[cosines >= MAX_COSINE_OF_OTHER] = -1
    other = drawn[np.arange(len(sentences)), cosines.argmax(axis=1)]
    return Pairs(
        np.concatenate([pairs.numbers, pairs.numbers[other]]),
        np.vstack([pairs.sentences, sentences]),
        np.vstack([pairs.facts, pairs.facts[other]]),
        np.concatenate([pairs.effects, np.full(len(sentences), HOLDS)]),
    )


def add_mistakes(pairs: Pairs, weights: PairWeights, random: np.random.Generator) -> Pairs:
    """Return the pairs, and new pairs on which the classifier with these weights is wrong.

    Each sentence that changes nothing is compared with some facts drawn at random. The facts that the
    classifier says it changes become pairs with the effect OTHER.
    """
    unchanging = np.flatnonzero(np.isin(pairs.effects, (HOLDS, REPEATED)))
    _, firsts = np.unique(pairs.sentences[unchanging], axis=0, return_index=True)
    firsts = unchanging[firsts]
    facts = np.unique(pairs.facts, axis=0)
    found = []
    for row in firsts:
        drawn = facts[random.integers(0, len(facts), DRAWN_FOR_MISTAKES)]
        drawn = drawn[
            np.maximum(drawn @ pairs.facts[row], drawn @ pairs.sentences[row]) < MAX_COSINE_OF_OTHER
        ]
        scores = score(weights, np.broadcast_to(pairs.sentences[row], drawn.shape), drawn)
        worst = np.argsort(-scores)[:MISTAKES]
        found += [(row, fact) for fact in drawn[worst[scores[worst] >= MIN_MISTAKE]]]
    rows = np.array([row for row, _ in found])
    print(f"{len(found)} mistakes in {len(firsts)} sentences")
    return Pairs(
        np.concatenate([pairs.numbers, pairs.numbers[rows]]),
        np.vstack([pairs.sentences, pairs.sentences[rows]]),
        np.vstack([pairs.facts, np.stack([fact for _, fact in found])]),
        np.concatenate([pairs.effects, np.full(len(found), OTHER)]),
    )


def fit(pairs: Pairs) -> PairWeights:
    """Train the classifier on the pairs and return its weights."""
    return fit_pairs(
        pairs.sentences, pairs.facts, pairs.effects, penalty=PENALTY, bilinear_penalty=BILINEAR_PENALTY
    )


def fit_twice(pairs: Pairs, embedder: Embedder, random: np.random.Generator) -> PairWeights:
    """Fit once, add the pairs on which this fit is wrong, fit again, and return the weights."""
    pairs = add_ordinary_talk(add_others(pairs, random), embedder, random)
    return fit(add_mistakes(pairs, fit(pairs), random))


def score(weights: PairWeights, sentences: Matrix, facts: Matrix) -> Matrix:
    """Return the probability that each sentence changes its fact."""
    inputs = build_inputs(sentences, facts)
    effects = weights.classify(inputs, weights.project(sentences), weights.project(facts))
    return np.asarray(effects[:, [REPLACED, ENDED]].sum(axis=1))


def print_measures(name: str, scores: NDArray[Any], changed: NDArray[Any]) -> None:
    """Print the area under the ROC curve, and for each of LIMITS the precision and the recall."""
    order = np.argsort(np.argsort(scores))
    positive = int(changed.sum())
    area = (order[changed].sum() - positive * (positive - 1) / 2) / (positive * (~changed).sum())
    shares = [
        f"{threshold}: {changed[scores >= threshold].mean():.2f} right, "
        f"{(scores[changed] >= threshold).mean():.2f} found"
        for threshold in LIMITS
    ]
    print(f"{name}: AUC {area:.3f}; {'; '.join(shares)}")


def measure_update_cases(embedder: Embedder, weights: PairWeights) -> None:
    """Print how well the facts are found that the update cases must lose."""
    scores, lost = [], []
    for path in sorted([*DATA.glob("*updates*.jsonl"), DATA / "consolidation.jsonl"]):
        for case in load(path.name):
            sentences = embed(embedder, split_sentences(case["message"]) or [case["message"]])
            for fact, vector in zip(case["facts"], embed(embedder, case["facts"] or [""]), strict=False):
                scores.append(float(score(weights, sentences, np.tile(vector, (len(sentences), 1))).max()))
                lost.append(any(contains_word(fact, word) for word in case["loses"]))
    print_measures("facts of update cases", np.array(scores), np.array(lost))


def measure_ordinary_messages(embedder: Embedder, weights: PairWeights) -> None:
    """Print how many messages of the extraction cases change a fact of a memory of FACTS_KNOWN facts."""
    random = np.random.default_rng(1)
    known = {
        fact.lstrip("*")
        for path in DATA.glob("*recall*.jsonl")
        for row in load(path.name)
        for fact in row["facts"]
    }
    facts = embed(embedder, random.choice(sorted(known), FACTS_KNOWN, replace=False))
    messages = [
        message["content"]
        for path in sorted(DATA.glob("held_out_extraction*.jsonl"))
        for row in load(path.name)
        for message in row["messages"]
        if message["role"] == "user"
    ]
    highest = []
    for message in messages:
        sentences = embed(embedder, split_sentences(message) or [message])
        pairs = (len(sentences), len(facts))
        scores = score(weights, np.repeat(sentences, pairs[1], axis=0), np.tile(facts, (pairs[0], 1)))
        highest.append(scores.max())
    shares = [f"{(np.array(highest) >= limit).mean():.3f} reach {limit}" for limit in LIMITS]
    print(f"{len(messages)} messages, {FACTS_KNOWN} facts: {', '.join(shares)}")


def main() -> None:
    """Fit, print the measures and, with --write, store the weights."""
    embedder = load_embedder(weights.embedder())
    if embedder is None:
        sys.exit("The embedder is not installed.")
    random = np.random.default_rng(1)
    pairs = read_pairs(embedder)
    left_out = (random.random(pairs.numbers.max() + 1) < SHARE_LEFT_OUT)[pairs.numbers]
    known = pairs.choose(~left_out)
    fitted = fit_twice(known, embedder, random)
    unseen = pairs.choose(left_out)
    scores = score(fitted, unseen.sentences, unseen.facts)
    print_measures("facts left out", scores, np.isin(unseen.effects, (REPLACED, ENDED)))
    fitted = fit_twice(pairs, embedder, random)
    measure_update_cases(embedder, fitted)
    measure_ordinary_messages(embedder, fitted)
    if "--write" in sys.argv:
        store_weights(fitted, FOLDER, embedder.name)


if __name__ == "__main__":
    main()
