"""Trains the classifier of `chat.memory.request_classifier`: `python -m tests.benchmarks.train_requests`.

Reads the labelled sentences of `tests/memory/data/request_sentences.jsonl` and fits two softmax regressions:
one to the suspects among them, with the installed embedder's vectors and the features as inputs, and one to
the vectors of all of them, with the sentences of `statements.jsonl` and `effects.jsonl`, which ask nothing.
Prints the share of sentences whose kind is right by cross-validation: of the suspects alone and after the
wordings, and of all sentences the share found of each kind and the requests that are none. `--write` stores
the weights. Takes about two minutes.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import django
import numpy as np
from numpy.typing import NDArray

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")
django.setup()

from chat.llm.embedder import Embedder  # noqa: E402
from chat.llm.registry import registry  # noqa: E402
from chat.memory.memory_requests import RequestKind, find_worded_request  # noqa: E402
from chat.memory.request_classifier import FOLDER, KINDS, build_inputs, choose_kind, compute_probabilities  # noqa: E402
from chat.memory.request_features import Suspect, find_suspect  # noqa: E402

DATA = Path(__file__).resolve().parents[1] / "memory" / "data"
# The best of 0.0005, 0.001, 0.002 and 0.004 by cross-validation, for both embedders.
PENALTY = 0.002
THRESHOLDS = [round(0.3 + 0.02 * step, 2) for step in range(35)]
# Not lower: a request in plain words must be obeyed.
VETOES = [0.9, 0.95, 2.0]
# A false request may delete something, which can be undone. Of the suspects in ordinary talk about one in
# thirty is a request, of the labelled ones two in three; most of the others were written to look like one.
FALSE_REQUEST_COST = 5
# For sentences without suspicious words: the penalty, the best of 0.00001, 0.00005 and 0.0002, and the least
# probability of a request, from which on one statement in 1,500 is taken for one.
SENTENCE_PENALTY, SENTENCE_THRESHOLD = 0.00001, 0.85
STEPS = 400
RATE, SENTENCE_RATE = 0.02, 0.05
FOLDS = 5
Floats = NDArray[np.float32]
Labels = NDArray[np.int64]


def load_suspects() -> tuple[list[Suspect], Labels]:
    """Return the labelled sentences that are suspects, and their kinds as indices of KINDS."""
    texts, labels = load_sentences()
    found = [find_suspect(text) for text in texts]
    suspects = [suspect for suspect in found if suspect is not None]
    return suspects, labels[[suspect is not None for suspect in found]]


def load_sentences() -> tuple[list[str], Labels]:
    """Return all labelled sentences, with the statements, which ask nothing, and their kinds."""
    requests = read("request_sentences.jsonl")
    texts = [row["sentence"] for row in requests]
    labels = [KINDS.index(row["kind"]) for row in requests]
    texts += [row["text"] for row in read("statements.jsonl")]
    texts += [
        text
        for row in read("effects.jsonl")
        for name in ("replaced", "holds", "repeats")
        for text in row[name]
    ]
    return texts, np.array(labels + [0] * (len(texts) - len(labels)))


def read(name: str) -> list[dict[str, Any]]:
    """Return the rows of a file."""
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def fit(inputs: Floats, labels: Labels, penalty: float = PENALTY, rate: float = RATE) -> Floats:
    """Return the weights (inputs + 1 rows, kinds as columns), by the full gradient with Adam.

    A kind with fewer sentences counts more.
    """
    rows = np.concatenate([inputs, np.ones((len(inputs), 1), dtype=np.float32)], axis=1)
    wanted = np.eye(len(KINDS), dtype=np.float32)[labels]
    counts = np.maximum(np.bincount(labels, minlength=len(KINDS)), 1)
    share = np.sqrt(len(labels) / (len(KINDS) * counts))[labels][:, None]
    matrix = np.zeros((rows.shape[1], len(KINDS)), dtype=np.float32)
    mean, square = np.zeros_like(matrix), np.zeros_like(matrix)
    for step in range(1, STEPS + 1):
        slope = rows.T @ ((compute_probabilities(inputs, matrix) - wanted) * share) / len(rows)
        slope[:-1] += penalty * matrix[:-1]
        mean = 0.9 * mean + 0.1 * slope
        square = 0.999 * square + 0.001 * slope**2
        matrix -= rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return np.asarray(matrix, dtype=np.float32)


def cross_validate(inputs: Floats, labels: Labels) -> Floats:
    """Return the probabilities of each row by weights that were trained without it."""
    fold = np.random.default_rng(0).permutation(len(labels)) % FOLDS
    found = np.zeros((len(labels), len(KINDS)), dtype=np.float32)
    for number in range(FOLDS):
        held = fold == number
        found[held] = compute_probabilities(inputs[held], fit(inputs[~held], labels[~held]))
    return found


def train_sentences(embedder: Embedder) -> Floats:
    """Return the weights for all sentences; print what weights of four fifths find in the others."""
    texts, labels = load_sentences()
    inputs = np.concatenate([embedder.embed(texts[i : i + 256]) for i in range(0, len(texts), 256)])
    fold = np.random.default_rng(0).permutation(len(labels)) % FOLDS
    train = fold != 0
    matrix = fit(inputs[train], labels[train], SENTENCE_PENALTY, SENTENCE_RATE)
    found = take_likely(compute_probabilities(inputs[~train], matrix), SENTENCE_THRESHOLD)
    for number, kind in enumerate(KINDS):
        of_kind = labels[~train] == number
        print(f"sentences, {kind}: {(found[of_kind] == number).mean():.3f} of {of_kind.sum()} right")
    return fit(inputs, labels, SENTENCE_PENALTY, SENTENCE_RATE)


def count_cost(kinds: Labels, labels: Labels) -> int:
    """Return the number of errors, of which a sentence that is none and is taken for a request counts
    FALSE_REQUEST_COST times.
    """
    false = (labels == 0) & (kinds != 0)
    return int((kinds != labels).sum() + (FALSE_REQUEST_COST - 1) * false.sum())


def choose_cheapest(candidates: Sequence[float], found: Sequence[Labels], labels: Labels) -> float:
    """Return the candidate whose kinds cost least; of several the middle one."""
    costs = [count_cost(kinds, labels) for kinds in found]
    cheapest = [one for one, cost in zip(candidates, costs, strict=True) if cost == min(costs)]
    return cheapest[len(cheapest) // 2]


def take_likely(probabilities: Floats, threshold: float) -> Labels:
    """Return the kinds by the classifier alone."""
    return np.array([KINDS.index(choose_kind(row, threshold)) for row in probabilities])


def take_worded(worded: Labels, likely: Labels, probabilities: Floats, veto: float) -> Labels:
    """Return the kinds by wordings and classifier, as `find_request` combines them."""
    is_vetoed = (probabilities[:, 0] >= veto) & (worded != KINDS.index(RequestKind.KEEP_OUT))
    return np.where(worded == 0, likely, np.where(is_vetoed, 0, worded))


def main() -> None:
    """Fit, print the measures and, with --write, store the weights."""
    registry._load_embedder()
    embedder = registry.embedder()
    if embedder is None:
        sys.exit("The weights of the embedder are not installed.")
    suspects, labels = load_suspects()
    inputs = build_inputs(suspects, embedder)
    probabilities = cross_validate(inputs, labels)
    found = [find_worded_request(suspect.text) for suspect in suspects]
    worded = np.array([KINDS.index(one.kind) if one is not None else 0 for one in found])
    threshold = choose_cheapest(THRESHOLDS, [take_likely(probabilities, t) for t in THRESHOLDS], labels)
    likely = take_likely(probabilities, threshold)
    veto = choose_cheapest(VETOES, [take_worded(worded, likely, probabilities, v) for v in VETOES], labels)
    both = take_worded(worded, likely, probabilities, veto)
    print(f"threshold {threshold}, veto {veto}")
    for name, kinds in (("wordings", worded), ("classifier", likely), ("both", both)):
        false = int(((labels == 0) & (kinds != 0)).sum())
        print(
            f"{name}: {(kinds == labels).mean():.3f} of {len(labels)} right, {false} requests that are none"
        )
    sentences = {"threshold": SENTENCE_THRESHOLD, "matrix": train_sentences(embedder).round(3).tolist()}
    if "--write" in sys.argv:
        FOLDER.mkdir(exist_ok=True)
        matrix = fit(inputs, labels).round(3).tolist()
        stored = {"threshold": threshold, "veto": veto, "matrix": matrix, "sentences": sentences}
        (FOLDER / f"{embedder.name}.json").write_text(json.dumps(stored) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
