"""Memory on BEAM-100K: `python -m tests.benchmarks.beam FOLDER FIRST LAST [--facts FILE]`.

FOLDER is `chats/100K` of a checkout of `mohammadtavakoli78/BEAM`. The messages of each chat go through the
real extraction, and the prompt of a new chat is built for each of its questions. Printed for each kind of
question: the share of questions of which memory knows some or all evidence messages, and of which they reach
the prompt, with the tokens of block and note. A fact counts for every message that taught, confirmed or
completed it, and a quotation from the chats for its message. Chats 1 to 10 are for tuning; 11 to 20 are read
once, afterwards.

With the environment variable `BEAM_DATA_DIR` the database with the extracted facts is kept in that folder,
and later runs extract only the chats that it lacks.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

os.environ["DATA_DIR"] = os.environ.get("BEAM_DATA_DIR") or tempfile.mkdtemp(prefix="memoryapp-benchmark-")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")

import django

django.setup()

import time_machine  # noqa: E402
from django.conf import settings  # noqa: E402
from django.contrib.auth import get_user_model  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import transaction  # noqa: E402

from chat.actions import indexing, message_windows  # noqa: E402
from chat.actions.owners import default_app  # noqa: E402
from chat.context import past_chats, reading_speed  # noqa: E402
from chat.context.prompt import build_prompt  # noqa: E402
from chat.jobs.extract import extract_message  # noqa: E402
from chat.llm.registry import registry  # noqa: E402
from chat.models import App, Conversation, Fact, Message, Role, User  # noqa: E402
from memoryapp.base.env import cache_dir  # noqa: E402

# The set appends "->-> 1,1" to each message, the place in its plan.
_PLACE = re.compile(r"\s*->->.*$", re.S)
_COLUMNS = ("questions", "known some", "known all", "prompt some", "prompt all")
_PARTS = ("block", "note", "quoted")


@dataclass
class ImportedChat:
    """A chat of the set in the database. The numbers of its messages are those of the set."""

    owner: User
    app: App
    day: datetime
    users: set[int] = field(default_factory=set)
    numbers: dict[UUID, int] = field(default_factory=dict)

    def find_sources(self) -> dict[str, set[int]]:
        """Return for each live fact, by key, the numbers of the messages that it comes from."""
        sources = {}
        for fact in Fact.objects.for_owner(self.owner).live().prefetch_related("events"):
            messages = {fact.source_message_id, *(event.source_message_id for event in fact.events.all())}
            sources[str(fact.pk)] = {self.numbers[pk] for pk in messages if pk in self.numbers}
        return sources

    def find_exchange(self, message: UUID) -> int:
        """Return the number of a message of the user, and for a reply that of the message it answers."""
        number = self.numbers[message]
        return number if number in self.users else number - 1


def load_chat(folder: Path, name: str, *, extracts: bool = True) -> ImportedChat:
    """Store a chat, extract its facts and return it; a chat that the kept database has is only loaded.

    Without `extracts` its messages are stored only.
    """
    kept = Path(settings.DATA_DIR) / f"{name}{'' if extracts else '-without-facts'}.json"
    name = name if extracts else f"{name}-without-facts"
    if kept.exists():
        stored = json.loads(kept.read_text(encoding="utf-8"))
        owner = get_user_model().objects.get(username=f"beam-{name}")
        numbers = {UUID(key): number for key, number in stored["numbers"].items()}
        day = datetime.fromisoformat(stored["day"])
        return ImportedChat(owner, default_app(owner), day, set(stored["users"]), numbers)
    get_user_model().objects.filter(username=f"beam-{name}").delete()
    chat = _extract_chat(folder, name, extracts=extracts)
    stored = {
        "day": chat.day.isoformat(),
        "users": sorted(chat.users),
        "numbers": {str(key): number for key, number in chat.numbers.items()},
    }
    kept.write_text(json.dumps(stored), encoding="utf-8")
    return chat


def _extract_chat(folder: Path, name: str, *, extracts: bool) -> ImportedChat:
    """Store a chat and, with `extracts`, extract its messages, each batch at its day."""
    owner = get_user_model().objects.create_user(username=f"beam-{name}")
    chat = ImportedChat(owner, default_app(owner), datetime(2024, 1, 1, 12, tzinfo=UTC))
    began = time.monotonic()
    for batch in json.loads((folder / name.split("-")[0] / "chat.json").read_text(encoding="utf-8")):
        said = [message for turn in batch["turns"] for message in turn]
        day = next((message["time_anchor"] for message in said if message.get("time_anchor")), None)
        if day is not None:
            chat.day = datetime.strptime(day, "%B-%d-%Y").replace(hour=12, tzinfo=UTC)
        with time_machine.travel(chat.day):
            _store_batch(chat, said, extracts=extracts)
    print(f"chat {name}: extracted in {time.monotonic() - began:.0f} s", flush=True)
    return chat


def _print_facts(chat: ImportedChat) -> None:
    live = Fact.objects.for_owner(chat.owner).live().count()
    waiting = Fact.objects.for_owner(chat.owner).heard_once().count()
    print(
        f"{chat.owner.username}: {len(chat.users)} messages of the user, {live} facts "
        f"({100 * live / len(chat.users):.0f} for 100 messages), {waiting} heard once",
        flush=True,
    )


def _store_batch(chat: ImportedChat, said: list[dict[str, Any]], *, extracts: bool) -> None:
    conversation = Conversation.objects.create(owner=chat.owner, app=chat.app, title="chat")
    for seq, message in enumerate(said, 1):
        row = Message.objects.create(
            conversation=conversation,
            seq=seq,
            role=Role(message["role"]),
            content=_PLACE.sub("", message["content"]),
        )
        chat.numbers[row.pk] = message["id"]
        if row.role == Role.USER:
            chat.users.add(message["id"])
    while extracts:
        conversation.refresh_from_db()
        unread = Message.objects.not_extracted(conversation).select_related("conversation__owner").first()
        if unread is None:
            return
        extract_message(unread)


def ask_questions(chat: ImportedChat, questions: dict[str, list[dict[str, Any]]], counts: Counts) -> None:
    """Build the prompt of a new chat for each question and count the evidence in it."""
    sources = chat.find_sources()
    known: set[int] = set().union(*sources.values())
    for kind, asked in questions.items():
        for question in asked:
            with transaction.atomic():
                conversation = Conversation.objects.create(owner=chat.owner, app=chat.app, title="question")
                message = Message.objects.create(
                    conversation=conversation, seq=1, role=Role.USER, content=question["question"]
                )
                prompt = build_prompt(conversation, message, registry.provider())
                transaction.set_rollback(True)
            quoted = past_chats.render(prompt.quotations)
            parts = {"block": prompt.block.text, "note": prompt.note, "quoted": quoted}
            counts[kind]["asked"] += 1
            for part, text in parts.items():
                counts[kind][part] += registry.provider().count_text(text)
            # Memory reads only the user's messages, so evidence in a reply counts for the message before.
            numbers = find_numbers(question.get("source_chat_ids", []))
            evidence = {number if number in chat.users else number - 1 for number in numbers} & chat.users
            if not evidence:
                continue
            told: set[int] = set().union(*(sources.get(key, set()) for key in prompt.facts))
            told |= {chat.find_exchange(one.message) for one in prompt.quotations}
            counts[kind]["questions"] += 1
            counts[kind]["known some"] += bool(known & evidence)
            counts[kind]["known all"] += evidence <= known
            counts[kind]["prompt some"] += bool(told & evidence)
            counts[kind]["prompt all"] += evidence <= told


Counts = defaultdict[str, Counter[str]]


def find_numbers(value: Any) -> Iterator[int]:
    """Return all message numbers in the set's nested lists, objects and strings."""
    if isinstance(value, int) or (isinstance(value, str) and value.isdigit()):
        yield int(value)
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from find_numbers(inner)


