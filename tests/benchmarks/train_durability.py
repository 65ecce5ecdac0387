"""Trains the classifier of `chat.memory.durability`: `python -m tests.benchmarks.train_durability [--write]`.

Reads the labelled candidates of `durability.jsonl` and `held_out_durability.jsonl`, which were written for
it, the notes of `statements.jsonl` with their sentences, which are all lasting, its sentences alone, and the
candidates of `proposals.jsonl`, which the default model proposed for the messages of `statements.jsonl`.
Embeds each text and its quote with the installed embedder, and fits a logistic regression. Prints by
cross-validation how well it separates the candidates that matter in a month from the others, for both sorts:
the area under the ROC curve and the shares at both thresholds. `--write` stores the weights. Needs the
embedder; takes about a minute.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import django
import numpy as np
from numpy.typing import NDArray

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")
django.setup()

from chat.llm import weights  # noqa: E402
from chat.llm.embedder import load_embedder  # noqa: E402
from chat.memory.durability import FOLDER  # noqa: E402

DATA = Path(__file__).resolve().parents[1] / "memory" / "data"
# The best of 0.3, 1 and 3 on the candidates that were written.
RIDGE = 1.0
# The text of a candidate counts more than the sentence behind it, which may state several things. The best of
# 1, 1.5, 2 and 3 on the proposals of the model.
TEXT_SCALE = 2.0
# Proposals of the model are what the classifier judges, so each counts twice. Counted three times they cost
# more lasting facts than they save.
PROPOSALS_WEIGHT = 2.0
SENTENCES_WEIGHT = 0.5
# Log-odds, chosen by recall and precision of `evaluate` on real chats and on chats with facts in passing.
LASTING_FROM, DOUBTFUL_FROM = 0.6, -1.4
FOLDS = 10
Floats = NDArray[np.float64]


def load(name: str) -> list[dict[str, Any]]:
    """Return the labelled candidates of a file."""
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def read_notes() -> list[dict[str, Any]]:
    """Return the notes of the labelled sentences as lasting candidates."""
    return [
        {"text": note, "source": row["text"], "keep": 1}
        for row in load("statements.jsonl")
        for note in row["note"].split(" | ")
        if note
    ]


def fit(features: Floats, labels: Floats, importance: Floats | None = None) -> Floats:
    """Return the weights of a logistic regression, the bias last, by Newton's method.

    `importance` is how much each row counts, 1 without it.
    """
    counts = np.ones(len(labels)) if importance is None else importance
    inputs = np.hstack([features, np.ones((len(features), 1))])
    penalty = np.full(inputs.shape[1], RIDGE)
    penalty[-1] = 0.0
    weights = np.zeros(inputs.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-inputs @ weights))
        gradient = inputs.T @ ((chance - labels) * counts) + penalty * weights
        curvature = (inputs * (chance * (1 - chance) * counts)[:, None]).T @ inputs + np.diag(penalty + 1e-9)
        step = np.linalg.solve(curvature, gradient)
        weights -= step
        if np.abs(step).max() < 1e-6:
            break
    return weights


def score(features: Floats, weights: Floats) -> Floats:
    """Return the log-odds of each candidate."""
    return np.asarray(features @ weights[:-1] + weights[-1])


def cross_validate(features: Floats, labels: Floats, importance: Floats) -> Floats:
    """Return the log-odds of each candidate from weights that were fitted without it."""
    fold = np.random.default_rng(1).permutation(len(labels)) % FOLDS
    scores = np.zeros(len(labels))
    for number in range(FOLDS):
        kept = fold != number
        weights = fit(features[kept], labels[kept], importance[kept])
        scores[~kept] = score(features[~kept], weights)
    return scores


def compute_auc(scores: Floats, labels: Floats) -> float:
    """Return the share of pairs of a lasting and a passing candidate that the scores order rightly."""
    lasting, passing = scores[labels == 1], scores[labels == 0]
    return float((lasting[:, None] > passing[None, :]).mean())


def main() -> None:
    """Fit, print the measures and, with --write, store the weights."""
    embedder = load_embedder(weights.embedder())
    if embedder is None:
        sys.exit("The embedder is not installed.")
    written = load("durability.jsonl") + load("held_out_durability.jsonl") + read_notes()
    # These rows have a sentence and no candidate. Their candidate vectors are set to zero below, so they
    # train only the weights for the sentence.
    sentences = [{"text": "", "source": row["text"], "keep": row["fact"]} for row in load("statements.jsonl")]
    rows = written + sentences + load("proposals.jsonl")
    vectors = embedder.embed([row["text"] for row in rows] + [row["source"] for row in rows]).astype(float)
    labels = np.array([float(row["keep"]) for row in rows])
    number = np.arange(len(rows))
    is_proposal = number >= len(written) + len(sentences)
    is_sentence = (number >= len(written)) & ~is_proposal
    vectors[: len(rows)][is_sentence] = 0.0
    importance = np.where(is_proposal, PROPOSALS_WEIGHT, np.where(is_sentence, SENTENCES_WEIGHT, 1.0))
    features = np.hstack([TEXT_SCALE * vectors[: len(rows)], vectors[len(rows) :]])
    scores = cross_validate(features, labels, importance)
    sorts = (("written", ~is_proposal & ~is_sentence), ("proposed by the model", is_proposal))
    for name, chosen in sorts:
        found, truth = scores[chosen], labels[chosen]
        print(f"{name}: {compute_auc(found, truth):.3f} of {len(truth)}")
        for least in (LASTING_FROM, DOUBTFUL_FROM):
            lost, kept = (found[truth == 1] < least).mean(), (found[truth == 0] >= least).mean()
            print(f"  from {least}: {lost:.1%} of the lasting ones lost, {kept:.1%} of the others kept")
    if "--write" in sys.argv:
        fitted, half = fit(features, labels, importance), vectors.shape[1]
        stored = {
            "text": (TEXT_SCALE * fitted[:half]).round(4).tolist(),
            "quote": fitted[half:-1].round(4).tolist(),
            "bias": round(float(fitted[-1]), 4),
            "lasting_from": LASTING_FROM,
            "doubtful_from": DOUBTFUL_FROM,
        }
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / f"{embedder.name}.json").write_text(json.dumps(stored) + "\n")


if __name__ == "__main__":
    main()
