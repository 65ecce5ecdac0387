"""Time that memory adds before a reply starts: `python -m tests.benchmarks.memory`.

Prints a table with the median and the 95th percentile of each measure, and exits with 1 when a bar is missed.
Tokens are counted with a real tokenizer; the time to embed the message is not included.
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

from chat.actions.extraction import record_extraction  # noqa: E402
from chat.actions.owners import default_app, local_owner  # noqa: E402
from chat.context.budget import MEMORY_MAX  # noqa: E402
from chat.context.memory import TurnMemory  # noqa: E402
from chat.context.prompt import build_prompt  # noqa: E402
from chat.llm.llama import LlamaProvider  # noqa: E402
from chat.llm.registry import registry  # noqa: E402
from chat.llm.types import Completion  # noqa: E402
from chat.memory.candidates import Extraction, FactCandidate  # noqa: E402
from chat.memory.consolidate import decide_action  # noqa: E402
from chat.memory.judge import judge_candidate  # noqa: E402
from chat.memory.query_intent import clear_text_caches  # noqa: E402
from chat.memory.relevance import compare_vectors, compute_relevance  # noqa: E402
from chat.models import Conversation, Fact, Message  # noqa: E402
from tests.benchmarks import sample_talk  # noqa: E402
from tests.benchmarks.default_tokenizer import load_tokenizer  # noqa: E402
from tests.benchmarks.timings import Row, print_table  # noqa: E402

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


class FixedEmbedder:
    """An embedder that returns one fixed vector at once, because embedding is measured separately."""

    name = "use-multilingual-v3"

    def __init__(self, vector: NDArray[np.float32]) -> None:
        self.vector = vector

    def knows_word(self, word: str) -> bool:
        """Return True: no name is looked for."""
        return True

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the fixed vector for each text."""
        return np.repeat(self.vector[None, :], len(texts), axis=0)


def main() -> int:
    """Run every measurement and print the table; returns the exit code."""
    call_command("migrate", verbosity=0)
    provider = load_tokenizer()
    registry.use(provider, embedder=FixedEmbedder(make_unit_vector(0)))  # type: ignore[arg-type]
    try:
        rows = [*measure_one_owner(provider), *measure_consolidation(), *measure_many_owners(provider)]
    finally:
        provider.close()
    return print_table(rows)


