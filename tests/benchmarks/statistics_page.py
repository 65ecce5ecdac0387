"""Time of the statistics page's queries: `python -m tests.benchmarks.statistics_page [replies]`.

The data are three months with 30,000 replies each; each reply has an extraction and three model calls. Uses
neither a model nor a server. Prints each query's time and a table, and exits with 1 when a bar is missed.
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
from functools import partial
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
from chat.statistics.span import Span  # noqa: E402
from chat.statistics.usage import count_usage  # noqa: E402
from tests.benchmarks.running_server import Row, print_table  # noqa: E402

REPLIES = int(sys.argv[1]) if len(sys.argv) > 1 else 30_000
MONTHS, LENGTH, BATCH, ROUNDS = 3, 60, 5_000, 5
PURPOSES = (("reply", "chat"), ("extract", "background"), ("consolidate", "background"))
# Milliseconds of processor time, which other processes on the machine do not affect.
BARS = {"day": 300, "month": 1000}


def main() -> int:
    """Create the data, measure both spans, print the table, and return the exit code."""
    call_command("migrate", verbosity=0)
    owner = local_owner()
    create_data(owner)
    print("load average:", *(f"{load:.1f}" for load in os.getloadavg()))
    return print_table(list(measure_spans(owner)))


def create_data(owner: Any) -> None:
    """Create conversations of 60 exchanges, evenly distributed over the months."""
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
    """Collects rows of several tables and inserts them in batches, in the order of their foreign keys."""

    def __init__(self) -> None:
        self.rows: dict[type[Any], list[Any]] = {}

    def add(self, row: Any) -> None:
        """Add a row; write all rows when its table has a full batch."""
        self.rows.setdefault(type(row), []).append(row)
        if len(self.rows[type(row)]) >= BATCH:
            self.write()

    def write(self) -> None:
        """Insert all collected rows."""
        for model, rows in self.rows.items():
            model._default_manager.bulk_create(rows, batch_size=500)
        self.rows.clear()


def measure_spans(owner: Any) -> Iterator[Row]:
    """Measure each span several times, print the time of each query, and yield a row for the mean."""
    for name, bar in BARS.items():
        span = Span("day" if name == "day" else "month", timezone.now(), UTC)
        began = time.thread_time()
        took = [time_call(partial(count_usage, owner, span)) for _ in range(ROUNDS)]
        worked = 1000 * (time.thread_time() - began) / ROUNDS
        print_query_times(partial(count_usage, owner, span))
        said = f"{worked:.0f} ms of the processor, {statistics.median(took):.0f} by the clock"
        yield Row(f"figures of a {name}", said, f"≤ {bar} ms of it", worked <= bar)


def time_call(act: Callable[[], Any]) -> float:
    """Return the wall time of a call in milliseconds."""
    began = time.perf_counter()
    act()
    return 1000 * (time.perf_counter() - began)


def print_query_times(act: Callable[[], Any]) -> None:
    """Print the table and the processor time in milliseconds of each query."""

    def time_query(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        began = time.thread_time()
        try:
            return execute(sql, params, many, context)
        finally:
            table = sql.partition(" FROM ")[2].split()[0]
            print(f"  {1000 * (time.thread_time() - began):6.0f} ms  {table}")

    with connection.execute_wrapper(time_query):
        took = time_call(act)
    print(f"  {took:6.0f} ms  in all")


if __name__ == "__main__":
    sys.exit(main())
