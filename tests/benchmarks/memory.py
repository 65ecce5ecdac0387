"""How long memory takes in the way of a reply: `python -m tests.benchmarks.memory`.

Prints a table with the median and the 95th percentile of each measure, and exits with 1 when a bar is missed.
Tokens are counted with a real tokenizer; embedding the message is apart.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

os.environ["DATA_DIR"] = tempfile.mkdtemp(prefix="memoryapp-benchmark-")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")

import django

django.setup()

import numpy as np  # noqa: E402
from django.contrib.auth import get_user_model  # noqa: E402
from django.core.management import call_command  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from chat.actions.looks import record_look  # noqa: E402
from chat.actions.owners import default_app, local_owner  # noqa: E402
from chat.context.budget import memory_budget  # noqa: E402
from chat.context.known import prototypes, weigh  # noqa: E402
from chat.context.memory import Memory  # noqa: E402
from chat.context.prompt import DEFAULT_PERSONA, build  # noqa: E402
from chat.llm.llama import LlamaProvider  # noqa: E402
from chat.llm.registry import registry  # noqa: E402
from chat.llm.types import Completion  # noqa: E402
from chat.memory.asking import forget_texts  # noqa: E402
from chat.memory.consolidate import decide  # noqa: E402
from chat.memory.extract import Candidate, Extraction  # noqa: E402
from chat.memory.judge import consider  # noqa: E402
from chat.memory.relevance import sights  # noqa: E402
from chat.models import Conversation, Fact, Message  # noqa: E402
from tests.benchmarks import talk  # noqa: E402
from tests.benchmarks.counting import tokenizer  # noqa: E402
from tests.benchmarks.timings import Row, printed  # noqa: E402

ONE_OWNERS_FACTS = 150
OWNERS, FACTS_AN_OWNER = 1000, 100
HISTORY_TOKENS = 4000
ROUNDS = 300
WARM_UP = 5
SENTENCES = (
    ("project", "building", "User is building a {} for the {}"),
    ("project", "learning", "User is learning how to repair a {}"),
    ("preference", "likes", "User likes the {} more than the {}"),
    ("preference", "dislikes", "User dislikes {} in a {}"),
    ("preference", "reply_style", "User wants answers about {} in short sentences"),
    ("identity", "family", "User's sister has a {} and a {}"),
    ("identity", "health", "User is allergic to {}"),
    ("identity", "home", "User lives near the {} of the old {}"),
)
THINGS = [
    *("boat", "garden", "piano", "bread", "kettle", "harbour", "winter", "market", "bees", "lantern"),
    *("bicycle", "novel", "forest", "kitchen", "train", "mirror", "guitar", "orchard", "tunnel", "castle"),
    *("camera", "library", "museum", "balcony", "engine", "violin", "cellar", "meadow", "telescope"),
]
QUESTIONS = (
    "What should I cook for my sister on Saturday?",
    "How do I repair the engine of a boat?",
    "What can I do in my city this weekend?",
    "Which guitar is best for a beginner?",
    "Explain how a telescope works.",
    "What do you know about me?",
)


class Ready:
    """An embedder whose answer is there already: embedding the message is measured apart."""

    name = "minilm-l6-int8"

    def __init__(self, vector: NDArray[np.float32]) -> None:
        self.vector = vector

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the one vector for each text."""
        return np.repeat(self.vector[None, :], len(texts), axis=0)


def main() -> int:
    """Run every measurement and print the table; returns the exit code."""
    call_command("migrate", verbosity=0)
    provider = tokenizer()
    registry.use(provider, embedder=Ready(unit(0)))  # type: ignore[arg-type]
    try:
        rows = [*among_one_owners(provider), *consolidating(), *among_all(provider)]
    finally:
        provider.close()
    return printed(rows)


