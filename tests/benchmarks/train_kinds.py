"""Trains the classifier of `chat.memory.kind_classifier`: `python -m tests.benchmarks.train_kinds [--write]`.

Reads the labelled facts of `tests/memory/data/kinds.jsonl`, embeds them with the installed embedder, and fits
a softmax regression. Prints the share of facts whose kind, and whose category, is right by cross-validation,
and the same for the rules of `chat.memory.kind_rules`. `--write` stores the weights. Takes about a minute.
"""

from __future__ import annotations

import json
import sys

import numpy as np

# The import of this module sets Django up.
from .train_durability import Floats, load  # isort: skip
from chat.llm import weights
from chat.llm.embedder import load_embedder
from chat.memory.kind_classifier import FOLDER, Weights, choose_kind
from chat.memory.kind_rules import guess_kind
from chat.memory.kinds import KINDS

# The best of 0.00001, 0.00003, 0.0001 and 0.0003 by cross-validation.
PENALTY = 0.00003
STEPS, RATE, FOLDS = 1500, 0.05, 5


def fit(vectors: Floats, wanted: Floats) -> tuple[Floats, Floats]:
    """Return the weights (dimensions, kinds) and the biases of a softmax regression, by Adam.

    `wanted` has a row a fact with 1.0 in the column of its kind.
    """
    rows = np.hstack([vectors, np.ones((len(vectors), 1))])
    matrix = np.zeros((rows.shape[1], wanted.shape[1]))
    mean, square = np.zeros_like(matrix), np.zeros_like(matrix)
    for step in range(1, STEPS + 1):
        powers = np.exp(rows @ matrix)
        slope = rows.T @ (powers / powers.sum(axis=1, keepdims=True) - wanted) / len(rows)
        slope[:-1] += PENALTY * matrix[:-1]
        mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
        matrix -= RATE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return matrix[:-1], matrix[-1]


def build_weights(kinds: tuple[str, ...], vectors: Floats, wanted: Floats) -> Weights:
    """Return the weights that fit these facts."""
    matrix, bias = fit(vectors, wanted)
    return Weights(kinds, matrix.astype(np.float32), bias.astype(np.float32))


def print_shares(name: str, found: list[str], right: list[str]) -> None:
    """Print how many kinds, and how many categories, are right."""
    category = [KINDS[a].category == KINDS[b].category for a, b in zip(found, right, strict=True)]
    print(f"{name}: kind {np.mean([*map(str.__eq__, found, right)]):.3f}, category {np.mean(category):.3f}")


def main() -> None:
    """Fit, print the measures and, with --write, store the weights."""
    embedder = load_embedder(weights.embedder())
    if embedder is None:
        sys.exit("The embedder is not installed.")
    rows = load("kinds.jsonl")
    texts, right = [row["text"] for row in rows], [row["kind"] for row in rows]
    kinds = tuple(sorted(set(right)))
    vectors = embedder.embed(texts).astype(float)
    wanted = np.array([[float(kind == one) for one in kinds] for kind in right])
    fold = np.random.default_rng(1).permutation(len(rows)) % FOLDS
    found = [""] * len(rows)
    for number in range(FOLDS):
        fitted = build_weights(kinds, vectors[fold != number], wanted[fold != number])
        for index in np.flatnonzero(fold == number):
            found[index] = choose_kind(vectors[index].astype(np.float32), fitted)
    print_shares("rules", [guess_kind(text) for text in texts], right)
    print_shares("classifier", found, right)
    if "--write" in sys.argv:
        fitted = build_weights(kinds, vectors, wanted)
        stored = {
            "kinds": kinds,
            "matrix": fitted.matrix.round(3).tolist(),
            "bias": fitted.bias.round(3).tolist(),
        }
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / f"{embedder.name}.json").write_text(json.dumps(stored) + "\n")


if __name__ == "__main__":
    main()
