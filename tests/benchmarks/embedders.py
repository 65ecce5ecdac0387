"""Compares the embedders of the catalogue: `python -m tests.benchmarks.embedders [--write] [name ...]`.

Measures how well each finds the fact that a question, a word or a request means, whether it recognises the
same fact in other words, and whether it tells topics apart, in several languages. The thresholds in
`chat/memory/cosines.py` and `chat/topics/match.py` come from these figures. Prints tables; there is no bar.
`--write` first computes the mean vectors of `chat/memory/typical_vectors.py` again.
"""

from __future__ import annotations

import itertools
import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from chat.llm import weights
from chat.llm.embedder import Embedder, load_embedder
from chat.memory.text_similarity import (
    extract_core_stems,
    has_same_numbers_names_negation,
    has_same_numbers_negation,
)
from chat.memory.typical_vectors import PATH, subtract_typical_fact, subtract_typical_message
from chat.topics.match import (
    THRESHOLDS_BY_EMBEDDER,
    Thresholds,
    TopicCandidate,
    choose_topic,
    compute_cosine,
    update_topic_vector,
)

DATA = Path(__file__).resolve().parents[1] / "memory" / "data"
Matrix = NDArray[np.float32]
CONVERSATIONS, SUBJECTS = 60, 6
MEASURED = "measured"  # the name under which thresholds are tried
TOPIC_THRESHOLDS = [(j, s) for j in (0.25, 0.3, 0.35, 0.4, 0.45) for s in (0.15, 0.2, 0.25, 0.3) if s < j]
TOPIC_THRESHOLDS.append((0.7, 0.7))  # that of Design 2


def main() -> int:
    """Measure the embedders that the command line names, or all that are installed; return the exit code."""
    names = [name for name in sys.argv[1:] if name != "--write"] or [
        e.name for e in weights.catalog().values() if e.purpose == "embedding"
    ]
    if "--write" in sys.argv:
        write_typical_vectors(load_embedder(weights.embedder()))
    for name in names:
        embedder = load_embedder(weights.entry_named(name, "embedding"))
        if embedder is None:
            print(f"{name} is not installed")
            continue
        print(f"\n== {name}")
        print_speed(embedder)
        print_matching(embedder)
        print_same_facts(embedder)
        print_words(embedder)
        print_requests(embedder)
        print_entities(embedder)
        print_topics(embedder)
    return 0


def write_typical_vectors(embedder: Embedder | None) -> None:
    """Compute the file of `chat/memory/typical_vectors.py` for the chosen embedder."""
    if embedder is None:
        raise SystemExit("the embedder is not installed")
    rows = load("matching")
    means = {
        f"{embedder.name}-{what}": embedder.embed([text for row in rows for text in row[key].values()])
        for what, key in (("facts", "fact"), ("messages", "question"))
    }
    np.savez(PATH, **{name: rows.mean(axis=0).astype(np.float16) for name, rows in means.items()})


def load(name: str) -> list[Any]:
    """Return the rows of a file of tests/memory/data."""
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text("utf-8").splitlines() if line]


def print_speed(embedder: Embedder) -> None:
    """Print the time of the first call, and of a sentence alone and among others."""
    texts = [text for row in load("topic_talk") for text in row["messages"]]
    began = time.perf_counter()
    embedder.embed(["warm"])
    loading = time.perf_counter() - began
    began = time.perf_counter()
    for text in texts:
        embedder.embed([text])
    alone = (time.perf_counter() - began) / len(texts)
    began = time.perf_counter()
    embedder.embed(texts)
    together = (time.perf_counter() - began) / len(texts)
    print(f"loading {loading:.2f} s; a sentence {1000 * alone:.2f} ms, among many {1000 * together:.2f} ms")


def print_matching(embedder: Embedder) -> None:
    """Print how often the fact that a question needs is the nearest of all, or among the nearest three."""
    rows = load("matching")
    print("\nfact of a question      first  of three   English fact first  of three   AUC")
    right_all: list[float] = []
    wrong_all: list[float] = []
    english = subtract_typical_fact(embedder.embed([row["fact"]["en"] for row in rows]), embedder.name)
    for language in rows[0]["question"]:
        asked = embedder.embed([row["question"][language] for row in rows])
        questions = subtract_typical_message(asked, embedder.name)
        facts = embedder.embed([row["fact"][language] for row in rows])
        facts = subtract_typical_fact(facts, embedder.name)
        own, across = questions @ facts.T, questions @ english.T
        right, wrong = split_pairs(own)
        right_all += right
        wrong_all += wrong
        shares = [count_ranks(own, n) for n in (1, 3)] + [count_ranks(across, n) for n in (1, 3)]
        cells = f"{shares[0]:5.0%}  {shares[1]:8.0%}   {shares[2]:18.0%}  {shares[3]:8.0%}"
        print(f"  {language:<20}  {cells}   {compute_auc(right, wrong):.3f}")
    print_thresholds("question and fact", right_all, wrong_all)