def among_one_owners(provider: LlamaProvider) -> Iterator[Row]:
    """Measure a turn after 4,000 tokens whose owner has 150 facts: a fresh block, then the note."""
    owner = local_owner()
    Fact.objects.bulk_create(facts_of(owner, ONE_OWNERS_FACTS, 1))
    conversation, history = talked(owner, provider)
    message = history[-1]
    earlier = history[:-1]
    budget = memory_budget(provider.context_window, provider.count_text(DEFAULT_PERSONA))
    memory = Memory.of(conversation, message, provider, budget)
    known = memory.known
    vectors = {f.id: unit(i).tobytes() for i, f in enumerate(known.facts)}
    examples = prototypes(registry.embedder())  # type: ignore[arg-type]

    def choose() -> None:
        seen = sights(unit(0), vectors, examples)
        known.relevance.update(weigh(known.facts, known.ask, seen, Ready.name))
        memory.note(memory.fresh_block()[0], earlier)

    def whole() -> None:
        fresh = Memory.of(conversation, message, provider, budget)
        fresh.note(fresh.fresh_block()[0], earlier)

    yield Row(f"select and budget among {ONE_OWNERS_FACTS} facts", timed(choose, ROUNDS), 5)
    yield Row("  the same, reading them from the database", timed(whole, ROUNDS), None)
    yield Row(
        f"  the whole prompt, {HISTORY_TOKENS:,} tokens of history read and counted",
        timed(lambda: build(conversation, message, provider), ROUNDS // 5),
        None,
    )


class Adds:
    """A model that answers at once, so that what is measured is all but the model."""

    def complete(self, *args: Any, **options: Any) -> Completion:
        """Return the answer that changes nothing."""
        return Completion("ADD")


def consolidating() -> Iterator[Row]:
    """Measure what one candidate costs among the 150 facts of an owner, the model's answer apart."""
    owner = local_owner()
    live = list(Fact.objects.for_owner(owner).live())
    numbers = iter(range(10_000))

    def candidate() -> Candidate:
        text = f"User plays the trombone in band {next(numbers)} on Sundays"
        return Candidate(text, "habit", "preference", "", False, f"I play it now: {text}")

    def consolidate() -> None:
        new = candidate()
        consider(Adds(), new, unit(9999), live, Ready.name)  # type: ignore[arg-type]
        decide(new, unit(9999), live, Ready.name)

    def unread() -> None:
        forget_texts()
        consolidate()

    def store() -> None:
        new = candidate()
        _, message = first_turn(owner, new.quote)
        record_look(message, Extraction([new]), [unit(next(numbers))], Ready.name, 0.0)

    yield Row(f"consolidate one candidate among {len(live)} facts", timed(consolidate, ROUNDS), 20)
    yield Row("  the same, where no fact has been read before", timed(unread, ROUNDS // 5), 20)
    yield Row("  storing it: one transaction with its events", timed(store, ROUNDS // 10), None)


def among_all(provider: LlamaProvider) -> Iterator[Row]:
    """Measure first turns of many owners: nothing is remembered of their facts, and the query is included."""
    users = get_user_model().objects.bulk_create(
        get_user_model()(username=f"owner {n}") for n in range(OWNERS)
    )
    for start in range(0, FACTS_AN_OWNER, 5):
        # Interleaved, as they come in life: one owner's rows lie apart.
        Fact.objects.bulk_create(
            fact
            for n in range(5)
            for i, user in enumerate(users)
            for fact in facts_of(user, 1, start + n + 1000 * i)
        )
    print(f"{Fact.objects.count():,} facts of {OWNERS:,} owners")
    plan = Fact.objects.for_owner(users[0]).live().explain()
    print("query plan:", plan)
    if "fact_shelf" not in plan:
        raise RuntimeError("the owner's facts are read without their index")
    rng = random.Random(1)
    turns = iter([first_turn(user, rng.choice(QUESTIONS)) for user in rng.sample(users, ROUNDS + WARM_UP)])
    budget = memory_budget(provider.context_window, provider.count_text(DEFAULT_PERSONA))

    def choose() -> None:
        memory = Memory.of(*next(turns), provider, budget)
        memory.note(memory.fresh_block()[0], [])

    yield Row(
        f"select and budget among {OWNERS * FACTS_AN_OWNER:,} facts of {OWNERS:,} owners, query included",
        timed(choose, ROUNDS),
        10,
    )


def timed(work: Callable[[], None], rounds: int) -> list[float]:
    """Return the milliseconds of each round, after a few that do not count."""
    for _ in range(WARM_UP):
        work()
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        taken.append((time.perf_counter() - began) * 1000)
    return taken


def facts_of(owner: Any, count: int, seed: int) -> Iterator[Fact]:
    """Return so many facts of all sorts, with vectors."""
    rng = random.Random(seed)
    for n in range(count):
        category, kind, sentence = rng.choice(SENTENCES)
        yield Fact(
            owner=owner,
            text=sentence.format(rng.choice(THINGS), rng.choice(THINGS)) + f" since {seed + n}",
            category=category,
            kind=kind,
            confidence=rng.choice((0.6, 0.75, 0.9)),
            embedding=unit(seed + n).tobytes(),
            embedder=Ready.name,
        )


def unit(seed: int) -> NDArray[np.float32]:
    """Return a vector of unit length that depends on the seed alone."""
    vector = np.random.default_rng(seed).normal(size=384).astype(np.float32)
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


def talked(owner: Any, provider: LlamaProvider) -> tuple[Conversation, list[Message]]:
    """Return a conversation of about 4,000 tokens, and its messages with a new question at the end."""
    conversation = Conversation.objects.create(owner=owner, app=default_app(owner))
    contents: list[str] = []
    while sum(map(provider.count_text, contents)) < HISTORY_TOKENS:
        contents += talk.TALK[len(contents) // 2 % len(talk.TALK)]
    contents.append(QUESTIONS[0])
    messages = [
        Message(conversation=conversation, seq=i, role="assistant" if i % 2 == 0 else "user", content=text)
        for i, text in enumerate(contents, start=1)
    ]
    return conversation, Message.objects.bulk_create(messages)


def first_turn(owner: Any, question: str) -> tuple[Conversation, Message]:
    """Return a new conversation and its first message."""
    conversation = Conversation.objects.create(owner=owner, app=default_app(owner))
    return conversation, Message.objects.create(
        conversation=conversation, seq=1, role="user", content=question
    )


if __name__ == "__main__":
    sys.exit(main())
