"""A deleted app memory is not imported again, even if its conversation is deleted too."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from chat.actions import app_memories, apps, deletions, erasure
from chat.actions.facts import add_fact
from chat.actions.messages import finish_reply
from chat.models import App, AppMemory, Tombstone

from .conftest import as_json, wipe

pytestmark = pytest.mark.django_db

DELETED_HERE = "You have deleted this memory here."


@pytest.fixture
def memory(owner, talk):
    """An app memory of the default app, written from a conversation."""
    asked, reply = talk("I take the blue tent.")
    finish_reply(reply, "Take it.", "complete")
    chat = asked.conversation
    return AppMemory.objects.create(
        owner=owner, app=chat.app, content="Took the blue tent.", source_conversation=chat,
        metadata={"through": 2}
    )  # fmt: skip


def finish_deletion(deletion):
    assert deletions.finish_deletion(deletion.pk, timezone.now() + timedelta(minutes=1))


def delete_by_hand(memory):
    finish_deletion(deletions.forget_app_memories(memory.app, [memory.pk]))


def delete_after_conversation(memory):
    erasure.purge_conversation(memory.source_conversation)
    delete_by_hand(AppMemory.objects.get())


def delete_with_conversation(memory):
    finish_deletion(deletions.delete_conversation(memory.source_conversation, with_memories=True))


def delete_with_app(memory):
    apps.create_app(memory.owner, "Another")
    erasure.purge_conversation(memory.source_conversation)
    finish_deletion(apps.archive_app(memory.app, purge=True))


def delete_all_of_app(memory):
    erasure.purge_conversation(memory.source_conversation)
    finish_deletion(deletions.forget_app_memories(memory.app))


DELETIONS = [
    delete_by_hand,
    delete_after_conversation,
    delete_with_conversation,
    delete_with_app,
    delete_all_of_app,
]


@pytest.mark.parametrize("delete", DELETIONS)
def test_a_deleted_app_memory_is_not_imported_again(owner, memory, import_document, delete):
    older = as_json(owner)
    delete(memory)
    outcome = import_document(older)
    assert not AppMemory.objects.exists()
    assert [r.why for r in outcome.refusals] == [DELETED_HERE]
    assert outcome.forgotten == 1
    assert not any("tent" in str(vars(stone)) for stone in Tombstone.objects.all())


@pytest.mark.parametrize("delete", DELETIONS)
def test_a_deleted_app_memory_is_imported_if_the_owner_chooses(owner, memory, import_document, delete):
    older = as_json(owner)
    delete(memory)
    import_document(older, forgotten=True)
    assert AppMemory.objects.get().content == "Took the blue tent."


@pytest.mark.parametrize("change", ["words", "id", "source"])
def test_a_deleted_app_memory_is_recognised_by_id_text_or_conversation(
    owner, memory, import_document, change
):
    older = as_json(owner)
    (row,) = older["apps"][0]["memories"]
    older["conversations"] = []
    if change == "words":
        row["content"] = "The tent was blue."
        row["source_conversation"] = None
    elif change == "id":
        row["id"], row["source_conversation"] = str(uuid4()), None
    else:
        row["id"], row["content"] = str(uuid4()), "The tent was blue."
    delete_by_hand(memory)
    erasure.purge_conversation(memory.source_conversation)
    assert [r.why for r in import_document(older).refusals] == [DELETED_HERE]


def test_clearing_an_app_also_bars_its_memories_from_another_machine(owner, memory, import_document):
    older = as_json(owner)
    row = older["apps"][0]["memories"][0]
    row |= {"id": str(uuid4()), "content": "Took the stove too.", "source_conversation": None}
    delete_all_of_app(memory)
    assert [r.why for r in import_document(older).refusals] == [DELETED_HERE]


def test_an_app_memory_newer_than_the_deletion_is_imported(owner, memory, import_document):
    newer = as_json(owner)
    delete_by_hand(memory)
    erasure.purge_conversation(memory.source_conversation)
    newer["apps"][0]["memories"][0]["updated_at"] = (timezone.now() + timedelta(seconds=1)).isoformat()
    assert import_document(newer).app_memories.added == 1


def test_an_undone_deletion_does_not_bar_an_import(owner, memory, import_document):
    older = as_json(owner)
    deletions.undo_deletion(deletions.forget_app_memories(memory.app, [memory.pk]))
    AppMemory.objects.all().delete()
    assert import_document(older).app_memories.added == 1


def test_an_evicted_app_memory_is_imported_again(owner, memory, import_document):
    older = as_json(owner)
    app_memories._delete_evicted([memory])
    assert import_document(older).app_memories.added == 1


def test_an_app_memory_pending_deletion_is_not_imported_under_another_id(owner, memory, import_document):
    older = as_json(owner)
    older["apps"][0]["memories"][0] |= {"id": str(uuid4()), "source_conversation": None}
    deletions.forget_app_memories(memory.app, [memory.pk])
    outcome = import_document(older)
    assert [r.why for r in outcome.refusals] == ["It is being forgotten here. Undo that first."]


def test_an_app_memory_is_not_imported_without_its_conversation(owner, memory, import_document):
    older = as_json(owner)
    AppMemory.objects.all().delete()
    deletions.delete_conversation(memory.source_conversation)
    outcome = import_document(older)
    assert [r.why for r in outcome.refusals] == [
        "This chat is being deleted here. Undo that first.",
        "Its chat was not imported.",
    ]
    assert not AppMemory.objects.exists()


def test_a_deletion_does_not_affect_another_owners_import(owner, other, memory, import_document):
    older = as_json(owner)
    delete_by_hand(memory)
    assert import_document(older, other).app_memories.added == 1


def test_a_deleted_app_memory_does_not_bar_a_fact_with_the_same_text(owner, memory, import_document):
    delete_by_hand(memory)
    fact = add_fact(owner, "Took the blue tent.")
    older = as_json(owner)
    fact.delete()
    assert import_document(older).facts.added == 1


def test_everything_is_imported_after_the_account_was_erased(owner, memory, import_document):
    delete_by_hand(memory)
    older = as_json(owner)
    wipe(owner)
    assert not Tombstone.objects.exists()
    assert App.objects.filter(owner=owner).count() == 1
    assert import_document(older).conversations.added == 1