def print_same_facts(embedder: Embedder) -> None:
    """Print how well the cosine tells the same fact in other words from another fact.

    The pairs that share no word are mostly in two languages. Pairs that differ in numbers or negation, and
    those with a shared word that differ in names, count as 0, as in `consolidate.py`.
    """
    rows = load("same_facts")
    a, b = (embedder.embed([row[key] for row in rows]) for key in ("a", "b"))
    found: dict[tuple[bool, bool], list[float]] = {}
    for row, cosine in zip(rows, (a * b).sum(axis=1).tolist(), strict=True):
        shares_word = bool(extract_core_stems(row["a"]) & extract_core_stems(row["b"]))
        agrees = has_same_numbers_names_negation if shares_word else has_same_numbers_negation
        score = cosine if agrees(row["a"], row["b"]) else 0.0
        found.setdefault((shares_word, row["same"]), []).append(score)
    for shares_word, what in ((True, "with a shared word"), (False, "without one")):
        right, wrong = found[shares_word, True], found[shares_word, False]
        counts = f"{len(right)} equal and {len(wrong)} different pairs"
        print(f"\nthe same fact in two sentences {what}, {counts}: AUC {compute_auc(right, wrong):.3f}")
        print_thresholds("both sentences", right, wrong)
    facts = embedder.embed([row["fact"]["en"] for row in load("matching")])
    _, unrelated = split_pairs(facts @ facts.T)
    print("unrelated facts, 50/95/99 %:", np.round(np.quantile(unrelated, (0.5, 0.95, 0.99)), 2))


def print_words(embedder: Embedder) -> None:
    """Print which share of words finds its fact, by threshold, with the share of other facts found."""
    rows = load("meanings")
    facts = embedder.embed([row["fact"] for row in rows])
    print("\nsearch for one word")
    for language in rows[0]["words"]:
        words = embedder.embed([row["words"][language] for row in rows])
        print_thresholds(f"word in {language}", *split_pairs(words @ facts.T))


def print_requests(embedder: Embedder) -> None:
    """Print how often the nearest fact is the one that a request to forget means, and by which margin."""
    rows = load("meanings")
    facts = embedder.embed([row["fact"] for row in rows])
    print("\nrequests to forget; t: least cosine, m: least distance of the next; right / wrong / open")
    for language in rows[0]["forget"]:
        scores = embedder.embed([row["forget"][language] for row in rows]) @ facts.T
        line = []
        for least, margin in ((0.35, 0.15), (0.35, 0.1), (0.25, 0.15), (0.25, 0.1), (0.15, 0.1), (0.4, 0.0)):
            ordered = np.sort(scores, axis=1)
            clear = (ordered[:, -1] >= least) & (ordered[:, -1] - ordered[:, -2] >= margin)
            hit = scores.argmax(axis=1) == np.arange(len(rows))
            counts = f"{int((clear & hit).sum())}/{int((clear & ~hit).sum())}/{int((~clear).sum())}"
            line.append(f"t {least:.2f} m {margin:.2f}: {counts}")
        print(f"  {language}  " + "   ".join(line))


def print_entities(embedder: Embedder) -> None:
    """Print which share of other names finds its entity, and of names of other things any, by threshold."""
    rows = load("entity_names")
    known = [row for row in rows if row["entity"]]
    entities = embedder.embed([row["entity"] for row in known])
    right = []
    for place, row in enumerate(known):
        for vector in embedder.embed(row["names"]):
            scores = entities @ vector
            right.append(float(scores.max()) if scores.argmax() == place else -1.0)
    others = [name for row in rows if not row["entity"] for name in row["names"]]
    wrong = (embedder.embed(others) @ entities.T).max(axis=1).tolist()
    print_thresholds("other names of entities", right, wrong)


def print_topics(embedder: Embedder) -> None:
    """Print the figures of `simulate_topics` for each pair of thresholds."""
    rows = load("topic_talk")
    vectors = {text: v for row in rows for text, v in embed_rows(embedder, row["messages"])}
    print_follow_ups(rows, vectors)
    for languages in (("en",), ("de", "fr", "zh")):
        subjects = [row["messages"] for row in rows if row["language"] in languages]
        print(f"\ntopics, {' '.join(languages)}: follow-ups kept, new subjects opened, returns found, topics")
        for join, stay in TOPIC_THRESHOLDS:
            with mock.patch.dict(THRESHOLDS_BY_EMBEDDER, {MEASURED: Thresholds(join, stay)}):
                kept, opened, returned, count = simulate_topics(subjects, vectors)
            cells = f"kept {kept:4.0%}  opened {opened:4.0%}  returned {returned:4.0%}  {count:4.1f}"
            print(f"  join {join:.2f} stay {stay:.2f}   {cells} topics of {SUBJECTS}")


