"""Trains the ranking of past sentences: `python -m tests.benchmarks.train_ranking [FOLDER] [--write]`.

It fits two sets of weights: `WEIGHTS` of `chat.past_chats.scoring`, which sort all sentences that a search
finds, and those of `chat.past_chats.reranker`, which sort the best of them again. The training makes the
sentences likely that answer a question. The questions are those of `answers.jsonl`, of
`tuning_messages.jsonl` and, if FOLDER is `chats/100K` of the set BEAM, of its chats 1 to 10.

By cross-validation over persons it prints how often an answer is among the first sentences: with the present
`WEIGHTS`, with newly fitted ones, and after the reranker. Then it prints the new `WEIGHTS`, to be copied;
`--write` stores the weights of the reranker. Takes about three minutes.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import time_machine
from numpy.typing import NDArray

# The import of this module sets Django up.
from .answers import DATA, is_answer, store_chats  # isort: skip

from chat.actions.owners import default_app, ensure_owner
from chat.llm.embedder import Embedder
from chat.models import User
from chat.past_chats.ranking import MOST_EMBEDDED, RankedSentence, list_usable_conversations, rank_sentences
from chat.past_chats.reranker import FOLDER, Weights, score_again
from chat.past_chats.scoring import WEIGHTS

from .adam import Adam
from .default_tokenizer import prepare_benchmark
from .pair_training import store_weights

FIRST = (1, 3, 5, 10, 16)
FOLDS = 5
STEPS, RATE = 150, 0.03
# The penalties on the squares of the weights, and the dimensions of the bilinear part: 60 and 100 separate
# alike. A bilinear penalty of 0.01 or 0.06 changes no share of answers by more than a point.
PENALTY, BILINEAR_PENALTY, PROJECTED = 0.001, 0.03, 60
Floats = NDArray[Any]


@dataclass
class Question:
    """A question with the sentences found for it: their inputs, their vectors and which of them answer it."""

    source: str
    person: Any
    vector: Floats
    inputs: Floats
    vectors: Floats
    is_right: Floats


Judge = Callable[[RankedSentence], bool]


def rank(source: str, owner: User, text: str, judge: Judge, embedder: Embedder) -> Iterator[Question]:
    """Yield the question with the sentences found for it, nothing where there are fewer than two."""
    vector = embedder.embed([text])[0]
    usable = list_usable_conversations(owner, default_app(owner))
    found = rank_sentences(owner, usable, text, embedder.name, vector)
    if len(found) > 1:
        inputs = np.stack([one.inputs for one in found])
        vectors = embedder.embed([one.text for one in found])
        yield Question(source, owner.pk, vector, inputs, vectors, np.array([judge(one) for one in found]))


def read_persons(path: Path, embedder: Embedder) -> Iterator[Question]:
    """Yield the questions of a file such as `answers.jsonl`."""

    def look_for(answers: list[str]) -> Judge:
        return lambda one: is_answer(one.text, answers)

    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        person = json.loads(line)
        owner = ensure_owner(f"{path.stem} {number}")
        store_chats(owner, person["chats"], embedder)
        for asked in person["questions"]:
            yield from rank(path.stem, owner, asked["text"], look_for(asked["answers"]), embedder)


def read_messages(embedder: Embedder) -> Iterator[Question]:
    """Yield the questions with an answer of `tuning_messages.jsonl`."""

    def look_for(answer: str) -> Judge:
        return lambda one: answer in one.text.casefold()

    chats = json.loads((DATA.parent / "tuning_chats.json").read_text(encoding="utf-8"))
    owner = ensure_owner("tuning")
    store_chats(owner, [[[m["role"], m["content"]] for m in chat] for chat in chats], embedder)
    for line in (DATA.parent / "tuning_messages.jsonl").read_text(encoding="utf-8").splitlines():
        asked = json.loads(line)
        if asked["answer"]:
            yield from rank("tuning", owner, asked["text"], look_for(asked["answer"].casefold()), embedder)


def read_beam(folder: Path, embedder: Embedder) -> Iterator[Question]:
    """Yield the questions of BEAM's chats 1 to 10.

    BEAM names the messages with the evidence, so all sentences of these messages count as answers.
    """
    from . import beam

    def look_for(numbers: dict[Any, int], evidence: set[int]) -> Judge:
        return lambda one: numbers[one.message.pk] in evidence

    for number in range(1, 11):
        chat = beam.load_chat(folder, str(number), extracts=False)
        beam.index_chat(chat)
        path = folder / str(number) / "probing_questions" / "probing_questions.json"
        kinds = json.loads(path.read_text(encoding="utf-8")).values()
        with time_machine.travel(chat.day):
            for asked in itertools.chain.from_iterable(kinds):
                evidence = set(beam.find_numbers(asked.get("source_chat_ids", [])))
                if evidence:
                    judge = look_for(chat.numbers, evidence)
                    yield from rank("BEAM", chat.owner, asked["question"], judge, embedder)


def fit(questions: list[Question], *, embeds: bool) -> Weights:
    """Return weights with which the sentences that answer a question get high scores.

    With `embeds` the vectors of the sentences have weights too, as the reranker needs; otherwise only the
    inputs of `scoring` have. An input that has the same value everywhere keeps its weight in `WEIGHTS`.
    """
    every = np.vstack([*(one.vectors for one in questions), *(one.vector[None] for one in questions)])
    _, axes = np.linalg.eigh(np.cov(every, rowvar=False))
    mean, projection = every.mean(axis=0), axes[:, ::-1][:, :PROJECTED]
    start = Weights(np.zeros(0), mean, projection, np.zeros(PROJECTED), np.zeros((PROJECTED, PROJECTED)))
    inputs = [add_cosine(one, embeds) for one in questions]
    spread = np.vstack(inputs).std(axis=0)
    constant = spread == 0
    spread[constant] = 1
    sets = [
        (inside / spread, start.project(one.vectors), start.project(one.vector), one.is_right)
        for inside, one in zip(inputs, questions, strict=True)
    ]
    linear = np.zeros(len(spread))
    trained: dict[str, Floats] = {"linear": linear}
    if embeds:
        trained |= {"sentence": start.sentence, "bilinear": start.bilinear}
    optimiser = Adam(trained, dict.fromkeys(trained, RATE))
    for _ in range(STEPS):
        slopes: dict[str, Floats] = {"linear": PENALTY * linear}
        slopes |= {"sentence": PENALTY * start.sentence, "bilinear": BILINEAR_PENALTY * start.bilinear}
        for inside, sentences, question, is_right in sets:
            scores = inside @ linear + sentences @ (start.sentence + question @ start.bilinear)
            wrong = compare_with_right(scores, is_right) / len(sets)
            slopes["linear"] = slopes["linear"] + inside.T @ wrong
            if embeds:
                column = sentences.T @ wrong
                slopes["sentence"] = slopes["sentence"] + column
                slopes["bilinear"] = slopes["bilinear"] + np.outer(question, column)
        optimiser.change({name: slopes[name] for name in trained})
    today = np.array([*WEIGHTS.values(), *[0.0] * embeds])
    linear = np.where(constant, today, linear / spread)
    return Weights(linear, mean, projection, start.sentence, start.bilinear)


def add_cosine(question: Question, embeds: bool) -> Floats:
    """Return the inputs of the sentences, with `embeds` followed by their own cosines."""
    if not embeds:
        return question.inputs
    return np.hstack([question.inputs, (question.vectors @ question.vector)[:, None]])


def compare_with_right(scores: Floats, is_right: Floats) -> Floats:
    """Return by how much the likelihood of each sentence is above that among the right ones."""
    likely = np.exp(scores - scores.max())
    likely = likely / likely.sum()
    right = likely * is_right
    return np.asarray(likely - right / max(right.sum(), 1e-12))


def order(question: Question, first: Weights, second: Weights) -> tuple[Floats, Floats]:
    """Return which sentences are right, in the order of the first weights and after the second."""
    ranked = np.argsort(-(question.inputs @ first.linear))
    best = ranked[:MOST_EMBEDDED]
    scores = score_again(question.inputs[best], question.vectors[best], question.vector, second)
    again = np.concatenate([best[np.argsort(-scores)], ranked[MOST_EMBEDDED:]])
    return question.is_right[ranked], question.is_right[again]


def print_shares(questions: list[Question]) -> None:
    """Print the shares of questions with an answer among the first sentences, by cross-validation."""
    persons = sorted({one.person for one in questions}, key=str)
    orders: dict[tuple[str, str], list[Floats]] = {}
    for number in range(FOLDS):
        left_out = set(persons[number::FOLDS])
        known = [one for one in questions if one.person not in left_out and one.is_right.any()]
        first, second = fit(known, embeds=False), fit(known, embeds=True)
        for one in questions:
            if one.person in left_out:
                ranked, again = order(one, first, second)
                for name, right in (("today", one.is_right), ("scored", ranked), ("again", again)):
                    orders.setdefault((one.source, name), []).append(right)
    print("an answer is among the first", *FIRST)
    for (source, name), found in orders.items():
        shares = [f"{np.mean([right[:most].any() for right in found]):.0%}" for most in FIRST]
        print(f"  {source} {name}, {len(found)} questions:", *shares)


def main() -> None:
    """Rank, fit, print the measures and, with --write, store the weights of the reranker."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    embedder, _ = prepare_benchmark()
    questions = [*read_persons(DATA, embedder), *read_messages(embedder)]
    if options.folder:
        questions += read_beam(options.folder, embedder)
    print_shares(questions)
    known = [one for one in questions if one.is_right.any()]
    first = fit(known, embeds=False).linear
    print({name: round(float(weight), 2) for name, weight in zip(WEIGHTS, first, strict=True)})
    if options.write:
        store_weights(fit(known, embeds=True), FOLDER, embedder.name)


if __name__ == "__main__":
    main()
