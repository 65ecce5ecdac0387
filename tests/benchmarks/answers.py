"""Measures which questions quotations answer: `python -m tests.benchmarks.answers [FILE]`.

FILE is `answers.jsonl`, the default, or a file of its form: persons with twelve chats each and sixteen
questions, each with the sentences that answer it. Printed is which need the need classifier sees in the
questions, how often an answer is among the first sentences of the ranking, and how often it is quoted within
150 tokens.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

os.environ["DATA_DIR"] = tempfile.mkdtemp(prefix="memoryapp-benchmark-")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")

import django

django.setup()

from django.utils import timezone  # noqa: E402

from chat.actions import indexing, message_windows  # noqa: E402
from chat.actions.owners import default_app, ensure_owner  # noqa: E402
from chat.context.past_chats import find_needed_sentences, find_quotations  # noqa: E402
from chat.llm.embedder import Embedder  # noqa: E402
from chat.models import Conversation, Message, Role, User  # noqa: E402
from chat.past_chats.related_messages import recall_sentences  # noqa: E402
from tests.benchmarks.default_tokenizer import prepare_benchmark  # noqa: E402

DATA = Path(__file__).resolve().parents[1] / "past_chats" / "data" / "answers.jsonl"
FIRST = (1, 3, 5, 10, 16, 60)
ROOM = 150


def store_chats(owner: User, chats: list[list[list[str]]], embedder: Embedder) -> None:
    """Store and index the chats of a person, a chat a day."""
    for number, said in enumerate(chats):
        day = timezone.now() - timedelta(days=len(chats) - number)
        chat = Conversation.objects.create(owner=owner, app=default_app(owner), created_at=day)
        rows = [
            Message(conversation=chat, seq=seq, role=role, content=text, created_at=day)
            for seq, (role, text) in enumerate(said, 1)
        ]
        Message.objects.bulk_create(rows)
        indexing.index_messages(rows)
    for key in message_windows.find_conversations_without_windows():
        while message_windows.index_portion(key, embedder):
            pass


def is_answer(text: str, answers: list[str]) -> bool:
    """Return whether a sentence of the ranking is one of the answers, or the larger part of one."""
    return any(answer in text or (len(text) > len(answer) / 2 and text in answer) for answer in answers)


def main() -> None:
    """Find sentences for all questions, and print how often an answer is among them."""
    embedder, provider = prepare_benchmark()
    needs: Counter[str] = Counter()
    found: Counter[Any] = Counter()
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        person = json.loads(line)
        owner = ensure_owner(f"person {number}")
        store_chats(owner, person["chats"], embedder)
        for question in person["questions"]:
            chat = Conversation.objects.create(owner=owner, app=default_app(owner))
            asked = Message.objects.create(conversation=chat, seq=1, role=Role.USER, content=question["text"])
            need, _ = find_needed_sentences(chat, asked.content, embedder)
            needs[need.name.lower()] += 1
            ranked = recall_sentences(owner, chat.app, asked.content, FIRST[-1])
            right = [is_answer(one.text, question["answers"]) for one in ranked]
            found.update(most for most in FIRST if any(right[:most]))
            quoted = find_quotations(chat, asked, ROOM, provider.count_text)
            found["quoted"] += any(is_answer(one.text, question["answers"]) for one in quoted)
    total = needs.total()
    print(f"{total} questions:", ", ".join(f"{name} {count / total:.0%}" for name, count in needs.items()))
    for most in FIRST:
        print(f"an answer is among the first {most}: {found[most] / total:.0%}")
    print(f"quoted within {ROOM} tokens: {found['quoted'] / total:.0%}")


if __name__ == "__main__":
    main()
