"""Verbs that change memory take the owner's row before all others, so that no two wait for each other.

SQLite has one writer at a time; on PostgreSQL one of two that take the same rows in different orders fails.
"""

from __future__ import annotations

import re
from datetime import timedelta
from functools import partial

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone

from chat.actions import (
    app_memories,
    archive,
    deletions,
    fading,
    keeping,
    looks,
    messages,
    preferences,
    prompts,
    rooms,
)
from chat.actions.facts import add_fact
from chat.context.prompt import build
from chat.llm.scripted import ScriptedProvider
from chat.memory.extract import Extraction
from chat.models import App, Conversation, Message, PromptReport

pytestmark = pytest.mark.django_db
HELD = "chat_ownersettings"
WRITES = re.compile(r'^(?:UPDATE|DELETE FROM|INSERT INTO) "(chat_\w+)"')


@pytest.fixture
def taken(monkeypatch):
    """Returns a recorder of the tables whose rows a verb locks or writes, in order."""
    order: list[str] = []
    lock = QuerySet.select_for_update

    def locking(rows, *args, **kwargs):
        order.append(rows.model._meta.db_table)
        return lock(rows, *args, **kwargs)

    def writing(execute, sql, params, many, context):
        if found := WRITES.match(sql):
            order.append(found[1])
        return execute(sql, params, many, context)

    def record(verb) -> list[str]:
        monkeypatch.setattr(QuerySet, "select_for_update", locking)
        with connection.execute_wrapper(writing):
            verb()
        return order

    return record


@pytest.fixture
def chat(talk):
    """A conversation with a finished exchange."""
    asked, reply = talk("I love hiking in the hills.")
    messages.finish_reply(reply, "Nice.", "complete")
    return Conversation.objects.get(pk=asked.conversation_id)


def pressed(owner):
    add_fact(owner, "I love tea")
    return deletions.erase_all(owner)


def finish(owner, chat):
    gone = pressed(owner)
    return partial(deletions.finish, gone.pk, gone.expires_at + deletions.GRACE)


def remember(owner, chat):
    Conversation.objects.filter(pk=chat.pk).update(ended_at=timezone.now())
    chat.refresh_from_db()
    return partial(app_memories.store, chat, "The user hikes.", {"through": 2})


def write_prompt(owner, chat):
    asked, reply = Message.objects.filter(conversation=chat)
    return partial(prompts.record_prompt, chat, asked, reply, build(chat, asked, ScriptedProvider()), 8192)


def look_at(owner, chat):
    asked = Message.objects.get(conversation=chat, seq=1)
    return partial(looks.record_look, asked, Extraction(), [], "", 0.0)


VERBS = {
    "finish": finish,
    "undo": lambda owner, chat: partial(deletions.undo, pressed(owner)),
    "look": look_at,
    "prompt": write_prompt,
    "app memory": remember,
    "delete": lambda owner, chat: partial(keeping.delete, chat),
    "delete with undo": lambda owner, chat: partial(deletions.delete_conversation, chat, with_memories=True),
    "prune": lambda owner, chat: partial(keeping.prune, owner, timezone.now() + timedelta(days=1)),
    "move": lambda owner, chat: partial(
        rooms.move, chat, App.objects.create(owner=owner, slug="work", name="Work")
    ),
    "persona": lambda owner, chat: partial(preferences.set_persona, chat.app, "A pirate."),
    "fade": lambda owner, chat: partial(fading.fade, owner, timezone.now().date()),
    "purge": lambda owner, chat: partial(archive.purge, owner, timezone.now()),
}


@pytest.mark.parametrize("name", VERBS)
def test_the_owners_row_comes_first(owner, chat, taken, name):
    order = taken(VERBS[name](owner, chat))
    assert order[0] == HELD, order


def test_a_chat_that_goes_takes_its_own_row_before_its_jobs_as_who_writes_in_it_does(owner, chat, taken):
    order = taken(lambda: keeping.delete(chat))
    assert order.index("chat_conversation") < order.index("chat_job")


def test_who_ends_a_reply_takes_its_chat_before_it_as_who_deletes_that_does(talk, taken):
    _asked, reply = talk("I love hiking.")
    order = taken(lambda: messages.finish_reply(reply, "Nice.", "complete"))
    assert order.index("chat_conversation") < order.index("chat_message")


def test_no_report_is_kept_of_a_reply_that_was_deleted_meanwhile(owner, chat):
    write = write_prompt(owner, chat)
    keeping.delete(chat)
    write()
    assert not PromptReport.objects.exists()


def test_who_writes_in_one_chat_does_not_wait_for_another_that_is_being_written_in(
    owner, chat, talk, monkeypatch
):
    for text in ("One.", "Two.", "Three.", "Four."):
        talk(text)
    asked: dict[bool, int] = {False: 0, True: 0}
    lock = QuerySet.select_for_update

    def locking(rows, *args, skip_locked=False, **kwargs):
        asked[skip_locked] += rows.model is Conversation
        return lock(rows, *args, skip_locked=skip_locked, **kwargs)

    monkeypatch.setattr(QuerySet, "select_for_update", locking)
    messages.ask_for_look(chat)
    assert asked == {False: 1, True: 4}
