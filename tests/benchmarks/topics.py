"""Time and size of topics and their archives: `python -m tests.benchmarks.topics`.

Packs and restores fifty messages, embeds a message and compares it with forty topics, and measures the
database time of a message in a conversation with twenty topics. Needs the embedder's weights. Prints a table
and exits with 1 when a bar is missed.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from unittest import mock

os.environ["DATA_DIR"] = tempfile.mkdtemp(prefix="memoryapp-benchmark-")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")

import django

django.setup()

import numpy as np  # noqa: E402
from django.core.management import call_command  # noqa: E402

from chat.actions import messages, topic_archive, topics  # noqa: E402
from chat.actions.owners import default_app, local_owner  # noqa: E402
from chat.generation.message_topic import embed_message  # noqa: E402
from chat.llm import weights  # noqa: E402
from chat.llm.embedder import load_embedder  # noqa: E402
from chat.llm.registry import registry  # noqa: E402
from chat.llm.scripted import ScriptedProvider  # noqa: E402
from chat.models import Conversation, Message, MessageState, Topic  # noqa: E402
from chat.topics.contents import load_contents  # noqa: E402
from chat.topics.match import TopicCandidate, choose_topic  # noqa: E402
from chat.topics.pack import pack_contents, unpack_contents  # noqa: E402
from chat.topics.rules import DEFAULT_RULES  # noqa: E402
from tests.benchmarks.more_sample_talk import MORE  # noqa: E402
from tests.benchmarks.sample_talk import TALK  # noqa: E402
from tests.benchmarks.timings import Row, print_table  # noqa: E402

CONTENTS = [text for exchange in (*TALK, *MORE) for text in exchange]
ROLES = ("assistant", "user")
QUESTIONS = [asked for asked, _ in (*TALK, *MORE)]
ROUNDS, WARM_UP = 300, 20
MIN_REDUCTION = 60  # percent


def main() -> int:
    """Run all measurements, print the tables, and return the exit code."""
    call_command("migrate", verbosity=0)
    registry.use(ScriptedProvider(), embedder=load_embedder(weights.embedder()))
    small = print_sizes()
    rows = [*measure_archiving(), *measure_matching(), *measure_adding()]
    return print_table(rows) or int(not small)


def print_sizes() -> bool:
    """Print how much smaller an archive is than its messages as JSON and as plain text."""
    entries = [
        {"role": ROLES[n % 2], "content": text, "timestamp": 1_234_567_890.5 + 61.3 * n}
        for n, text in enumerate(CONTENTS, start=1)
    ]
    stored = len(pack_contents(dict(enumerate(CONTENTS))).data)
    as_json, bare = len(json.dumps(entries).encode()), sum(len(text.encode()) for text in CONTENTS)
    share, of_bare = (100 * (1 - stored / whole) for whole in (as_json, bare))
    verdict = "ok" if share >= MIN_REDUCTION else "MISSED"
    print(
        f"{len(CONTENTS)} different messages: {as_json:,} bytes as JSON, {bare:,} as text, {stored:,} packed"
    )
    print(
        f"smaller than JSON by {share:.1f} % (bar {MIN_REDUCTION} %: {verdict}), than text by {of_bare:.1f} %"
    )
    return share >= MIN_REDUCTION


def measure_archiving() -> Iterator[Row]:
    """Measure packing and restoring fifty messages."""
    contents = dict(enumerate(CONTENTS, start=1))
    stored = pack_contents(contents)
    if unpack_contents(stored.data, stored.sha256) != contents:
        raise RuntimeError("what was packed did not come back")
    topic, conversation = create_inactive_topic()
    shown = Message.objects.filter(conversation=conversation).order_by("seq")
    before = [m.content for m in shown]
    put, back = [], []
    for _ in range(ROUNDS // 5):
        put.append(time_once(lambda: topic_archive.pack_topic(topic)))
        if [m.content for m in load_contents(shown.all())] != before:
            raise RuntimeError("a packed message reads differently")
        back.append(time_once(lambda: topic_archive.unpack_topic(topic)))
    topic_archive.pack_topic(topic)
    reading = time_rounds(lambda: load_contents(shown.all()), ROUNDS)
    yield Row(
        "restore 50 messages: checksum and all",
        time_rounds(lambda: unpack_contents(stored.data, stored.sha256), ROUNDS),
        5,
    )
    yield Row("  read 50 packed messages from the database", reading, 5)
    yield Row("  put 46 contents back into their rows, one transaction", back, None)
    yield Row("  pack 46 contents, one transaction", put, None)


def measure_matching() -> Iterator[Row]:
    """Measure embedding a message, and comparing it with the maximum number of topics."""
    vectors = {text: embed_message(text) for text in QUESTIONS}
    known = [v for v, _ in vectors.values() if v is not None]
    candidates = [
        TopicCandidate(n, known[n % len(known)], frozenset()) for n in range(DEFAULT_RULES.hard_max_topics)
    ]
    texts = itertools.cycle(QUESTIONS)

    def compare() -> None:
        text = next(texts)
        choose_topic(text, *vectors[text], candidates, 0)

    yield Row("embed a message", time_rounds(lambda: embed_message(next(texts)), ROUNDS), 15)
    yield Row(f"  compare it with {len(candidates)} topics", time_rounds(compare, ROUNDS), 1, of_median=True)


def measure_adding() -> Iterator[Row]:
    """Measure the database time of a message and of its topic assignment, without the model's time.

    A topic assignment is measured whole and as its two parts: matching (reading the topics and comparing the
    message with them) and adding (the rest: counting the message in its topic, retiring, the transaction).
    """
    owner = local_owner()
    conversation = Conversation.objects.create(owner=owner, app=default_app(owner))
    given = [(text, *embed_message(text)) for text in QUESTIONS]
    kept: dict[str, list[float]] = {"send": [], "match": [], "assign": [], "add": [], "finish": []}
    original = topics.match_message

    def match_timed(*arguments: Any) -> topics.TopicMatch:
        began = time.perf_counter()
        found = original(*arguments)
        kept["match"].append((time.perf_counter() - began) * 1000)
        return found

    with mock.patch.object(topics, "match_message", match_timed):
        for n in range(ROUNDS + WARM_UP):
            text, vector, name = given[n % len(given)]
            if n == len(given):
                create_unrelated_topics(conversation, name)
            began = time.perf_counter()
            asked, reply = messages.send_message(owner, f"{text} ({n})", conversation)
            kept["send"].append((time.perf_counter() - began) * 1000)
            kept["assign"].append(time_once(partial(topics.assign_topic, asked, vector, name)))
            kept["add"].append(kept["assign"][-1] - kept["match"][-1])
            finish = partial(messages.finish_reply, reply, "An answer.", MessageState.COMPLETE)
            kept["finish"].append(time_once(finish))
            # Count the messages as extracted.
            Conversation.objects.update(extracted_through=reply.seq)
    count = Topic.objects.filter(conversation=conversation, retired_at__isnull=True).count()
    for key, what, bar, of_median in (
        ("send", "add a message and its empty reply, one transaction", 5, False),
        ("match", f"  match it with {count} topics, beside the embedding", 2, True),
        ("add", "  add it to its topic, beside the matching", 1, True),
        ("assign", "  both, one transaction", 3, True),
        ("finish", "  finish the reply, one transaction", 5, False),
    ):
        yield Row(what, kept[key][len(given) + WARM_UP :], bar, of_median)


def create_unrelated_topics(conversation: Conversation, embedder: str) -> None:
    """Fill a conversation up to the number of topics above which topics retire; no message matches these."""
    rng = np.random.default_rng(1)
    missing = DEFAULT_RULES.max_topics - Topic.objects.filter(conversation=conversation).count()
    for number in range(missing):
        vector = rng.normal(size=512).astype(np.float32)
        Topic.objects.create(
            conversation=conversation,
            title=f"A subject that nobody talks about, number {number}",
            embedding=vector.tobytes(),
            embedder=embedder,
        )


def create_inactive_topic() -> tuple[Topic, Conversation]:
    """Create an inactive topic of fifty messages; return it and its conversation."""
    owner = local_owner()
    last = len(CONTENTS) + 1
    conversation = Conversation.objects.create(
        owner=owner, app=default_app(owner), trimmed_through=last, extracted_through=last
    )
    topic, other = (Topic.objects.create(conversation=conversation, title=t) for t in ("The gym", "Another"))
    rows = [
        Message(
            conversation=conversation, seq=n, role=("assistant", "user")[n % 2], content=text, topic=topic
        )
        for n, text in enumerate(CONTENTS, start=1)
    ]
    Message.objects.bulk_create(rows)
    Message.objects.create(conversation=conversation, seq=last, role="user", content="And now?", topic=other)
    return topic, conversation


def time_once(work: Callable[[], object]) -> float:
    """Return the wall time of a call in milliseconds."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def time_rounds(work: Callable[[], object], rounds: int) -> list[float]:
    """Return the milliseconds of each round, after some rounds of warm-up."""
    for _ in range(WARM_UP):
        work()
    return [time_once(work) for _ in range(rounds)]


if __name__ == "__main__":
    sys.exit(main())
