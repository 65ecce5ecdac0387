"""Actions that change memory lock the owner's row before all others, so that they cannot deadlock.

SQLite has one writer at a time; PostgreSQL aborts one of two transactions that lock rows in different orders.
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
    apps,
    archive,
    conversation_jobs,
    conversations,
    decay,
    deletions,
    erasure,
    extraction,
    messages,
    prompts,
)
from chat.actions.facts import add_fact
from chat.context.prompt import build_prompt
from chat.llm.scripted import ScriptedProvider
from chat.memory.candidates import Extraction
from chat.models import App, Conversation, Message, PromptReport

pytestmark = pytest.mark.django_db
OWNER_TABLE = "chat_ownersettings"
WRITES = re.compile(r'^(?:UPDATE|DELETE FROM|INSERT INTO) "(chat_\w+)"')


@pytest.fixture
def record_tables(monkeypatch):
    """Return a function that runs an action and returns the tables it locks or writes, in order."""
    order: list[str] = []
    lock = QuerySet.select_for_update

    def record_lock(rows, *args, **kwargs):
        order.append(rows.model._meta.db_table)
        return lock(rows, *args, **kwargs)

    def record_write(execute, sql, params, many, context):
        if found := WRITES.match(sql):
            order.append(found[1])
        return execute(sql, params, many, context)

    def record(action) -> list[str]:
        monkeypatch.setattr(QuerySet, "select_for_update", record_lock)
        with connection.execute_wrapper(record_write):
            action()
        return order

    return record


@pytest.fixture
def chat(talk):
    """A conversation with a complete exchange."""
    asked, reply = talk("I love hiking in the hills.")
    messages.finish_reply(reply, "Nice.", "complete")
    return Conversation.objects.get(pk=asked.conversation_id)


def start_erasure(owner):
    add_fact(owner, "I love tea")
    return deletions.erase_account(owner)


def finish_erasure(owner, chat):
    gone = start_erasure(owner)
    return partial(deletions.finish_deletion, gone.pk, gone.expires_at + deletions.UNDO_GRACE)


def store_memory(owner, chat):
    Conversation.objects.filter(pk=chat.pk).update(ended_at=timezone.now())
    chat.refresh_from_db()
    return partial(app_memories.store_app_memory, chat, "The user hikes.", {"through": 2})


def write_prompt(owner, chat):
    asked, reply = Message.objects.filter(conversation=chat)
    return partial(
        prompts.record_prompt, chat, asked, reply, build_prompt(chat, asked, ScriptedProvider()), 8192
    )


def record_extraction_run(owner, chat):
    asked = Message.objects.get(conversation=chat, seq=1)
    return partial(extraction.record_extraction, asked, Extraction(), [], "", 0.0)


ACTIONS = {
    "finish": finish_erasure,
    "undo": lambda owner, chat: partial(deletions.undo_deletion, start_erasure(owner)),
    "look": record_extraction_run,
    "prompt": write_prompt,
    "app memory": store_memory,
    "delete": lambda owner, chat: partial(erasure.purge_conversation, chat),
    "delete with undo": lambda owner, chat: partial(deletions.delete_conversation, chat, with_memories=True),
    "prune": lambda owner, chat: partial(
        erasure.prune_conversations, owner, timezone.now() + timedelta(days=1)
    ),
    "move": lambda owner, chat: partial(
        conversations.move_conversation, chat, App.objects.create(owner=owner, slug="work", name="Work")
    ),
    "persona": lambda owner, chat: partial(apps.set_persona, chat.app, "A pirate."),
    "fade": lambda owner, chat: partial(decay.apply_decay, owner, timezone.now().date()),
    "purge": lambda owner, chat: partial(archive.purge_archive, owner, timezone.now()),
}


@pytest.mark.parametrize("name", ACTIONS)
def test_the_owners_row_is_locked_first(owner, chat, record_tables, name):
    order = record_tables(ACTIONS[name](owner, chat))
    assert order[0] == OWNER_TABLE, order


def test_purging_a_conversation_locks_its_row_before_its_jobs(owner, chat, record_tables):
    order = record_tables(lambda: erasure.purge_conversation(chat))
    assert order.index("chat_conversation") < order.index("chat_job")


def test_finishing_a_reply_locks_its_conversation_before_the_message(talk, record_tables):
    _asked, reply = talk("I love hiking.")
    order = record_tables(lambda: messages.finish_reply(reply, "Nice.", "complete"))
    assert order.index("chat_conversation") < order.index("chat_message")


def test_no_prompt_report_is_stored_for_a_deleted_reply(owner, chat):
    write = write_prompt(owner, chat)
    erasure.purge_conversation(chat)
    write()
    assert not PromptReport.objects.exists()


def test_queueing_extraction_skips_other_locked_conversations(owner, chat, talk, monkeypatch):
    for text in ("One.", "Two.", "Three.", "Four."):
        talk(text)
    lock_counts: dict[bool, int] = {False: 0, True: 0}
    lock = QuerySet.select_for_update

    def count_locks(rows, *args, skip_locked=False, **kwargs):
        lock_counts[skip_locked] += rows.model is Conversation
        return lock(rows, *args, **{**kwargs, "skip_locked": skip_locked})

    monkeypatch.setattr(QuerySet, "select_for_update", count_locks)
    conversation_jobs.queue_extraction(chat)
    assert lock_counts == {False: 1, True: 4}
