"""Measures on PrefEval which preferences are found: `python -m tests.benchmarks.prefeval FOLDER [COUNT]`.

FOLDER is `benchmark_dataset/explicit_preference` of a checkout of `amazon-science/PrefEval`. For each of
COUNT questions a memory has 134 preferences: the one that matters for it, and seven of each other topic.
Printed is how often that preference is among the facts that the product would name first within some tokens,
and how often it is in the prompt of a new chat. For comparison the same by cosine. The licence of the set
forbids commercial use, so nothing is tuned on it: it is read once, afterwards.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

os.environ["DATA_DIR"] = tempfile.mkdtemp(prefix="memoryapp-benchmark-")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")

import django

django.setup()

import numpy as np  # noqa: E402
from django.contrib.auth import get_user_model  # noqa: E402

from chat.actions.owners import default_app  # noqa: E402
from chat.context.prompt import build_prompt  # noqa: E402
from chat.memory.relevance_classifier import estimate_needed  # noqa: E402
from chat.memory.typical_vectors import subtract_typical_fact, subtract_typical_message  # noqa: E402
from chat.models import Conversation, Fact, Message, Role  # noqa: E402
from tests.benchmarks.default_tokenizer import prepare_benchmark  # noqa: E402

OF_OTHER_TOPIC = 7
BUDGETS = (60, 120, 350)


def read_questions(folder: Path) -> list[tuple[str, str, str]]:
    """Return the topic, the preference and the question of each case."""
    return [
        (path.stem, case["preference"], case["question"])
        for path in sorted(folder.glob("*.json"))
        for case in json.loads(path.read_text(encoding="utf-8"))
    ]


def count_until(order: list[int], tokens: list[int]) -> int:
    """Return the tokens of all facts up to the wanted one, which is the first of the list `tokens`."""
    return sum(tokens[place] for place in order[: order.index(0) + 1])


def main() -> None:
    """Find the preference of each question, and print how often it was found."""
    cases = read_questions(Path(sys.argv[1]))
    count = int(sys.argv[2]) if len(sys.argv) > 2 else len(cases)
    embedder, provider = prepare_benchmark()
    chance = random.Random(1)
    by_topic: dict[str, list[str]] = defaultdict(list)
    for topic, preference, _ in cases:
        by_topic[topic].append(preference)
    texts = list(dict.fromkeys(preference for _, preference, _ in cases))
    vectors = dict(zip(texts, embedder.embed(texts), strict=True))
    first: Counter[tuple[str, int]] = Counter()
    in_prompt, note_tokens = 0, []
    sample = chance.sample(cases, min(count, len(cases)))
    for number, (topic, preference, question) in enumerate(sample):
        others = [
            other
            for name in by_topic
            if name != topic
            for other in chance.sample(by_topic[name], OF_OTHER_TOPIC)
        ]
        pool = [preference, *others]
        rows = np.stack([vectors[text] for text in pool]).astype(np.float32)
        message = embedder.embed([question])[0]
        needed = estimate_needed(message, rows, ["likes"] * len(pool), embedder.name)
        assert needed is not None
        cosines = subtract_typical_fact(rows, embedder.name) @ subtract_typical_message(
            message, embedder.name
        )
        tokens = [provider.count_text(f"- {text}\n") for text in pool]
        for name, values in (("probability", needed), ("cosine", cosines)):
            spent = count_until(np.argsort(-values, kind="stable").tolist(), tokens)
            first.update((name, budget) for budget in BUDGETS if spent <= budget)
        owner = get_user_model().objects.create_user(username=f"person {number}")
        facts = Fact.objects.bulk_create(
            Fact(
                owner=owner,
                text=text[:300],
                category="preference",
                kind="likes",
                confidence=0.75,
                embedding=vectors[text].tobytes(),
                embedder=embedder.name,
            )
            for text in pool
        )
        chat = Conversation.objects.create(owner=owner, app=default_app(owner), title="question")
        asked = Message.objects.create(conversation=chat, seq=1, role=Role.USER, content=question)
        prompt = build_prompt(chat, asked, provider)
        in_prompt += str(facts[0].pk) in prompt.facts
        note_tokens.append(provider.count_text(prompt.note))
    for (name, budget), found in sorted(first.items()):
        print(f"within {budget} tokens by {name}: {found / len(sample):.1%}")
    print(f"in the prompt: {in_prompt / len(sample):.1%}, note {np.mean(note_tokens):.0f} tokens on average")


if __name__ == "__main__":
    main()
