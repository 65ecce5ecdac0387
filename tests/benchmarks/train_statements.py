"""Trains the classifier of `chat.memory.statement_classifier`: `python -m tests.benchmarks.train_statements`.

Reads the labelled sentences of `tests/memory/data/statements.jsonl` and, with a lower weight, the sentences
behind the labelled candidates of `durability.jsonl`, embeds them with the installed embedder, and fits a
logistic regression. Prints by cross-validation how well it separates sentences with a fact from others: the
area under the ROC curve, of each language too, and the shares at both thresholds. `--write` stores the
weights. Needs the embedder; takes about a minute.
"""

from __future__ import annotations

import json
import sys
from itertools import groupby
from typing import Any

import numpy as np

# The import of this module sets Django up.
from .train_durability import Floats, compute_auc, fit, load, score  # isort: skip
from chat.llm import weights
from chat.llm.embedder import load_embedder
from chat.memory.statement_classifier import FOLDER

# Log-odds. Of the labelled sentences, 80 % of those with a fact and 11 % of the others are above the first
# number, 95 % and 34 % above the second.
LIKELY_FROM, UNCLEAR_FROM = 0.0, -1.4
# The training weight of a sentence from `durability.jsonl`, where a sentence from `statements.jsonl` has 1.
# The best of 0, 0.3 and 1 by cross-validation.
CANDIDATES_WEIGHT = 0.3
FOLDS = 5


def read_sentences(rows: list[dict[str, Any]]) -> tuple[list[str], Floats, Floats]:
    """Return the texts, labels and message numbers of the labelled sentences."""
    numbers = np.array([float(row["message"]) for row in rows])
    return [row["text"] for row in rows], np.array([float(row["fact"]) for row in rows]), numbers


def read_sources() -> tuple[list[str], Floats]:
    """Return the sentences behind the candidates of `durability.jsonl`, and their labels: 1.0 for a fact.

    A sentence states a fact if at least one of its candidates is labelled as lasting.
    """
    rows = sorted(load("durability.jsonl"), key=lambda row: str(row["source"]))
    kept = {text: max(row["keep"] for row in group) for text, group in groupby(rows, lambda r: r["source"])}
    return list(kept), np.array([float(keep) for keep in kept.values()])


def main() -> None:
    """Fit, print the measures and, with --write, store the weights."""
    embedder = load_embedder(weights.embedder())
    if embedder is None:
        sys.exit("The embedder is not installed.")
    rows = load("statements.jsonl")
    texts, labels, messages = read_sentences(rows)
    sources, source_labels = read_sources()
    vectors, more = embedder.embed(texts).astype(float), embedder.embed(sources).astype(float)

    def fit_rows(chosen: Any) -> Floats:
        importance = np.concatenate([np.ones(chosen.sum()), np.full(len(more), CANDIDATES_WEIGHT)])
        return fit(
            np.vstack([vectors[chosen], more]),
            np.concatenate([labels[chosen], source_labels]),
            importance=importance,
        )

    scores = np.zeros(len(labels))
    fold = np.random.default_rng(1).permutation(int(messages.max()) + 1)[messages.astype(int)] % FOLDS
    for number in range(FOLDS):
        scores[fold == number] = score(vectors[fold == number], fit_rows(fold != number))
    print(f"cross-validated {compute_auc(scores, labels):.3f} on {len(labels)} sentences")
    for language in sorted({row["lang"] for row in rows}):
        chosen = np.array([row["lang"] == language for row in rows])
        print(f"  {language} {compute_auc(scores[chosen], labels[chosen]):.3f}")
    for least in (LIKELY_FROM, UNCLEAR_FROM):
        found, false = (scores[labels == 1] >= least).mean(), (scores[labels == 0] >= least).mean()
        print(f"  from {least}: {found:.1%} of those with a fact, {false:.1%} of the others")
    if "--write" in sys.argv:
        fitted = fit_rows(np.ones(len(labels), dtype=bool))
        stored = {
            "vector": fitted[:-1].round(4).tolist(),
            "bias": round(float(fitted[-1]), 4),
            "likely_from": LIKELY_FROM,
            "unclear_from": UNCLEAR_FROM,
        }
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / f"{embedder.name}.json").write_text(json.dumps(stored) + "\n")


if __name__ == "__main__":
    main()