def measure_one_owner(provider: LlamaProvider) -> Iterator[Row]:
    """Measure a turn after 4,000 tokens of history with 150 facts: a new block and then the note."""
    owner = local_owner()
    Fact.objects.bulk_create(make_facts(owner, ONE_OWNERS_FACTS, 1))
    conversation, history = make_conversation(owner, provider)
    message = history[-1]
    earlier = history[:-1]
    memory = TurnMemory.load(conversation, message, provider)
    known = memory.relevant
    vectors = {f.id: make_unit_vector(i).tobytes() for i, f in enumerate(known.facts)}
    texts = {f.id: f.text for f in known.facts}
    kinds = {f.id: f.kind for f in known.facts}

    def choose() -> None:
        relevant = compare_vectors(make_unit_vector(0), vectors, kinds, FixedEmbedder.name)
        known.relevance.update(compute_relevance(known.ask.terms, texts, relevant))
        memory.build_note(memory.build_block(MEMORY_MAX)[0], earlier, lambda: MEMORY_MAX)

    def whole() -> None:
        fresh = TurnMemory.load(conversation, message, provider)
        fresh.build_note(fresh.build_block(MEMORY_MAX)[0], earlier, lambda: MEMORY_MAX)

    yield Row(f"select and budget among {ONE_OWNERS_FACTS} facts", time_rounds(choose, ROUNDS), 5)
    yield Row("  the same, reading them from the database", time_rounds(whole, ROUNDS), None)
    yield Row(
        f"  the whole prompt, {HISTORY_TOKENS:,} tokens of history read and counted",
        time_rounds(lambda: build_prompt(conversation, message, provider), ROUNDS // 5),
        None,
    )


class AddingModel:
    """A model that answers at once, so that the time of the model is not measured."""

    def complete(self, *args: Any, **options: Any) -> Completion:
        """Return the answer that adds the candidate and changes no other fact."""
        return Completion("ADD")


def measure_consolidation() -> Iterator[Row]:
    """Measure one candidate among the 150 facts of an owner, without the model's time."""
    owner = local_owner()
    live = list(Fact.objects.for_owner(owner).live())
    numbers = iter(range(10_000))

    def candidate() -> FactCandidate:
        text = f"User plays the trombone in band {next(numbers)} on Sundays"
        return FactCandidate(text, "habit", "preference", "", False, f"I play it now: {text}")

    def consolidate() -> None:
        new = candidate()
        judge_candidate(AddingModel(), new, make_unit_vector(9999), live, FixedEmbedder.name)  # type: ignore[arg-type]
        decide_action(new, make_unit_vector(9999), live, FixedEmbedder.name)

    def consolidate_uncached() -> None:
        clear_text_caches()
        consolidate()

    def store() -> None:
        new = candidate()
        _, message = make_first_turn(owner, new.quote)
        record_extraction(
            message, Extraction([new]), [make_unit_vector(next(numbers))], FixedEmbedder.name, 0.0
        )

    yield Row(f"consolidate one candidate among {len(live)} facts", time_rounds(consolidate, ROUNDS), 20)
    yield Row(
        "  the same, where no fact has been read before", time_rounds(consolidate_uncached, ROUNDS // 5), 20
    )
    yield Row("  storing it: one transaction with its events", time_rounds(store, ROUNDS // 10), None)


def measure_many_owners(provider: LlamaProvider) -> Iterator[Row]:
    """Measure first turns of many owners, whose facts are not cached; the database query is included."""
    users = get_user_model().objects.bulk_create(
        get_user_model()(username=f"owner {n}") for n in range(OWNERS)
    )
    for start in range(0, FACTS_AN_OWNER, 5):
        # Interleave the owners, so that one owner's rows are not adjacent, as in real use.
        Fact.objects.bulk_create(
            fact
            for n in range(5)
            for i, user in enumerate(users)
            for fact in make_facts(user, 1, start + n + 1000 * i)
        )
    print(f"{Fact.objects.count():,} facts of {OWNERS:,} owners")
    plan = Fact.objects.for_owner(users[0]).live().explain()
    print("query plan:", plan)
    if "fact_shelf" not in plan:
        raise RuntimeError("the owner's facts are read without their index")
    rng = random.Random(1)
    turns = iter(
        [make_first_turn(user, rng.choice(QUESTIONS)) for user in rng.sample(users, ROUNDS + WARM_UP)]
    )

    def choose() -> None:
        memory = TurnMemory.load(*next(turns), provider)
        memory.build_note(memory.build_block(MEMORY_MAX)[0], [], lambda: MEMORY_MAX)

    yield Row(
        f"select and budget among {OWNERS * FACTS_AN_OWNER:,} facts of {OWNERS:,} owners, query included",
        time_rounds(choose, ROUNDS),
        10,
    )


def time_rounds(work: Callable[[], None], rounds: int) -> list[float]:
    """Return the milliseconds of each round, after a few rounds of warm-up."""
    for _ in range(WARM_UP):
        work()
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        taken.append((time.perf_counter() - began) * 1000)
    return taken


def make_facts(owner: Any, count: int, seed: int) -> Iterator[Fact]:
    """Yield `count` unsaved facts of different kinds, with vectors of 512 float32 values."""
    rng = random.Random(seed)
    for n in range(count):
        category, kind, sentence = rng.choice(SENTENCES)
        yield Fact(
            owner=owner,
            text=sentence.format(rng.choice(THINGS), rng.choice(THINGS)) + f" since {seed + n}",
            category=category,
            kind=kind,
            confidence=rng.choice((0.6, 0.75, 0.9)),
            embedding=make_unit_vector(seed + n).tobytes(),
            embedder=FixedEmbedder.name,
        )


def make_unit_vector(seed: int) -> NDArray[np.float32]:
    """Return a float32 vector of length 1 and shape (512,) that depends only on the seed."""
    vector = np.random.default_rng(seed).normal(size=512).astype(np.float32)
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


def make_conversation(owner: Any, provider: LlamaProvider) -> tuple[Conversation, list[Message]]:
    """Create a conversation of about 4,000 tokens; return it and its messages, the last a new question."""
    conversation = Conversation.objects.create(owner=owner, app=default_app(owner))
    contents: list[str] = []
    while sum(map(provider.count_text, contents)) < HISTORY_TOKENS:
        contents += sample_talk.TALK[len(contents) // 2 % len(sample_talk.TALK)]
    contents.append(QUESTIONS[0])
    messages = [
        Message(conversation=conversation, seq=i, role="assistant" if i % 2 == 0 else "user", content=text)
        for i, text in enumerate(contents, start=1)
    ]
    return conversation, Message.objects.bulk_create(messages)


def make_first_turn(owner: Any, question: str) -> tuple[Conversation, Message]:
    """Create a conversation with one message and return both."""
    conversation = Conversation.objects.create(owner=owner, app=default_app(owner))
    return conversation, Message.objects.create(
        conversation=conversation, seq=1, role="user", content=question
    )


if __name__ == "__main__":
    sys.exit(main())
