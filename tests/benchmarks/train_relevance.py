"""Trains `chat.memory.relevance_classifier`: `python -m tests.benchmarks.train_relevance [--write]`.

Reads the persons of `relevance.jsonl`: the facts that are known about each, and messages with the facts that
an answer needs. Embeds all with the installed embedder, fits the classifier, and prints how well it finds the
needed facts of the persons of `held_out_relevance.jsonl`: among the 16 facts of each person, and among 134
facts, most of other persons. `--write` stores the weights, which are fitted on the first file only. Takes
about a minute.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The import of this module sets Django up.
from .train_durability import compute_auc, load  # isort: skip
from chat.llm import weights
from chat.llm.embedder import Embedder, load_embedder
from chat.memory.pair_classifier import Matrix, PairWeights, build_inputs
from chat.memory.rank import ANSWER_KINDS
from chat.memory.relevance_classifier import FOLDER, NEEDED, project_facts, project_messages

from .pair_training import fit_pairs, store_weights

# The best of three to five each on persons left out; with half of the persons the area under the curve there
# is 0.01 smaller, with a quarter 0.02.
PENALTY, BILINEAR_PENALTY, PROJECTED, STEPS = 0.00002, 0.002, 200, 120
LIMITS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
# So many facts of other persons are paired with each message as needless. Among 134 facts more of the needed
# ones are then among the first; with 16 the classifier finds fewer of those that one person's message needs.
OTHERS = 5
FACTS_KNOWN, FIRST = 134, 8


@dataclass
class Pairs:
    """Messages and facts of one person each, a pair a row: unit vectors, the kinds, and what is needed.

    `numbers` are those of the messages.
    """

    numbers: NDArray[np.int64]
    messages: Matrix
    facts: Matrix
    kinds: NDArray[np.str_]
    needed: NDArray[np.bool_]

    def choose(self, rows: NDArray[Any]) -> Pairs:
        """Return some of the pairs."""
        return Pairs(*(getattr(self, field.name)[rows] for field in fields(Pairs)))


def read_pairs(name: str, embedder: Embedder) -> Pairs:
    """Return the pairs of a file, without facts about how to answer, which every prompt contains."""
    number, found = 0, []
    for person in load(name):
        facts = embedder.embed([text for _, text in person["facts"]])
        messages = embedder.embed([message["text"] for message in person["messages"]])
        compared = [n for n, (kind, _) in enumerate(person["facts"]) if kind not in ANSWER_KINDS]
        for message, vector in zip(person["messages"], messages, strict=True):
            found += [
                (number, vector, facts[n], person["facts"][n][0], n in message["needs"]) for n in compared
            ]
            number += 1
    numbers, vectors, compared_facts, kinds, needed = zip(*found, strict=True)
    return Pairs(
        np.array(numbers),
        np.stack(vectors).astype(np.float32),
        np.stack(compared_facts).astype(np.float32),
        np.array(kinds),
        np.array(needed),
    )


def add_others(pairs: Pairs) -> Pairs:
    """Return the pairs, and pairs of each message with some facts of other persons, which it hardly needs."""
    _, firsts = np.unique(pairs.numbers, return_index=True)
    rows = np.repeat(firsts, OTHERS)
    others = np.random.default_rng(3).integers(0, len(pairs.facts), len(rows))
    return Pairs(
        np.concatenate([pairs.numbers, pairs.numbers[rows]]),
        np.vstack([pairs.messages, pairs.messages[rows]]),
        np.vstack([pairs.facts, pairs.facts[others]]),
        np.concatenate([pairs.kinds, pairs.kinds[others]]),
        np.concatenate([pairs.needed, np.zeros(len(rows), dtype=bool)]),
    )


def fit(pairs: Pairs) -> PairWeights:
    """Train the classifier on the pairs and return its weights."""
    return fit_pairs(
        pairs.messages,
        pairs.facts,
        pairs.needed.astype(np.int64),
        penalty=PENALTY,
        bilinear_penalty=BILINEAR_PENALTY,
        projected=PROJECTED,
        steps=STEPS,
        project_first=project_messages,
        project_second=lambda weights, facts: project_facts(weights, facts, pairs.kinds.tolist()),
    )


def score(fitted: PairWeights, pairs: Pairs) -> NDArray[Any]:
    """Return the probability that each message needs its fact."""
    messages = project_messages(fitted, pairs.messages)
    facts = project_facts(fitted, pairs.facts, pairs.kinds.tolist())
    return fitted.classify(build_inputs(pairs.messages, pairs.facts), messages, facts)[:, NEEDED]


def print_measures(pairs: Pairs, scores: NDArray[Any]) -> None:
    """Print the area under the ROC curve, and for each limit what is found and what too much."""
    print(f"area under the curve {compute_auc(scores, pairs.needed.astype(float)):.3f}")
    messages = len(np.unique(pairs.numbers))
    needless = np.setdiff1d(pairs.numbers, pairs.numbers[pairs.needed])
    for limit in LIMITS:
        reached = scores >= limit
        wrong = np.isin(needless, pairs.numbers[reached]).mean()
        print(
            f"{limit}: {reached[pairs.needed].mean():.2f} of the needed facts, "
            f"{reached[~pairs.needed].sum() / messages:.2f} others a message, "
            f"{wrong:.2f} of the messages that need none get some"
        )


def print_first(pairs: Pairs, fitted: PairWeights) -> None:
    """Print how often a needed fact is among the FIRST of FACTS_KNOWN, by probability and by cosine."""
    random = np.random.default_rng(1)
    by_score, by_cosine = [], []
    for row in np.flatnonzero(pairs.needed):
        rows = np.concatenate([[row], random.integers(0, len(pairs.facts), FACTS_KNOWN - 1)])
        known = pairs.choose(rows)
        known.messages = np.tile(pairs.messages[row], (FACTS_KNOWN, 1))
        scores, cosines = score(fitted, known), known.facts @ pairs.messages[row]
        by_score.append((scores[1:] > scores[0]).sum())
        by_cosine.append((cosines[1:] > cosines[0]).sum())
    shares = [f"{(np.array(places) < FIRST).mean():.2f}" for places in (by_score, by_cosine)]
    print(f"among the first {FIRST} of {FACTS_KNOWN}: {shares[0]} by probability, {shares[1]} by cosine")


def main() -> None:
    """Fit, print the measures and, with --write, store the weights."""
    embedder = load_embedder(weights.embedder())
    if embedder is None:
        sys.exit("The embedder is not installed.")
    fitted = fit(add_others(read_pairs("relevance.jsonl", embedder)))
    held_out = read_pairs("held_out_relevance.jsonl", embedder)
    print_measures(held_out, score(fitted, held_out))
    print_first(held_out, fitted)
    if "--write" in sys.argv:
        store_weights(fitted, FOLDER, embedder.name)


if __name__ == "__main__":
    main()
