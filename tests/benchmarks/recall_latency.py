"""Time of a prompt with and without past chats: `python -m tests.benchmarks.recall_latency`.

The forty chats of `tuning_chats.json` are indexed in a temporary database. The prompt of a new chat is built
for messages of `tuning_messages.jsonl`, in turn where past chats may be quoted and where they may not. All
else before the first token is the same, except for the tokens of the quotations that the model reads. Prints
a table and exits with 1 when a bar is missed. Needs the embedder; takes about a minute.
"""

from __future__ import annotations

import json
import statistics
import sys
import time

# The import of this module sets Django up, with a data folder of its own.
from .answers import DATA, store_chats  # isort: skip
from django.db import transaction

from chat.actions.owners import default_app, local_owner
from chat.context.prompt import build_prompt
from chat.llm.registry import registry
from chat.models import Conversation, Message, Role
from tests.benchmarks.default_tokenizer import prepare_benchmark
from tests.benchmarks.running_server import Row, print_table

ROUNDS = 3


def measure(text: str, *, quotes: bool) -> tuple[float, bool]:
    """Return the seconds to build the prompt of a new chat, and whether past chats are quoted in it."""
    owner = local_owner()
    with transaction.atomic():
        chat = Conversation.objects.create(owner=owner, app=default_app(owner), use_past_chats=quotes)
        message = Message.objects.create(conversation=chat, seq=1, role=Role.USER, content=text)
        began = time.perf_counter()
        prompt = build_prompt(chat, message, registry.provider())
        took = time.perf_counter() - began
        transaction.set_rollback(True)
    return took, bool(prompt.quotations)


def build_row(what: str, extra: list[float], most: float) -> Row:
    """Return the row of the result table for the median of some differences of time.

    `extra` and the largest allowed value `most` are in seconds.
    """
    median = statistics.median(extra)
    figures = f"{median * 1000:+.1f} ms ({len(extra)} messages)"
    return Row(what, figures, f"≤ {most * 1000:.0f} ms", median <= most)


def main() -> int:
    """Measure, print the table and return the exit code."""
    embedder, _ = prepare_benchmark()
    chats = json.loads((DATA.parent / "tuning_chats.json").read_text(encoding="utf-8"))
    store_chats(local_owner(), [[[m["role"], m["content"]] for m in chat] for chat in chats], embedder)
    extra: dict[bool, list[float]] = {True: [], False: []}
    for line in (DATA.parent / "tuning_messages.jsonl").read_text(encoding="utf-8").splitlines():
        text = json.loads(line)["text"]
        rounds = [(measure(text, quotes=True), measure(text, quotes=False)) for _ in range(ROUNDS)]
        with_chats = statistics.median(seconds for (seconds, _), _ in rounds)
        without = statistics.median(seconds for _, (seconds, _) in rounds)
        extra[rounds[0][0][1]].append(with_chats - without)
    return print_table(
        [
            build_row("prompt, nothing quoted − switched off", extra[False], 0.010),
            build_row("prompt, quoted − switched off", extra[True], 0.060),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
