"""Time of quoting past chats among 100,000 messages: `python -m tests.benchmarks.past_chats [messages]`.

`DATABASE_URL` chooses an empty PostgreSQL database instead of SQLite.
The messages are those of `tests.benchmarks.search`. Their vectors are random, because embedding all of them
takes a quarter of an hour; what the time depends on is their number. Printed are the milliseconds of deciding
and fetching for messages that ask for something said before and for ordinary ones, of the first search of a
process, and what a window costs: milliseconds to make, bytes in the database and in memory.
"""

from __future__ import annotations

import sys
import time
from itertools import islice

import numpy as np

# The import of this module sets Django up, with a database of its own.
from tests.benchmarks import search  # isort: skip
from django.core.management import call_command
from django.db import connection

from chat.actions import indexing, message_windows
from chat.actions.owners import default_app, local_owner
from chat.context.past_chats import find_needed_sentences
from chat.llm import weights
from chat.llm.embedder import load_embedder
from chat.models import Conversation, Message, MessageWindow
from chat.past_chats.need_classifier import Need
from chat.past_chats.vector_search import bit_cache
from chat.past_chats.windows import find_quotable_spans, group_windows

ASKING = (
    "Which database table did we decide to split?",
    "What did you suggest for the duplicate email addresses last week?",
    "When do the members get their calendar slots, as I told you?",
    "Wann wollte ich am Dienstag gehen?",
    "Welche Straße war noch mal gesperrt?",
    "Who told me about the quetzal?",
)
ORDINARY = (
    "How do I add an index to a table?",
    "Thanks, that helped a lot!",
    "Write a haiku about autumn rain.",
    "My sister moved to Ghent.",
    "Wie lange muss ein Sauerteig gehen?",
    "What is the capital of Norway?",
)
ROUNDS = 10
_ROWS = 5000


def create_windows(owner_id: int, dimensions: int) -> int:
    """Create the windows of all messages with random vectors; return their number."""
    chance = np.random.default_rng(1)
    count = 0
    rows = Message.objects.only("content", "conversation").order_by("pk").iterator(_ROWS)
    while portion := list(islice(rows, _ROWS)):
        spans = [(m, w) for m in portion for w in group_windows(m.content, find_quotable_spans(m.content))]
        vectors = chance.integers(-127, 128, (len(spans), dimensions), dtype=np.int8)
        MessageWindow.objects.bulk_create(
            MessageWindow(
                owner_id=owner_id,
                message=message,
                start=window.start,
                end=window.end,
                vector=vector.tobytes(),
                embedder=weights.embedder().name,
            )
            for (message, window), vector in zip(spans, vectors, strict=True)
        )
        count += len(spans)
    return count


def measure_size() -> int:
    """Return the bytes of the database."""
    sql = "SELECT pg_database_size(current_database())"
    if connection.vendor == "sqlite":
        sql = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return int(cursor.fetchone()[0])


def main() -> None:
    """Create the messages, measure and print."""
    embedder = load_embedder(weights.embedder())
    if embedder is None:
        sys.exit("The embedder is not installed.")
    call_command("migrate", verbosity=0)
    owner = local_owner()
    search.create_messages(owner, search.MESSAGES, 1)
    for key in list(indexing.find_unindexed_conversations().values_list("pk", flat=True)):
        indexing.fill_index([key])
    indexing.merge_index()

    sample = Conversation.objects.first()
    assert sample is not None
    # The first call reads the embedder's files.
    embedder.embed(["a"])
    began = time.perf_counter()
    message_windows.index_portion(sample.pk, embedder)
    made = MessageWindow.objects.count()
    print(f"to make a window: {1000 * (time.perf_counter() - began) / made:.2f} ms")
    MessageWindow.objects.all().delete()

    before = measure_size()
    count = create_windows(owner.pk, embedder.embed(["a"]).shape[1])
    print(f"{search.MESSAGES} messages, {count} windows, {(measure_size() - before) / count:.0f} bytes each")

    conversation = Conversation.objects.create(owner=owner, app=default_app(owner), title="asking")
    bit_cache.clear()
    began = time.perf_counter()
    find_needed_sentences(conversation, ASKING[0], embedder)
    print(f"first search of a process: {1000 * (time.perf_counter() - began):.0f} ms")
    for name, texts in (("asking", ASKING), ("ordinary", ORDINARY)):
        times, quoting = [], 0
        for text in texts * ROUNDS:
            began = time.perf_counter()
            need, _ = find_needed_sentences(conversation, text, embedder)
            times.append(1000 * (time.perf_counter() - began))
            quoting += need != Need.NOTHING
        p50, p95 = np.percentile(times, [50, 95])
        print(f"{name}: p50 {p50:.1f} ms, p95 {p95:.1f} ms, {quoting / len(times):.0%} quote")


if __name__ == "__main__":
    main()
