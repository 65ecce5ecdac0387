"""Time of a search among 100,000 messages: `python -m tests.benchmarks.search [messages]`.

The messages have English, German and Chinese sentences and made-up words with realistic frequencies; a second
owner has similar messages. Prints a table and exits with 1 when the bar is missed.
"""

from __future__ import annotations

import os
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

os.environ["DATA_DIR"] = tempfile.mkdtemp(prefix="memoryapp-benchmark-")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")

import django

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.utils import timezone  # noqa: E402

from chat.actions import fact_bulk, indexing  # noqa: E402
from chat.actions.owners import default_app, ensure_owner, local_owner  # noqa: E402
from chat.jobs.maintenance import sweep_index  # noqa: E402
from chat.llm import weights  # noqa: E402
from chat.llm.embedder import load_embedder  # noqa: E402
from chat.llm.registry import registry  # noqa: E402
from chat.llm.scripted import ScriptedProvider  # noqa: E402
from chat.models import Conversation, Fact, Message, Role, SearchEntry  # noqa: E402
from chat.search.search import find  # noqa: E402
from tests.benchmarks.more_sample_talk import MORE  # noqa: E402
from tests.benchmarks.sample_talk import TALK  # noqa: E402
from tests.benchmarks.timings import Row, print_table  # noqa: E402

MESSAGES = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
# The number of messages of another owner in the same database.
OTHER_MESSAGES = MESSAGES // 4
CONVERSATION_LENGTH, ROUNDS = 40, 15
BAR = 50  # ms
VOCABULARY = 20_000

GERMAN = (
    "Für die Übergabe der Wohnung in München brauche ich noch Schlüssel und Protokoll.",
    "Die Straße ist gesperrt, also fahren wir über Köln und grüßen die Großeltern.",
    "Könntest du mir erklären, wie die Prüfung läuft und was ich üben muss?",
    "Am Dienstag möchte ich früher gehen, weil die Ärztin nur vormittags Zeit hat.",
)
CHINESE = (
    "我住在上海，每天骑自行车去上班，周末喜欢做饭和看电影。",
    "请帮我写一封邮件给老师，说明下星期不能参加会议的原因。",
    "这个数据库的索引太大了，我想知道怎么才能让搜索更快一些。",
    "明天去北京出差，需要预订火车票和酒店，预算是两千元。",
)
# Queries, grouped by what makes them hard.
QUERIES = {
    "a very common word": ("the", "and", "you"),
    "common words": ("the slot", "members and bookings", "database table"),
    "a rare word": ("zanzibar", "quetzal", "xylophone"),
    "rare and common": ("the zanzibar", "you quetzal", "a xylophone and the"),
    "several words": ("calendar slot member", "migration column table", "email address duplicate"),
    "while typing": ("c", "ca", "cal", "the cal", "boo", "slot m"),
    "words that meet nowhere": ("zanzibar quetzal", "xylophone zanzibar"),
    "a phrase": ('"the whole calendar"', '"unique constraint"', '"the and"'),
    "German": ("straße", "prüfung üben", "munchen", "großeltern"),
    "Chinese": ("上海", "自行车", "电影", "数据库 索引", "火"),
    "nothing": ("qqqqq", "wwwww the"),
}


def sentences() -> list[str]:
    """Return the sentences of the sample conversation."""
    said = (text for exchange in (*TALK, *MORE) for text in exchange)
    return [s for text in said for s in re.split(r"(?<=[.?!])\s+", text) if len(s) > 20]


def generate_texts(seed: int) -> Iterator[str]:
    """Yield message texts endlessly: sentences and made-up words; one in a thousand has a rare word."""
    chance = random.Random(seed)
    real = sentences()
    letters = "etaoinshrdlucmfwypvbgk"
    vocabulary = ["".join(chance.choices(letters, k=chance.randint(3, 9))) for _ in range(VOCABULARY)]
    # Zipf's law: the word of rank n is 1/n as frequent as the first.
    weights = [1 / (n + 10) for n in range(VOCABULARY)]
    while True:
        kind = chance.random()
        if kind < 0.08:
            yield " ".join(chance.choices(GERMAN, k=chance.randint(1, 3)))
        elif kind < 0.16:
            yield "".join(chance.choices(CHINESE, k=chance.randint(1, 3)))
        else:
            parts = chance.choices(real, k=chance.randint(1, 5))
            parts.append(" ".join(chance.choices(vocabulary, weights, k=chance.randint(4, 25))) + ".")
            if chance.random() < 0.001:
                parts.append(f"It was about {chance.choice(('Zanzibar', 'a quetzal', 'the xylophone'))}.")
            chance.shuffle(parts)
            yield " ".join(parts)


