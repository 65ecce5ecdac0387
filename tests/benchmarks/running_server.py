"""Helpers of the benchmarks that use a running server.

Import this module after `django.setup()` with the server's data folder.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone

from chat.actions.owners import default_app
from chat.context.prompt import build_prompt
from chat.llm.types import Turn
from chat.models import Conversation, Job, Message, Role
from tests.benchmarks.bare_llama_cpp import BareLlama
from tests.page_client import PageClient


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the result table."""

    what: str
    measured: str
    bar: str
    ok: bool


def print_table(rows: Sequence[Row]) -> int:
    """Print the table and return the exit code: 1 when a bar was missed."""
    width = max(len(r.what) for r in rows)
    print(f"\n{'measure':<{width}}  {'measured':<44}  bar")
    for row in rows:
        print(f"{row.what:<{width}}  {row.measured:<44}  {row.bar:<24}  {'ok' if row.ok else 'MISSED'}")
    return 0 if all(r.ok for r in rows) else 1


def open_page(base: str) -> PageClient:
    """Return a client of the server's pages once the model is loaded."""
    page = PageClient(base)
    wait_until(lambda: "The model is loading" not in page.get("/"), "the model")
    return page


def create_conversation(owner: Any, exchanges: Iterable[tuple[str, str]]) -> str:
    """Create a conversation whose messages count as extracted, and return its id."""
    conversation = Conversation.objects.create(owner=owner, app=default_app(owner), title="Gym")
    contents = [text for exchange in exchanges for text in exchange]
    Message.objects.bulk_create(
        Message(conversation=conversation, seq=i, role="user" if i % 2 else "assistant", content=text)
        for i, text in enumerate(contents, start=1)
    )
    Conversation.objects.filter(pk=conversation.pk).update(extracted_through=len(contents))
    return str(conversation.pk)


def read_prompt_tokens(bare: BareLlama, reply_id: str) -> list[int]:
    """Rebuild the prompt of a reply and return its token ids."""
    return bare.template.tokens(read_prompt_turns(bare, reply_id))


def read_prompt_turns(bare: BareLlama, reply_id: str) -> list[Turn]:
    """Rebuild the prompt of a reply and return its turns."""
    reply = Message.objects.select_related("conversation__app", "conversation__owner").get(pk=reply_id)
    asked = Message.objects.filter(conversation=reply.conversation, seq__lt=reply.seq, role=Role.USER).last()
    if asked is None:
        raise RuntimeError("the reply answers nothing")
    return build_prompt(reply.conversation, asked, _Counter(bare)).turns  # type: ignore[arg-type]


@dataclass(frozen=True)
class _Counter:
    """The parts of a provider that building a prompt needs: the window and the tokenizer."""

    bare: BareLlama
    name: str = "bare"
    context_window: int = 8192

    def count_tokens(self, turns: list[Turn]) -> int:
        return len(self.bare.template.tokens(turns))

    def count_text(self, text: str) -> int:
        return len(self.bare.native.tokenize(text, special=False))


def wait_until_idle() -> None:
    """Wait until no job is running or due within a minute, so that nothing else uses the processor."""

    def busy() -> bool:
        waiting = Job.objects.filter(failed_at__isnull=True).exclude(kind="end_idle")
        due = waiting.filter(run_after__lte=timezone.now() + timedelta(seconds=60))
        return due.exists() or waiting.filter(lease_until__isnull=False).exists()

    wait_until(lambda: not busy(), "the jobs")
    time.sleep(0.3)


def wait_until(condition: Any, what: str, seconds: float = 240) -> None:
    """Poll a condition. Raises RuntimeError after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{what} took longer than {seconds:.0f} s")
        time.sleep(0.1)
