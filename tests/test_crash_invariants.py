"""The checks of the crash test find what a database has lost, doubled or brought back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from chat.actions import deletions, messages
from chat.actions.facts import add_fact, pin_fact
from chat.models import Conversation, Deletion, Fact, Job, Message
from tests.crash.invariants import find_faults
from tests.crash.ledger import KnownAppMemory, KnownChat, KnownFact, Ledger, State

pytestmark = pytest.mark.django_db

SONG = "User likes the song abc by the singer def"
SAID = "I keep the abc in drawer def."
TAUGHT = "User keeps the abc in drawer def"


class TestDatabase:
    """The database of the test."""

    __test__ = False
    variables: dict[str, str] = {}

    def rows(self, query: str) -> list[Any]:
        """Run a query and return its rows."""
        with connection.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetchall()

    def find_damage(self) -> list[str]:
        """Return nothing."""
        return []

    def restart(self) -> bool:
        """Do nothing."""
        return False


@pytest.fixture
def world(owner):
    """A ledger that fits the database: a fact, and a chat with a message and its reply."""
    fact = add_fact(owner, SONG)
    asked, reply = messages.send_message(owner, SAID)
    messages.finish_reply(reply, "Yes.", "complete")
    Job.objects.all().delete()
    key = str(asked.conversation_id)
    chat = KnownChat(key, [SAID], last_message=str(asked.pk), last_reply=str(reply.pk), replies=1)
    return Ledger(owner.pk, {key: chat}, {str(fact.pk): KnownFact(str(fact.pk), SONG)})


def check(ledger: Ledger, *, settled: bool = True) -> list[str]:
    return find_faults(TestDatabase(), [ledger], settled=settled)


def test_what_was_acknowledged_is_no_fault(world):
    assert check(world) == []


def _forget_fact(ledger: Ledger) -> None:
    next(iter(ledger.facts.values())).state = State.DELETED


def _delete_chat(ledger: Ledger) -> None:
    next(iter(ledger.chats.values())).state = State.DELETED


def _double_fact(_ledger: Ledger) -> None:
    fact = Fact.objects.get()
    fact.pk = None
    fact._state.adding = True
    fact.save()


def _double_message(_ledger: Ledger) -> None:
    Message.objects.create(conversation=Conversation.objects.get(), seq=3, role="user", content=SAID)


def _hide_chat(ledger: Ledger) -> None:
    deletions.delete_conversation(Conversation.objects.get())


def _teach(text: str) -> None:
    Fact.objects.create(owner=Conversation.objects.get().owner, text=text, confidence=1, kind="tools")


def _clear(ledger: Ledger) -> None:
    ledger.cleared = {TAUGHT}
    _teach(TAUGHT)


def _edit(ledger: Ledger) -> None:
    next(iter(ledger.chats.values())).replaced = [SAID]
    _teach(TAUGHT)


def _stage(ledger: Ledger) -> None:
    now = timezone.now()
    Deletion.objects.create(
        owner_id=ledger.owner, pressed_at=now, expires_at=now + timedelta(minutes=1), state="staged"
    )


FAULTS: dict[str, Callable[[Ledger], object]] = {
    "lost fact (not stored)": lambda _: Fact.objects.all().delete(),
    "lost fact (superseded)": lambda _: Fact.objects.update(superseded_at=timezone.now()),
    "deleted fact is back": _forget_fact,
    "deleted fact is still stored": _forget_fact,
    "fact stored 2 times": _double_fact,
    "the pin of a fact is wrong": lambda _: pin_fact(Fact.objects.get(), True),
    "a fact that nobody told": lambda _: _teach("User has a dog"),
    "memory was cleared, and this is back": _clear,
    "its message was edited, and this is back": _edit,
    "lost chat": _hide_chat,
    "deletions have not ended": _hide_chat,
    "deleted chat is back": _delete_chat,
    "deleted chat is still stored": _delete_chat,
    "the pin of a chat is wrong": lambda _: Conversation.objects.update(pinned=True),
    "shows": _double_message,
    "has 0 replies and not 1": lambda _: Message.objects.filter(role="assistant").delete(),
    "has replaced": lambda ledger: next(iter(ledger.chats.values())).replaced.append("Other"),
    "lost flags": lambda ledger: next(iter(ledger.chats.values())).flagged.add(SAID),
    "lost import": lambda ledger: ledger.imported.add("Imported abc"),
    "lost app memory": lambda ledger: ledger.app_memories.update({"0" * 32: KnownAppMemory("Text")}),
    "1 replies are still being written": lambda _: Message.objects.filter(seq=2).update(state="streaming"),
    "1 deletions have not ended": _stage,
    "jobs were given up": lambda _: Job.objects.create(kind="settle", failed_at=timezone.now()),
    "extractions have not ended": lambda _: Job.objects.create(kind="extract"),
    "an answer": lambda ledger: ledger.surprises.append("an answer"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(world, fault):
    FAULTS[fault](world)
    assert [found for found in check(world) if fault in found]
