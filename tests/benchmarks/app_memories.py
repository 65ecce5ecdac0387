"""Quality, cost and read time of app memories: `python -m tests.benchmarks.app_memories`.

The default model, loaded in this process, writes memories of labelled conversations
(`tests/memory/data/app_memories.jsonl`: a memory needs one word of each group of `expect` and no word of
`forbid`), and chooses which memory an eleventh one replaces. Prints each answer and a table, and exits with 1
when a bar is missed.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ["DATA_DIR"] = tempfile.mkdtemp(prefix="memoryapp-benchmark-")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")

import django

django.setup()

from django.core.management import call_command  # noqa: E402
from django.utils import timezone  # noqa: E402

from chat.actions.owners import local_owner  # noqa: E402
from chat.context import memory as app_memories_module  # noqa: E402
from chat.errors import ProviderError  # noqa: E402
from chat.llm import weights  # noqa: E402
from chat.llm.llama import LlamaProvider  # noqa: E402
from chat.llm.machine_defaults import default_threads  # noqa: E402
from chat.memory import app_memories, app_memory_eviction  # noqa: E402
from chat.models import App, AppMemory, Conversation, Message  # noqa: E402
from tests.benchmarks.running_server import Row, print_table  # noqa: E402

CASES = Path(__file__).resolve().parents[1] / "memory" / "data" / "app_memories.jsonl"
APPS, EACH, READS = 100, 10, 300
NEW = (
    ("The user wants to finish the marathon in Valencia under 4:10. The knee no longer hurts.", "Valencia"),
    ("The user booked the crane of Flytt AS for the piano on 12 March.", "Flytt"),
    ("The user began a course in pottery on Mondays with their neighbour Ada.", ""),
)


def main() -> int:
    """Run every measurement and print the tables; returns the exit code."""
    call_command("migrate", verbosity=0)
    entry = weights.choose_model(os.environ)
    provider = LlamaProvider(
        entry.name,
        weights.path_of(entry, entry.files[0]),
        window=8192,
        threads=default_threads(),
        on_error=print,
    )
    provider.engine.start()
    provider.engine.ready.wait(300)
    try:
        results = list(measure_writing(provider))
        rows = [
            *results[-1],
            *measure_choosing(provider, [text for text in results[0] if text]),
            *measure_reading(),
        ]
    finally:
        provider.close()
    return print_table(rows)


def measure_writing(provider: LlamaProvider) -> Iterator[list[Any]]:
    """Yield the list of written memories, then the rows of the table."""
    texts, seconds, met, wanted, forbidden = [], [], 0, 0, 0
    for line in CASES.read_text().splitlines():
        case = json.loads(line)
        messages = [Message(seq=n, **m) for n, m in enumerate(case["messages"], 1)]
        began = time.perf_counter()
        try:
            written = app_memories.write_app_memory(provider, messages, "")
        except ProviderError as problem:
            written, problem_text = None, f"({problem})"
        else:
            problem_text = "(nothing)"
        took = time.perf_counter() - began
        text = written or ""
        seconds += [took] if written else []
        low = text.casefold()
        hits = sum(any(word.casefold() in low for word in group) for group in case["expect"])
        met, wanted = met + hits, wanted + len(case["expect"])
        forbidden += sum(word.casefold() in low for word in case["forbid"])
        texts.append(text)
        print(f"{case['id']:<18} {took:4.1f} s  {hits}/{len(case['expect'])}  {text or problem_text}")
    median = statistics.median(seconds)
    yield texts
    yield [
        Row(
            "a memory is written, median",
            f"{median:.1f} s, p95 {statistics.quantiles(seconds, n=20)[-1]:.1f} s",
            "< 5 s",
            median < 5,
        ),
        Row("expected groups found", f"{met} of {wanted} groups", "≥ 65 %", met >= 0.65 * wanted),
        Row("forbidden words found", f"{forbidden}", "0", forbidden == 0),
    ]


def measure_choosing(provider: LlamaProvider, texts: list[str]) -> Iterator[Row]:
    """Let the model choose among the memories just written which one each of three new ones replaces."""
    memories = [AppMemory(content=text, updated_at=timezone.now()) for text in texts[:10]]
    seconds, usable = [], 0
    for new, about in NEW:
        began = time.perf_counter()
        try:
            choice = app_memory_eviction.choose_memory_to_replace(provider, memories, new)
        except ProviderError as problem:
            print(f"choice  {time.perf_counter() - began:4.1f} s  ({problem})  {new}")
            continue
        seconds.append(time.perf_counter() - began)
        usable += 1
        print(f"choice  {seconds[-1]:4.1f} s  {about!r}: {choice.old_text} → {choice.text or 'goes'}")
    longest = max(seconds, default=0.0)
    yield Row(
        "a choice among eleven, longest",
        f"{longest:.1f} s, {usable} of {len(NEW)} usable",
        "≤ 30 s",
        longest <= 30,
    )


def measure_reading() -> Iterator[Row]:
    """Measure rendering the app memories of a prompt, with 100 apps of ten memories each."""
    owner = local_owner()
    apps = App.objects.bulk_create(App(owner=owner, slug=f"app-{n}", name=f"App {n}") for n in range(APPS))
    AppMemory.objects.bulk_create(
        AppMemory(
            owner=owner, app=app, content=f"The user said thing {n} about {app.name}. It matters to them."
        )
        for app in apps
        for n in range(EACH)
    )
    talks = Conversation.objects.bulk_create(Conversation(owner=owner, app=app) for app in apps)
    taken = []
    for _ in range(READS):
        talk = random.choice(talks)
        began = time.perf_counter()
        text = app_memories_module.render_fitting_app_memories(
            str(talk.app), app_memories_module.list_app_memories(talk), lambda piece: len(piece) // 4
        )
        taken.append(1000 * (time.perf_counter() - began))
        assert f"about {talk.app.name}." in text
    p95 = statistics.quantiles(taken, n=20)[-1]
    yield Row(f"read in {APPS} apps with {EACH} each, p95", f"{p95:.2f} ms", "< 5 ms", p95 < 5)


if __name__ == "__main__":
    sys.exit(main())
