"""How long the figures of the statistics page take to count: `python -m tests.benchmarks.figures [replies]`.

A month with 30,000 replies after two months like it, each reply with a look and three calls of the model; no
model and no server. Prints each query's time and a table, and exits with 1 when a bar is missed.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, timedelta
from typing import Any

os.environ["DATA_DIR"] = tempfile.mkdtemp(prefix="memoryapp-benchmark-")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")

import django

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.utils import timezone  # noqa: E402

from chat.actions.owners import default_app, local_owner  # noqa: E402
from chat.models import (  # noqa: E402
    AppMemoryEvent,
    Conversation,
    ExtractionRun,
    Fact,
    Message,
    PromptReport,
    UsageRecord,
)
from chat.statistics.figures import count  # noqa: E402
from chat.statistics.span import Span  # noqa: E402
from tests.benchmarks.live import Row, printed  # noqa: E402

REPLIES = int(sys.argv[1]) if len(sys.argv) > 1 else 30_000
MONTHS, LENGTH, BATCH, ROUNDS = 3, 60, 5_000, 5
PURPOSES = (("reply", "chat"), ("extract", "background"), ("consolidate", "background"))
# Milliseconds of the processor, for others may be at work on the machine.
BARS = {"day": 300, "month": 1000}


def main() -> int:
    """Plant the months, count both spans and print the table; returns the exit code."""
    call_command("migrate", verbosity=0)
    owner = local_owner()
    plant(owner)
    print("load average:", *(f"{load:.1f}" for load in os.getloadavg()))
    return printed(list(measured(owner)))


def plant(owner: Any) -> None:
    """Make conversations of 60 exchanges, spread evenly over the months."""
    luck, now = random.Random(5), timezone.now()
    step = timedelta(days=30) / REPLIES
    app, rows = default_app(owner), Batches()
    total = MONTHS * REPLIES
    chat = None
    for n in range(total):
        when = now - step * (total - n)
        if n % LENGTH == 0:
            chat = Conversation.objects.create(owner=owner, app=app, created_at=when, updated_at=when)
        place = 2 * (n % LENGTH) + 1
        asked, reply = (
            Message(conversation=chat, seq=place + i, role=role, content="x" * 200, created_at=when)
            for i, role in enumerate(("user", "assistant"))
        )
        rows.add(asked)
        rows.add(reply)
        rows.add(
            PromptReport(
                reply=reply,
                facts=[str(n)] if n % 3 else [],
                sections={"system": 40, "memory": 90 * (n % 2), "note": 0, "history": 900},
                stage=int(n % 50 == 0),
                prompt_tokens=1200,
                cached_tokens=1100,
                first_token_ms=luck.randint(200, 3000),
                created_at=when,
            )
        )
        rows.add(ExtractionRun(message=asked, stored=n % 2, refused=[{}] * (n % 3), created_at=when))
        for purpose, lane in PURPOSES:
            spent = luck.random() if lane == "background" else 0.0
            rows.add(
                UsageRecord(
                    owner=owner,
                    purpose=purpose,
                    lane=lane,
                    prompt_tokens=1200,
                    cached_tokens=1100,
                    completion_tokens=20,
                    energy=spent,
                    outcome="stop",
                    created_at=when,
                )
            )
        if n % 20 == 0:
            what = {"category": "preference", "kind": "likes", "confidence": 0.75, "first_seen": when}
            rows.add(Fact(owner=owner, text=f"User said {n}", **what))
            rows.add(AppMemoryEvent(owner=owner, app=app, kind="add", created_at=when))
    rows.write()


class Batches:
    """Rows of several tables, written some thousands at a time, those that others point to first."""

    def __init__(self) -> None:
        self.rows: dict[type[Any], list[Any]] = {}

    def add(self, row: Any) -> None:
        """Take a row."""
        self.rows.setdefault(type(row), []).append(row)
        if len(self.rows[type(row)]) >= BATCH:
            self.write()

    def write(self) -> None:
        """Write what there is."""
        for model, rows in self.rows.items():
            model._default_manager.bulk_create(rows, batch_size=500)
        self.rows.clear()


def measured(owner: Any) -> Iterator[Row]:
    """Count each span some times and yield how long once took; then tell of each query."""
    for name, bar in BARS.items():
        span = Span("day" if name == "day" else "month", timezone.now(), UTC)
        began = time.thread_time()
        took = [timed(lambda span=span: count(owner, span)) for _ in range(ROUNDS)]
        worked = 1000 * (time.thread_time() - began) / ROUNDS
        queries(lambda span=span: count(owner, span))
        said = f"{worked:.0f} ms of the processor, {statistics.median(took):.0f} by the clock"
        yield Row(f"figures of a {name}", said, f"≤ {bar} ms of it", worked <= bar)


def timed(act: Callable[[], Any]) -> float:
    """Return how many milliseconds something takes."""
    began = time.perf_counter()
    act()
    return 1000 * (time.perf_counter() - began)


def queries(act: Callable[[], Any]) -> None:
    """Print each query's table and milliseconds."""

    def told(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        began = time.thread_time()
        try:
            return execute(sql, params, many, context)
        finally:
            table = sql.partition(" FROM ")[2].split()[0]
            print(f"  {1000 * (time.thread_time() - began):6.0f} ms  {table}")

    with connection.execute_wrapper(told):
        took = timed(act)
    print(f"  {took:6.0f} ms  in all")


if __name__ == "__main__":
    sys.exit(main())
