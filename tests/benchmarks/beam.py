"""Memory on BEAM-100K: `python -m tests.benchmarks.beam FOLDER FIRST LAST [--facts FILE]`.

FOLDER is `chats/100K` of a checkout of `mohammadtavakoli78/BEAM`. The messages of each chat go through the
real extraction, and the prompt of a new chat is built for each of its questions. Printed for each kind of
question: the share of questions of which memory knows some or all evidence messages, and of which they reach
the prompt, with the tokens of block and note. A fact counts for every message that taught, confirmed or
completed it. Chats 1 to 10 are for tuning; 11 to 20 are read once, afterwards.

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

from chat.actions.owners import default_app  # noqa: E402
from chat.context.prompt import build_prompt  # noqa: E402
from chat.jobs.extract import extract_message  # noqa: E402
from chat.llm.registry import registry  # noqa: E402
from chat.models import App, Conversation, Fact, Message, Role, User  # noqa: E402
from memoryapp.base.env import cache_dir  # noqa: E402

# The set appends "->-> 1,1" to each message, the place in its plan.
_PLACE = re.compile(r"\s*->->.*$", re.S)
_COLUMNS = ("questions", "known some", "known all", "prompt some", "prompt all")


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


def load_chat(folder: Path, name: str) -> ImportedChat:
    """Return a chat whose facts are extracted, from the kept database where it is there."""
    kept = Path(settings.DATA_DIR) / f"{name}.json"
    if kept.exists():
        stored = json.loads(kept.read_text(encoding="utf-8"))
        owner = get_user_model().objects.get(username=f"beam-{name}")
        numbers = {UUID(key): number for key, number in stored["numbers"].items()}
        day = datetime.fromisoformat(stored["day"])
        return ImportedChat(owner, default_app(owner), day, set(stored["users"]), numbers)
    get_user_model().objects.filter(username=f"beam-{name}").delete()
    chat = _extract_chat(folder, name)
    stored = {
        "day": chat.day.isoformat(),
        "users": sorted(chat.users),
        "numbers": {str(key): number for key, number in chat.numbers.items()},
    }
    kept.write_text(json.dumps(stored), encoding="utf-8")
    return chat


def _extract_chat(folder: Path, name: str) -> ImportedChat:
    """Store a chat and extract its messages, each batch at its day."""
    owner = get_user_model().objects.create_user(username=f"beam-{name}")
    chat = ImportedChat(owner, default_app(owner), datetime(2024, 1, 1, 12, tzinfo=UTC))
    began = time.monotonic()
    for batch in json.loads((folder / name / "chat.json").read_text(encoding="utf-8")):
        said = [message for turn in batch["turns"] for message in turn]
        day = next((message["time_anchor"] for message in said if message.get("time_anchor")), None)
        if day is not None:
            chat.day = datetime.strptime(day, "%B-%d-%Y").replace(hour=12, tzinfo=UTC)
        with time_machine.travel(chat.day):
            _extract_batch(chat, said)
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


def _extract_batch(chat: ImportedChat, said: list[dict[str, Any]]) -> None:
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
    while True:
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
            text = f"{prompt.block.text}\n{prompt.note}".strip()
            counts[kind]["asked"] += 1
            counts[kind]["tokens"] += registry.provider().count_text(text)
            # Memory reads only the user's messages, so evidence in a reply counts for the message before.
            evidence = {
                number if number in chat.users else number - 1
                for number in _find_numbers(question.get("source_chat_ids", []))
            } & chat.users
            if not evidence:
                continue
            told: set[int] = set().union(*(sources.get(key, set()) for key in prompt.facts))
            counts[kind]["questions"] += 1
            counts[kind]["known some"] += bool(known & evidence)
            counts[kind]["known all"] += evidence <= known
            counts[kind]["prompt some"] += bool(told & evidence)
            counts[kind]["prompt all"] += evidence <= told


Counts = defaultdict[str, Counter[str]]


def _find_numbers(value: Any) -> Iterator[int]:
    """Return all message numbers in the set's nested lists, objects and strings."""
    if isinstance(value, int) or (isinstance(value, str) and value.isdigit()):
        yield int(value)
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _find_numbers(inner)


def print_counts(counts: Counts) -> None:
    """Print a table: shares in per cent of the questions with evidence, and mean tokens of all questions."""
    total: Counter[str] = Counter()
    for found in counts.values():
        total.update(found)
    print("kind".ljust(26), *(column.rjust(12) for column in _COLUMNS), "tokens".rjust(8))
    for kind, found in [*counts.items(), ("all", total)]:
        shares = [f"{100 * found[column] / max(1, found['questions']):.0f}" for column in _COLUMNS[1:]]
        cells = [str(found["questions"]), *shares]
        tokens = found["tokens"] / max(1, found["asked"])
        print(kind.ljust(26), *(cell.rjust(12) for cell in cells), f"{tokens:.0f}".rjust(8))


def main() -> None:
    """Run the chats from FIRST to LAST; `--facts` writes their facts to a file for readers."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--facts", type=Path, help="a file for the facts, one JSON object a line")
    options = parser.parse_args()
    registry.load(window=settings.WINDOW, fixed_prompts_folder=cache_dir() / "prompts")
    if not registry.wait_ready(600):
        raise SystemExit(registry.status().sentence)
    counts: Counts = defaultdict(Counter)
    call_command("migrate", verbosity=0)
    for number in range(options.first, options.last + 1):
        chat = load_chat(options.folder, str(number))
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