def create_messages(owner: Any, count: int, seed: int) -> None:
    """Create `count` messages of an owner in conversations of forty, the newest with the current time."""
    said = generate_texts(seed)
    app = default_app(owner)
    moment = timezone.now() - timedelta(minutes=count)
    for start in range(0, count, CONVERSATION_LENGTH):
        chat = Conversation.objects.create(owner=owner, app=app, title=next(said)[:60], updated_at=moment)
        rows = []
        for n in range(min(CONVERSATION_LENGTH, count - start)):
            moment += timedelta(minutes=1)
            role = Role.ASSISTANT if n % 2 else Role.USER
            rows.append(
                Message(conversation=chat, seq=n + 1, role=role, content=next(said), created_at=moment)
            )
        Message.objects.bulk_create(rows)


def create_facts(owner: Any, count: int = 150) -> None:
    """Create the maximum number of facts for an owner."""
    said = sentences()
    Fact.objects.bulk_create(
        Fact(owner=owner, text=said[n % len(said)][:300], category="project", kind="goal", confidence=0.75)
        for n in range(count)
    )


def use_embedder(owner: Any) -> bool:
    """Embed the facts and register the embedder; return False if its weights are missing."""
    embedder = load_embedder(weights.embedder())
    if embedder is None:
        return False
    facts = list(Fact.objects.for_owner(owner))
    fact_bulk.store_embeddings(facts, list(embedder.embed([fact.text for fact in facts])), embedder.name)
    registry.use(ScriptedProvider(), embedder=embedder)
    return True


def fill_index() -> tuple[float, float]:
    """Fill the index as the background job does; return the seconds of the longest transaction and of all."""
    held: list[float] = []
    put = indexing._insert_below

    def measure_insert(entries: list[SearchEntry]) -> None:
        start = time.perf_counter()
        put(entries)
        held.append(time.perf_counter() - start)

    indexing._insert_below = measure_insert
    began = time.perf_counter()
    sweep_index({})
    indexing._insert_below = put
    return max(held), time.perf_counter() - began


def time_searches(owner: Any, queries: tuple[str, ...]) -> tuple[list[float], list[float]]:
    """Return the wall time and the processor time of each search, in ms."""
    took, worked = [], []
    for _ in range(ROUNDS):
        for query in queries:
            began, before = time.perf_counter(), time.process_time()
            find(owner, query)
            worked.append((time.process_time() - before) * 1000)
            took.append((time.perf_counter() - began) * 1000)
    return took, worked


def main() -> int:
    """Create the data, measure, print the table, and return the exit code."""
    call_command("migrate", verbosity=0)
    owner, other = local_owner(), ensure_owner("somebody-else")
    half = OTHER_MESSAGES // 2
    # The other owner's messages are created before and after the owner's.
    for user, count, seed in ((other, half, 1), (owner, MESSAGES, 2), (other, OTHER_MESSAGES - half, 3)):
        create_messages(user, count, seed)
    create_facts(owner)
    print("the embedder works too" if use_embedder(owner) else "the embedder's weights are not here")
    before = database_size()
    print(
        f"{MESSAGES:,} messages of the owner, {OTHER_MESSAGES:,} of another; the database has {before:.0f} MB"
    )
    longest, seconds = fill_index()
    print(f"the index was filled in {seconds:.0f} s and has {database_size() - before:.0f} MB", end="; ")
    print(f"its longest transaction took {longest * 1000:.0f} ms")
    measured = {what: time_searches(owner, queries) for what, queries in QUERIES.items()}
    rows = [Row(what, took, BAR) for what, (took, _worked) in measured.items()]
    everything = Row("all of them", [ms for took, _worked in measured.values() for ms in took], BAR)
    # On a busy machine the wall time includes waiting; the processor time does not.
    alone = Row("… on the processor", [ms for _took, worked in measured.values() for ms in worked], None)
    return print_table([*rows, everything, alone])


def database_size() -> float:
    """Return the size of the database file in MB."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return Path(connection.settings_dict["NAME"]).stat().st_size / 1e6


if __name__ == "__main__":
    raise SystemExit(main())
