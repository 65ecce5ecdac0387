"""Trains the classifier of `chat.memory.kind_classifier`: `python -m tests.benchmarks.train_kinds [--write]`.

Reads the labelled facts of `tests/memory/data/kinds.jsonl` and the users' sentences in it, embeds them with
the installed embedder, and fits two softmax regressions: one to the facts and one, for facts in the user's
own words, to both. Prints the shares of facts and of sentences whose kind, and whose category, is right by
cross-validation, and those of the facts for the rules of `chat.memory.kind_rules`. `--write` stores the
weights. Takes about two minutes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

# The import of this module sets Django up.
from .train_durability import Floats, load  # isort: skip
from chat.llm import weights
from chat.llm.embedder import Embedder, load_embedder
from chat.memory.kind_classifier import (
    FOLDER,
    OWN_WORDS_FOLDER,
    Weights,
    choose_kind,
    choose_kind_of_own_words,
)
from chat.memory.kind_rules import guess_kind
from chat.memory.kinds import KINDS

# The best of 0.00001, 0.00003, 0.0001 and 0.0003 by cross-validation.
PENALTY = 0.00003
STEPS, RATE, FOLDS = 1500, 0.05, 5
Chooser = Callable[[NDArray[np.float32], Weights], str]


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


def train(
    embedder: Embedder, rows: list[dict[str, str]], extra: list[dict[str, str]], choose: Chooser
) -> tuple[Weights, list[str]]:
    """Return the weights that fit all rows, and for each of `rows` the kind that others' weights choose.

    The rows of `extra` are fitted only.
    """
    right = [row["kind"] for row in rows + extra]
    kinds = tuple(sorted(set(right)))
    vectors = embedder.embed([row["text"] for row in rows + extra]).astype(float)
    wanted = np.array([[float(kind == one) for one in kinds] for kind in right])
    fold = np.random.default_rng(1).permutation(len(rows)) % FOLDS
    fold = np.concatenate([fold, np.full(len(extra), FOLDS)])
    found = [""] * len(rows)
    for number in range(FOLDS):
        fitted = build_weights(kinds, vectors[fold != number], wanted[fold != number])
        for index in np.flatnonzero(fold == number):
            found[index] = choose(vectors[index].astype(np.float32), fitted)
    return build_weights(kinds, vectors, wanted), found


def write_weights(folder: Path, name: str, fitted: Weights) -> None:
    """Store the weights for the embedder of that name."""
    stored = {
        "kinds": fitted.kinds,
        "matrix": fitted.matrix.round(3).tolist(),
        "bias": fitted.bias.round(3).tolist(),
    }
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(stored) + "\n")


def main() -> None:
    """Fit, print the measures and, with --write, store the weights."""
    embedder = load_embedder(weights.embedder())
    if embedder is None:
        sys.exit("The embedder is not installed.")
    rows = load("kinds.jsonl")
    notes = [row for row in rows if not row.get("sentence")]
    sentences = [row for row in rows if row.get("sentence")]
    right = [row["kind"] for row in notes]
    print_shares("rules, notes", [guess_kind(row["text"]) for row in notes], right)
    for_notes, found = train(embedder, notes, [], choose_kind)
    print_shares("classifier, notes", found, right)
    for_sentences, found = train(embedder, sentences, notes, choose_kind_of_own_words)
    print_shares("classifier, sentences", found, [row["kind"] for row in sentences])
    if "--write" in sys.argv:
        write_weights(FOLDER, embedder.name, for_notes)
        write_weights(OWN_WORDS_FOLDER, embedder.name, for_sentences)


if __name__ == "__main__":
    main()
