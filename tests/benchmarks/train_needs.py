"""Trains the classifier that tells which messages need past chats: `python -m tests.benchmarks.train_needs`.

The weights are those of `chat.past_chats.need_classifier`. Reads the labelled messages of `needs.jsonl`, each
the first of a chat, the questions of `answers.jsonl`, which all ask, and as messages that need nothing the
sentences of `statements.jsonl` of memory. Embeds each with the installed embedder, and fits three logistic
regressions: needs past conversations or not; of those that do, asks or only touches; and of the messages of
`follow_ups.jsonl`, each written after one with quotations, asks for more of the same or not. Prints by
cross-validation how well they separate. `--write` stores the weights. Needs the embedder; takes about a
minute.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.train_durability import DATA, Floats, compute_auc, cross_validate, fit

from chat.llm import weights  # isort: skip
from chat.llm.embedder import Embedder, load_embedder  # isort: skip
from chat.past_chats.need_classifier import FOLDER  # isort: skip

FOLDER_OF_DATA = Path(__file__).resolve().parents[1] / "past_chats" / "data"
# The best of 1, 3 and 5 on the messages of `tuning_messages.jsonl`.
SCALE = 3.0
# There are many times more statements than messages, so each counts less. Of 0.2, 0.5, 1 and 2 the smallest
# with which at most 3 % of other statements would be taken for messages with a need.
STATEMENTS_WEIGHT = 0.5
# How much the best sentence that is found adds, for each unit of its coverage and cosine, and the log-odds
# from which a message needs past conversations. Chosen on `tuning_messages.jsonl` and
# `held_out_messages.jsonl`, where 3 and 6 % of the ordinary messages have a need, and 90 and 88 % of those
# that ask. Of the questions of persons that were left out of `answers.jsonl`, 29 % then seem to need nothing;
# without that file, 44 %.
COVERAGE, COSINE, LEAST = 4.0, 2.0, 1.9


def embed(embedder: Embedder, texts: list[str]) -> Floats:
    """Return the scaled vectors of texts, float64 of shape (texts, dimensions)."""
    parts = [embedder.embed(texts[start : start + 64]) for start in range(0, len(texts), 64)]
    return SCALE * np.vstack(parts).astype(float)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file of JSON Lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def main() -> None:
    """Fit, print the measures and, with --write, store the weights."""
    embedder = load_embedder(weights.embedder())
    if embedder is None:
        sys.exit("The embedder is not installed.")
    rows = read_lines(FOLDER_OF_DATA / "needs.jsonl")
    for person in read_lines(FOLDER_OF_DATA / "answers.jsonl"):
        rows += [
            {"text": question["text"], "label": "asks", "lang": "answers"} for question in person["questions"]
        ]
    labels = np.array([row["label"] for row in rows])
    lines = (DATA / "statements.jsonl").read_text(encoding="utf-8").splitlines()
    vectors = embed(embedder, [row["text"] for row in rows])
    statements = embed(embedder, [json.loads(line)["text"] for line in lines])
    features = np.vstack([vectors, statements])
    has_need = np.concatenate([labels != "none", np.zeros(len(statements))]).astype(float)
    importance = np.concatenate([np.ones(len(rows)), np.full(len(statements), STATEMENTS_WEIGHT)])
    scores = cross_validate(features, has_need, importance)[: len(rows)]
    print(f"needs past conversations: {compute_auc(scores, (labels != 'none').astype(float)):.3f}")
    for language in sorted({row["lang"] for row in rows} - {"answers"}):
        mine = np.array([row["lang"] == language for row in rows])
        print(f"  {language}: {compute_auc(scores[mine], (labels[mine] != 'none').astype(float)):.3f}")
    needing, asks = vectors[labels != "none"], (labels[labels != "none"] == "asks").astype(float)
    print(f"asks: {compute_auc(cross_validate(needing, asks, np.ones(len(asks))), asks):.3f}")
    following = read_lines(FOLDER_OF_DATA / "follow_ups.jsonl")
    follow_vectors = embed(embedder, [row["text"] for row in following])
    follows = np.array([row["label"] == "detail" for row in following]).astype(float)
    held = cross_validate(follow_vectors, follows, np.ones(len(follows)))
    print(f"follows: {compute_auc(held, follows):.3f}")
    if "--write" in sys.argv:
        needs, asking = fit(features, has_need, importance), fit(needing, asks)
        follow = fit(follow_vectors, follows)
        stored = {
            "needs": (SCALE * needs[:-1]).round(4).tolist(),
            "needs_bias": round(float(needs[-1]), 4),
            "asks": (SCALE * asking[:-1]).round(4).tolist(),
            "asks_bias": round(float(asking[-1]), 4),
            "follows": (SCALE * follow[:-1]).round(4).tolist(),
            "follows_bias": round(float(follow[-1]), 4),
            "coverage": COVERAGE,
            "cosine": COSINE,
            "least": LEAST,
        }
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / f"{embedder.name}.json").write_text(json.dumps(stored) + "\n")


if __name__ == "__main__":
    main()
