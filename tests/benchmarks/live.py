"""What the benchmarks of the running server share. Import it once Django is set up on the server's data."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone

from chat.actions.owners import default_app
from chat.context.prompt import build
from chat.llm.types import Turn
from chat.models import Conversation, Job, Message, Role
from tests.benchmarks.bare import Bare
from tests.page_client import Page


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    what: str
    measured: str
    bar: str
    ok: bool


def printed(rows: Sequence[Row]) -> int:
    """Print the table and return the exit code."""
    width = max(len(r.what) for r in rows)
    print(f"\n{'measure':<{width}}  {'measured':<44}  bar")
    for row in rows:
        print(f"{row.what:<{width}}  {row.measured:<44}  {row.bar:<24}  {'ok' if row.ok else 'MISSED'}")
    return 0 if all(r.ok for r in rows) else 1


def loaded(base: str) -> Page:
    """Return the server's page, once its model is there."""
    page = Page(base)
    wait_until(lambda: "The model is loading" not in page.get("/"), "the model")
    return page


def planted(owner: Any, exchanges: Iterable[tuple[str, str]]) -> str:
    """Return the key of a new conversation that memory has read."""
    talked = Conversation.objects.create(owner=owner, app=default_app(owner), title="Gym")
    said = [text for exchange in exchanges for text in exchange]
    Message.objects.bulk_create(
        Message(conversation=talked, seq=i, role="user" if i % 2 else "assistant", content=text)
        for i, text in enumerate(said, start=1)
    )
    Conversation.objects.filter(pk=talked.pk).update(extracted_through=len(said))
    return str(talked.pk)


def tokens_of(bare: Bare, reply_id: str) -> list[int]:
    """Return the prompt that the server gave to the model for a reply, as token ids."""
    return bare.template.tokens(turns_of(bare, reply_id))


def turns_of(bare: Bare, reply_id: str) -> list[Turn]:
    """Return the prompt that the server gave to the model for a reply."""
    reply = Message.objects.select_related("conversation__app", "conversation__owner").get(pk=reply_id)
    asked = Message.objects.filter(conversation=reply.conversation, seq__lt=reply.seq, role=Role.USER).last()
    if asked is None:
        raise RuntimeError("the reply answers nothing")
    return build(reply.conversation, asked, _Counter(bare)).turns  # type: ignore[arg-type]


@dataclass(frozen=True)
class _Counter:
    """What building a prompt needs of a provider: the window and the tokenizer."""

    bare: Bare
    name: str = "bare"
    context_window: int = 8192

    def count_tokens(self, turns: list[Turn]) -> int:
        return len(self.bare.template.tokens(turns))

    def count_text(self, text: str) -> int:
        return len(self.bare.native.tokenize(text, special=False))


def quiet() -> None:
    """Wait until no job is due or running, so that the machine is ours."""

    def busy() -> bool:
        waiting = Job.objects.filter(failed_at__isnull=True).exclude(kind="end_idle")
        due = waiting.filter(run_after__lte=timezone.now() + timedelta(seconds=60))
        return due.exists() or waiting.filter(lease_until__isnull=False).exists()

    wait_until(lambda: not busy(), "the jobs")
    time.sleep(0.3)


def wait_until(condition: Any, what: str, seconds: float = 240) -> None:
    """Poll a condition; raises when the time is over."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{what} took longer than {seconds:.0f} s")
        time.sleep(0.1)
