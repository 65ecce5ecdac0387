"""What topics and their archives cost: `python -m tests.benchmarks.topics`.

Fifty messages of a real conversation packed and restored, a message matched among forty topics, and what a
message costs beside the model. Needs the embedder's weights; prints a table and exits with 1 when a bar is
missed.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

os.environ["DATA_DIR"] = tempfile.mkdtemp(prefix="memoryapp-benchmark-")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")

import django

django.setup()

from django.core.management import call_command  # noqa: E402

from chat.actions import messages, storage, topics  # noqa: E402
from chat.actions.owners import default_app, local_owner  # noqa: E402
from chat.generation.placing import embedded  # noqa: E402
from chat.llm import weights  # noqa: E402
from chat.llm.embedder import Embedder  # noqa: E402
from chat.llm.registry import registry  # noqa: E402
from chat.llm.scripted import ScriptedProvider  # noqa: E402
from chat.models import Conversation, Message, MessageState, Topic  # noqa: E402
from chat.topics.contents import with_contents  # noqa: E402
from chat.topics.decay import MOST_TOPICS  # noqa: E402
from chat.topics.match import Candidate, choose  # noqa: E402
from chat.topics.pack import pack, unpack  # noqa: E402
from tests.benchmarks.more_talk import MORE  # noqa: E402
from tests.benchmarks.talk import TALK  # noqa: E402
from tests.benchmarks.timings import Row, printed  # noqa: E402

SAID = [text for exchange in (*TALK, *MORE) for text in exchange]
ROLES = ("assistant", "user")
QUESTIONS = [asked for asked, _ in (*TALK, *MORE)]
ROUNDS, WARM_UP = 300, 20
SMALLER = 60  # percent


def main() -> int:
    """Run every measurement and print the tables; returns the exit code."""
    call_command("migrate", verbosity=0)
    entry = weights.embedder()
    paths = {path.suffix: path for path in (weights.path_of(entry, file) for file in entry.files)}
    registry.use(ScriptedProvider(), embedder=Embedder(paths[".onnx"], paths[".json"]))
    small = sizes()
    rows = [*archiving(), *matching(), *adding()]
    return printed(rows) or int(not small)


def sizes() -> bool:
    """Print how much smaller an archive is than the messages as the seed keeps them, and than bare text."""
    entries = [
        {"role": ROLES[n % 2], "content": text, "timestamp": 1_234_567_890.5 + 61.3 * n}
        for n, text in enumerate(SAID, start=1)
    ]
    stored = len(pack(dict(enumerate(SAID))).data)
    as_json, bare = len(json.dumps(entries).encode()), sum(len(text.encode()) for text in SAID)
    share, of_bare = (100 * (1 - stored / whole) for whole in (as_json, bare))
    verdict = "ok" if share >= SMALLER else "MISSED"
    print(
        f"{len(SAID)} messages, no two alike: {as_json:,} bytes as JSON, {bare:,} as text, {stored:,} packed"
    )
    print(f"smaller than JSON by {share:.1f} %   (bar {SMALLER} %: {verdict}), than text by {of_bare:.1f} %")
    return share >= SMALLER


def archiving() -> Iterator[Row]:
    """Measure packing and restoring all fifty messages."""
    contents = dict(enumerate(SAID, start=1))
    stored = pack(contents)
    if unpack(stored.data, stored.sha256) != contents:
        raise RuntimeError("what was packed did not come back")
    topic, conversation = packable()
    shown = Message.objects.filter(conversation=conversation).order_by("seq")
    before = [m.content for m in shown]
    put, back = [], []
    for _ in range(ROUNDS // 5):
        put.append(once(lambda: storage.pack(topic)))
        if [m.content for m in with_contents(shown.all())] != before:
            raise RuntimeError("a packed message reads differently")
        back.append(once(lambda: storage.unpack(topic)))
    storage.pack(topic)
    reading = timed(lambda: with_contents(shown.all()), ROUNDS)
    yield Row(
        "restore 50 messages: checksum and all", timed(lambda: unpack(stored.data, stored.sha256), ROUNDS), 5
    )
    yield Row("  read 50 packed messages from the database", reading, 5)
    yield Row("  put 46 contents back into their rows, one transaction", back, None)
    yield Row("  pack 46 contents, one transaction", put, None)


def matching() -> Iterator[Row]:
    """Measure finding the topic of a message among as many as there may be, its vector included."""
    vectors = {text: embedded(text) for text in QUESTIONS}
    known = [v for v, _ in vectors.values() if v is not None]
    candidates = [Candidate(n, known[n % len(known)], frozenset()) for n in range(MOST_TOPICS)]
    turn = iter(range(10**6))

    def match() -> None:
        text = QUESTIONS[next(turn) % len(QUESTIONS)]
        choose(text, *embedded(text), candidates, 0)

    yield Row(f"match a message with {MOST_TOPICS} topics, embedding it included", timed(match, ROUNDS), 15)


def adding() -> Iterator[Row]:
    """Measure what a message costs in the database, and its topic among thirty, without the model's work."""
    owner = local_owner()
    conversation = Conversation.objects.create(owner=owner, app=default_app(owner))
    given = [(text, *embedded(text)) for text in QUESTIONS]
    kept: dict[str, list[float]] = {"send": [], "assign": [], "finish": []}
    for n in range(ROUNDS + WARM_UP):
        text, vector, name = given[n % len(given)]
        began = time.perf_counter()
        asked, reply = messages.send_message(owner, f"{text} ({n})", conversation)
        sent = time.perf_counter()
        topics.assign(asked, vector, name)
        placed = time.perf_counter()
        messages.finish_reply(reply, "An answer.", MessageState.COMPLETE)
        finished = time.perf_counter()
        for key, seconds in (
            ("send", sent - began),
            ("assign", placed - sent),
            ("finish", finished - placed),
        ):
            kept[key].append(seconds * 1000)
        # Memory has read it.
        Conversation.objects.update(extracted_through=reply.seq)
    count = Topic.objects.filter(conversation=conversation, retired_at__isnull=True).count()
    for key, what, bar in (
        ("send", "add a message and its empty reply, one transaction", 5),
        ("assign", f"  give it its topic among {count}, one transaction", 5),
        ("finish", "  finish the reply, one transaction", 5),
    ):
        yield Row(what, kept[key][WARM_UP:], bar)


def packable() -> tuple[Topic, Conversation]:
    """Return a topic of fifty messages that was left, and its conversation."""
    owner = local_owner()
    last = len(SAID) + 1
    conversation = Conversation.objects.create(
        owner=owner, app=default_app(owner), trimmed_through=last, extracted_through=last
    )
    topic, other = (Topic.objects.create(conversation=conversation, title=t) for t in ("The gym", "Another"))
    rows = [
        Message(
            conversation=conversation, seq=n, role=("assistant", "user")[n % 2], content=text, topic=topic
        )
        for n, text in enumerate(SAID, start=1)
    ]
    Message.objects.bulk_create(rows)
    Message.objects.create(conversation=conversation, seq=last, role="user", content="And now?", topic=other)
    return topic, conversation


def once(work: Callable[[], object]) -> float:
    """Return the milliseconds that a piece of work takes."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def timed(work: Callable[[], object], rounds: int) -> list[float]:
    """Return the milliseconds of each round, after a few that do not count."""
    for _ in range(WARM_UP):
        work()
    return [once(work) for _ in range(rounds)]


if __name__ == "__main__":
    sys.exit(main())
