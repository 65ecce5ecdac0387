"""What searches find by parts of words and by meaning: `python -m tests.benchmarks.related_search`.

The searches of `tests/search/data` are asked among its messages, each a chat of its own, in a temporary
database. Printed for each kind: of how many searches a wanted message is found by words, and among the ten
that mean something similar. Needs the embedder; takes about ten seconds.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

os.environ["DATA_DIR"] = tempfile.mkdtemp(prefix="memoryapp-benchmark-")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")

import django

django.setup()

from django.contrib.auth import get_user_model  # noqa: E402
from django.core.management import call_command  # noqa: E402

from chat.actions import indexing, message_windows  # noqa: E402
from chat.actions.owners import default_app  # noqa: E402
from chat.llm import weights  # noqa: E402
from chat.llm.embedder import load_embedder  # noqa: E402
from chat.llm.registry import registry  # noqa: E402
from chat.models import Conversation, Message, User  # noqa: E402
from chat.past_chats.related_messages import find_related_messages  # noqa: E402
from chat.search.search import HitKind, find  # noqa: E402

DATA = Path(__file__).resolve().parents[1] / "search" / "data"


def read_lines(name: str) -> list[dict[str, Any]]:
    """Return the rows of a data file."""
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def store_messages(owner: User) -> dict[Any, str]:
    """Store and index the messages; return their names by key."""
    names, app = {}, default_app(owner)
    for row in read_lines("search_messages.jsonl"):
        chat = Conversation.objects.create(owner=owner, app=app)
        said = Message.objects.create(conversation=chat, seq=1, role=row["role"], content=row["content"])
        indexing.index_messages([said])
        message_windows.index_portion(chat.pk, registry.embedder())
        names[said.pk] = row["id"]
    return names


def main() -> None:
    """Ask all searches and print the counts."""
    embedder = load_embedder(weights.embedder())
    if embedder is None:
        sys.exit("The embedder is not installed.")
    registry._embedder = embedder
    call_command("migrate", verbosity=0)
    owner = get_user_model().objects.create_user("benchmark")
    names = store_messages(owner)
    counts: Counter[tuple[str, str]] = Counter()
    for row in read_lines("search_queries.jsonl"):
        wanted = set(row["expect"])
        hits = find(owner, row["query"], kinds=[HitKind.MESSAGE]).hits
        related = find_related_messages(owner, row["query"], {hit.id for hit in hits})
        counts[row["kind"], "all"] += 1
        counts[row["kind"], "words"] += bool(wanted & {names[hit.id] for hit in hits})
        counts[row["kind"], "either"] += bool(wanted & {names[hit.id] for hit in (*hits, *related)})
    for kind in ("part", "sentence", "meaning"):
        words, either, total = (counts[kind, name] for name in ("words", "either", "all"))
        print(f"{kind}: {words} of {total} found by words, {either} by words or meaning")


if __name__ == "__main__":
    main()
