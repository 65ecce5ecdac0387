"""What an app was made to forget stays forgotten through an import, also where its chat is gone."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from chat.actions import app_memories, apps, deletions, keeping
from chat.actions.facts import add_fact
from chat.actions.messages import finish_reply
from chat.models import App, AppMemory, Tombstone

from .conftest import as_json, wipe

pytestmark = pytest.mark.django_db

FORGOTTEN = "You have forgotten this here."


@pytest.fixture
def memory(owner, talk):
    """What the first app remembers of a chat."""
    asked, reply = talk("I take the blue tent.")
    finish_reply(reply, "Take it.", "complete")
    chat = asked.conversation
    return AppMemory.objects.create(
        owner=owner, app=chat.app, content="Took the blue tent.", source_conversation=chat,
        metadata={"through": 2}
    )  # fmt: skip


def finish(deletion):
    assert deletions.finish(deletion.pk, timezone.now() + timedelta(minutes=1))


def by_hand(memory):
    finish(deletions.forget_app_memories(memory.app, [memory.pk]))


def gone_with_its_chat(memory):
    keeping.delete(memory.source_conversation)
    by_hand(AppMemory.objects.get())


def with_its_chat(memory):
    finish(deletions.delete_conversation(memory.source_conversation, with_memories=True))


def with_its_app(memory):
    apps.create(memory.owner, "Another")
    keeping.delete(memory.source_conversation)
    finish(apps.archive(memory.app, purge=True))


def with_all_of_its_app(memory):
    keeping.delete(memory.source_conversation)
    finish(deletions.forget_app_memories(memory.app))


WAYS = [by_hand, gone_with_its_chat, with_its_chat, with_its_app, with_all_of_its_app]


@pytest.mark.parametrize("way", WAYS)
def test_however_it_was_forgotten_an_older_file_does_not_bring_it_back(owner, memory, taken, way):
    older = as_json(owner)
    way(memory)
    outcome = taken(older)
    assert not AppMemory.objects.exists()
    assert [r.why for r in outcome.refusals] == [FORGOTTEN]
    assert outcome.forgotten == 1
    assert not any("tent" in str(vars(stone)) for stone in Tombstone.objects.all())


@pytest.mark.parametrize("way", WAYS)
def test_unless_the_owner_wants_it_back(owner, memory, taken, way):
    older = as_json(owner)
    way(memory)
    taken(older, forgotten=True)
    assert AppMemory.objects.get().content == "Took the blue tent."


@pytest.mark.parametrize("change", ["words", "id", "source"])
def test_by_its_id_by_its_words_or_by_its_chat_it_is_known(owner, memory, taken, change):
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
    by_hand(memory)
    keeping.delete(memory.source_conversation)
    assert [r.why for r in taken(older).refusals] == [FORGOTTEN]


def test_all_of_an_app_are_forgotten_also_those_that_another_machine_has(owner, memory, taken):
    older = as_json(owner)
    row = older["apps"][0]["memories"][0]
    row |= {"id": str(uuid4()), "content": "Took the stove too.", "source_conversation": None}
    with_all_of_its_app(memory)
    assert [r.why for r in taken(older).refusals] == [FORGOTTEN]


def test_what_was_remembered_after_that_comes_in(owner, memory, taken):
    newer = as_json(owner)
    by_hand(memory)
    keeping.delete(memory.source_conversation)
    newer["apps"][0]["memories"][0]["updated_at"] = (timezone.now() + timedelta(seconds=1)).isoformat()
    assert taken(newer).app_memories.added == 1


def test_an_undo_leaves_nothing_forgotten(owner, memory, taken):
    older = as_json(owner)
    deletions.undo(deletions.forget_app_memories(memory.app, [memory.pk]))
    AppMemory.objects.all().delete()
    assert taken(older).app_memories.added == 1


def test_what_makes_room_for_another_is_not_forgotten(owner, memory, taken):
    older = as_json(owner)
    app_memories._let_go([memory])
    assert taken(older).app_memories.added == 1


def test_on_its_way_out_it_is_not_taken_in_under_another_id_either(owner, memory, taken):
    older = as_json(owner)
    older["apps"][0]["memories"][0] |= {"id": str(uuid4()), "source_conversation": None}
    deletions.forget_app_memories(memory.app, [memory.pk])
    outcome = taken(older)
    assert [r.why for r in outcome.refusals] == ["It is being forgotten here. Undo that first."]


def test_without_its_chat_it_is_not_taken(owner, memory, taken):
    older = as_json(owner)
    AppMemory.objects.all().delete()
    deletions.delete_conversation(memory.source_conversation)
    outcome = taken(older)
    assert [r.why for r in outcome.refusals] == [
        "This chat is being deleted here. Undo that first.",
        "Its chat is not taken.",
    ]
    assert not AppMemory.objects.exists()


def test_one_owner_s_forgetting_is_not_another_s(owner, other, memory, taken):
    older = as_json(owner)
    by_hand(memory)
    assert taken(older, other).app_memories.added == 1


def test_an_app_memory_s_words_are_no_fact_s(owner, memory, taken):
    by_hand(memory)
    fact = add_fact(owner, "Took the blue tent.")
    older = as_json(owner)
    fact.delete()
    assert taken(older).facts.added == 1


def test_after_all_was_deleted_everything_comes_back(owner, memory, taken):
    by_hand(memory)
    older = as_json(owner)
    wipe(owner)
    assert not Tombstone.objects.exists()
    assert App.objects.filter(owner=owner).count() == 1
    assert taken(older).conversations.added == 1