def print_counts(counts: Counts) -> None:
    """Print a table: shares in per cent of the questions with evidence, and mean tokens of all questions.

    `short` are the kinds whose evidence 500 tokens can hold.
    """
    short: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for kind, found in counts.items():
        total.update(found)
        if kind not in _LONG_KINDS:
            short.update(found)
    print("kind".ljust(26), *(column.rjust(12) for column in (*_COLUMNS, *_PARTS)))
    for kind, found in [*counts.items(), ("short", short), ("all", total)]:
        shares = [f"{100 * found[column] / max(1, found['questions']):.0f}" for column in _COLUMNS[1:]]
        cells = [str(found["questions"]), *shares]
        cells += [f"{found[part] / max(1, found['asked']):.0f}" for part in _PARTS]
        print(kind.ljust(26), *(cell.rjust(12) for cell in cells))


_LONG_KINDS = ("event_ordering", "summarization")


def index_chat(chat: ImportedChat) -> None:
    """Index the chat for quotations, by words and by meaning, as far as it is not indexed."""
    mine = Conversation.objects.for_owner(chat.owner).values_list("pk", flat=True)
    indexing.fill_index(list(mine))
    for key in mine:
        while message_windows.index_portion(key, registry.embedder()):
            pass


def main() -> None:
    """Run the chats from FIRST to LAST; `--facts` writes their facts to a file for readers."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--facts", type=Path, help="a file for the facts, one JSON object a line")
    parser.add_argument("--speed", type=float, help="tokens a second that the model reads", default=50)
    parser.add_argument("--without-facts", action="store_true", help="extract nothing, only quote")
    options = parser.parse_args()
    registry.load(window=settings.WINDOW, fixed_prompts_folder=cache_dir() / "prompts")
    if not registry.wait_ready(600):
        raise SystemExit(registry.status().sentence)
    counts: Counts = defaultdict(Counter)
    call_command("migrate", verbosity=0)
    # This benchmark writes no reply, so prompts are built with this speed throughout.
    reading_speed.USUAL_SPEED = options.speed
    for number in range(options.first, options.last + 1):
        chat = load_chat(options.folder, str(number), extracts=not options.without_facts)
        index_chat(chat)
        _print_facts(chat)
        if options.facts:
            _write_facts(options.facts, chat)
        path = options.folder / str(number) / "probing_questions" / "probing_questions.json"
        with time_machine.travel(chat.day):
            ask_questions(chat, json.loads(path.read_text(encoding="utf-8")), counts)
    print_counts(counts)
    registry.close()


def _write_facts(path: Path, chat: ImportedChat) -> None:
    with path.open("a", encoding="utf-8") as file:
        for fact in Fact.objects.for_owner(chat.owner).filter(archived_at=None, superseded_at=None):
            line = {"text": fact.text, "kind": fact.kind, "quote": fact.quote, "heard_once": fact.heard_once}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