def embed_rows(embedder: Embedder, texts: Sequence[str]) -> Iterator[tuple[str, Matrix]]:
    """Yield each text with its vector."""
    yield from zip(texts, embedder.embed(texts), strict=True)


def print_follow_ups(rows: Sequence[Any], vectors: dict[str, Matrix]) -> None:
    """Print the cosines of follow-ups with the mean of their topic, and of other messages with it."""
    own, other = [], []
    for row in rows:
        topic: Matrix | None = None
        for seen, text in enumerate(row["messages"]):
            if topic is not None:
                own.append(compute_cosine(topic, vectors[text]))
            topic = update_topic_vector(topic, vectors[text], seen)
        strangers = [r for r in rows if r is not row and r["language"] == row["language"]]
        other += [compute_cosine(topic, vectors[r["messages"][0]]) for r in strangers if topic is not None]
    print("\nfollow-up and its topic, 5/50/90 %:", np.round(np.quantile(own, (0.05, 0.5, 0.9)), 2), end="; ")
    print("opening of another subject and the topic, 50/90/95 %:", end=" ")
    print(np.round(np.quantile(other, (0.5, 0.9, 0.95)), 2))


def simulate_topics(
    subjects: Sequence[Sequence[str]], vectors: dict[str, Matrix]
) -> tuple[float, float, float, float]:
    """Return the shares of follow-ups kept, new subjects opened and returns found, and the mean topic count.

    Each conversation has SUBJECTS subjects, each in two runs of three messages, in random order.
    """
    chance = random.Random(1)
    kept: list[bool] = []
    opened: list[bool] = []
    returned: list[bool] = []
    counts = []
    for _ in range(CONVERSATIONS):
        runs = shuffle_runs(chance.sample(range(len(subjects)), SUBJECTS), chance)
        topics: dict[int, tuple[Matrix, int]] = {}
        topic_of: dict[int, int] = {}
        active: int | None = None
        for subject, start in runs:
            for n, text in enumerate(subjects[subject][start : start + 3]):
                candidates = [TopicCandidate(key, v, frozenset()) for key, (v, _) in topics.items()]
                chosen = choose_topic(text, vectors[text], MEASURED, candidates, active)
                if n:
                    kept.append(chosen == active)
                elif start:
                    returned.append(chosen == topic_of[subject])
                elif active is not None:
                    opened.append(chosen is None)
                key = len(topics) if chosen is None else chosen
                topic_of.setdefault(subject, key)
                vector, seen = topics.get(key, (None, 0))
                topics[key] = update_topic_vector(vector, vectors[text], seen), seen + 1
                active = key
        counts.append(len(topics))
    means = [float(np.mean(flags)) for flags in (kept, opened, returned, counts)]
    return means[0], means[1], means[2], means[3]


def shuffle_runs(chosen: Sequence[int], chance: random.Random) -> list[tuple[int, int]]:
    """Return runs (subject, first message) in an order in which no subject follows itself."""
    while True:
        order = [subject for subject in chosen for _ in range(2)]
        chance.shuffle(order)
        if all(a != b for a, b in itertools.pairwise(order)):
            break
    seen: set[int] = set()
    runs = []
    for subject in order:
        runs.append((subject, 3 if subject in seen else 0))
        seen.add(subject)
    return runs


def split_pairs(scores: Matrix) -> tuple[list[float], list[float]]:
    """Return the cosines of the pairs that belong together, on the diagonal, and of all others."""
    diagonal = np.eye(len(scores), dtype=bool)
    return scores[diagonal].tolist(), scores[~diagonal].tolist()


def count_ranks(scores: Matrix, most: int) -> float:
    """Return the share of rows whose diagonal element is among the `most` highest."""
    own = scores.diagonal()[:, None]
    return float(((scores > own).sum(axis=1) < most).mean())


def compute_auc(right: Sequence[float], wrong: Sequence[float]) -> float:
    """Return the probability that a right pair has a higher score than a wrong one."""
    above = np.asarray(right)[:, None] - np.asarray(wrong)[None, :]
    return float((above > 0).mean() + (above == 0).mean() / 2)


def print_thresholds(what: str, right: Sequence[float], wrong: Sequence[float]) -> None:
    """Print the shares of right and of wrong pairs that reach each threshold."""
    print(f"  {what}: share of right / wrong pairs from a cosine on")
    cells = []
    for percent in range(5, 95, 5):
        floor = percent / 100
        shares = [float((np.asarray(scores) >= floor).mean()) for scores in (right, wrong)]
        cells.append(f"{floor:.2f}: {shares[0]:.0%} / {shares[1]:.1%}")
    for start in range(0, len(cells), 9):
        print("    " + "   ".join(cells[start : start + 9]))


if __name__ == "__main__":
    raise SystemExit(main())
