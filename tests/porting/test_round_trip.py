"""An export that is imported again exports as the same bytes, after an erasure or on another machine."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from chat.actions import export, importing
from chat.actions.owners import ensure_owner
from chat.models import (
    App,
    AppMemory,
    Conversation,
    Entity,
    Fact,
    FactEvent,
    Message,
    OwnerSettings,
    PromptReport,
    Relationship,
    Topic,
)

from .conftest import as_json, document, wipe
from .sample_data import NOON, create_sample_data

pytestmark = pytest.mark.django_db

# Columns that are not exported; the docstring of the export module gives the reasons.
NOT_EXPORTED = {
    OwnerSettings: {"owner"},
    App: {"owner"},
    AppMemory: {"owner", "app", "deletion"},
    Conversation: {
        "owner",
        "temporary",
        "deletion",
        "kept_at",
        "memory_block",
        "memory_block_facts",
        "branch",
    }
    | {"prepared", "flushed_through", "imported_through", "windows_through", "unquoted_through"},
    Topic: {"conversation", "embedding", "embedder", "restored_through"},
    Message: {"conversation", "archive", "imported", "by_program", "process", "ordered_at"}
    | {"reasoning", "reasoning_seconds"},
    PromptReport: {"reply"},
    Fact: {"owner", "embedding", "embedder", "durability", "deletion"},
    FactEvent: {"fact"},
    Entity: {"owner", "key", "embedding", "embedder"},
    Relationship: {"owner"},
}
EXPORTED = {
    OwnerSettings: export.SETTINGS,
    App: export.APP,
    AppMemory: export.APP_MEMORY,
    Conversation: export.CONVERSATION,
    Topic: export.TOPIC,
    # Computed, without the keys of deletions.
    Message: (*export.MESSAGE, "kept_out"),
    PromptReport: export.REPORT,
    Fact: export.FACT,
    FactEvent: export.EVENT,
    Entity: export.ENTITY,
    Relationship: export.RELATIONSHIP,
}


@pytest.mark.parametrize("model", EXPORTED, ids=lambda model: model.__name__)
def test_each_column_is_exported_or_listed_as_not_exported(model):
    columns = {field.name for field in model._meta.concrete_fields}
    assert columns - NOT_EXPORTED[model] == set(EXPORTED[model])


def test_an_import_after_an_erasure_restores_the_same_bytes(owner, import_document):
    create_sample_data(owner)
    before = document(owner)
    wipe(owner)
    assert as_json(owner)["conversations"] == []
    outcome = import_document(before)
    assert outcome.refusals == []
    assert document(owner) == before


def test_an_import_on_another_machine_gives_the_same_bytes(owner, import_document):
    create_sample_data(owner)
    before = document(owner)
    wipe(owner)
    App.objects.all().delete()
    fresh = App.objects.create(owner=owner, slug="general", name="General")
    import_document(before)
    assert document(owner) == before
    assert not App.objects.filter(pk=fresh.pk).exists()


def test_a_second_import_adds_and_changes_nothing(owner, import_document):
    create_sample_data(owner)
    before = document(owner)
    outcome = import_document(before)
    assert not outcome.changes
    assert outcome.refusals == []
    assert (outcome.messages.there, outcome.conversations.there, outcome.facts.there) == (40, 1, 8)
    assert document(owner) == before


def test_importing_another_owners_export_creates_new_ids(owner, other, import_document):
    create_sample_data(owner, messages=250)
    before = document(owner)
    outcome = import_document(before, other)
    assert (outcome.conversations.added, outcome.messages.added) == (3, 250)
    assert document(owner) == before
    ours, theirs = as_json(owner), as_json(other)
    assert not set(_ids(ours)) & set(_ids(theirs))
    assert _message_contents(theirs) == _message_contents(ours)
    assert [f["text"] for f in theirs["facts"]] == [f["text"] for f in ours["facts"]]
    # Sources and superseded facts refer to the other owner's own rows.
    facts = {f["id"]: f for f in theirs["facts"]}
    chats = {c["id"] for c in theirs["conversations"]}
    assert {f["source_conversation"] for f in facts.values()} <= chats
    assert sum(f["supersedes"] in facts for f in facts.values()) == 1
    assert len(theirs["graph"]["relationships"]) == len(ours["graph"]["relationships"])
    assert not import_document(before, other).changes
    assert as_json(other) == theirs


def _ids(found: dict[str, Any]) -> list[str]:
    kept = [found["apps"], found["conversations"], found["facts"], found["graph"]["entities"]]
    rows = [row for rows in kept for row in rows]
    rows += [m for c in found["conversations"] for m in c["messages"]]
    rows += [e for f in found["facts"] for e in f["history"]]
    return [row["id"] for row in rows]


def _message_contents(found: dict[str, Any]) -> list[Any]:
    return [
        [(m["role"], m["content"], m["seq"], bool(m["replaced_by"]), m["note"]) for m in chat["messages"]]
        for chat in found["conversations"]
    ]


def test_a_running_reply_is_imported_as_stopped(owner, talk, import_document):
    talk("Hello")
    before = as_json(owner)
    wipe(owner)
    import_document(before)
    reply = Message.objects.get(role="assistant")
    assert (reply.state, reply.failure != "") == ("stopped", True)


def test_an_older_export_without_newer_columns_is_imported(owner, import_document):
    create_sample_data(owner)
    found = as_json(owner)
    wipe(owner)
    for chat in found["conversations"]:
        for name in ("extracted_through", "app_memory_after", "cuts", "kept", "titled_by"):
            del chat[name]
        for message in chat["messages"]:
            del message["report"], message["note"]
    for fact in found["facts"]:
        for line in fact["history"]:
            del line["id"]
    import_document(found)
    chat = Conversation.objects.get()
    assert (chat.extracted_through, chat.app_memory_after) == (40, 40)
    assert Fact.objects.count() == len(found["facts"])
    assert not import_document(found).changes


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=30)
moments = st.datetimes(datetime(2000, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))
chats = st.lists(
    st.tuples(texts, st.booleans(), st.lists(st.tuples(texts, st.booleans(), moments), max_size=5)),
    max_size=3,
)


@hypothesis_settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chats=chats, notes=st.dictionaries(texts, st.one_of(texts, st.integers(), st.none()), max_size=3))
def test_any_small_data_set_survives_an_export_and_import(tmp_path, db, chats, notes):
    owner = ensure_owner(f"person-{uuid4()}")
    app = App.objects.get(owner=owner)
    for title, pinned, said in chats:
        chat = Conversation.objects.create(
            owner=owner, app=app, title=title, pinned=pinned, metadata=notes, created_at=NOON, updated_at=NOON
        )
        rows = [
            Message(conversation=chat, seq=n, role="user", content=text, flagged=marked, created_at=at)
            for n, (text, marked, at) in enumerate(said, 1)
        ]
        for earlier, later in pairwise(rows):
            earlier.replaced_by = later if earlier.flagged else None
        Message.objects.bulk_create(rows)
    before = document(owner)
    path = tmp_path / "world.json"
    path.write_bytes(before)
    wipe(owner)
    importing.import_file(owner, path)
    assert document(owner) == before
    assert not importing.import_file(owner, path).changes


def test_the_query_count_does_not_grow_with_the_messages(owner, file, django_assert_max_num_queries):
    create_sample_data(owner, messages=300)
    path = file(document(owner))
    with django_assert_max_num_queries(60):
        importing.dry_run(owner, path)


def test_times_survive_to_the_microsecond(owner, import_document):
    create_sample_data(owner, messages=4)
    before = as_json(owner)
    wipe(owner)
    import_document(before)
    assert Message.objects.get(seq=1).created_at == NOON + timedelta(minutes=1)
    assert Message.objects.get(seq=1).created_at.microsecond == 123456
