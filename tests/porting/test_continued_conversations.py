"""An import that extends a conversation changes it only once all new messages are stored, however it ends."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions import importing, indexing
from chat.actions.importing import append, chats
from chat.actions.messages import finish_reply
from chat.models import Conversation, Deletion, Message, SearchEntry

from .conftest import as_json, document, wipe
from .sample_data import create_sample_data

pytestmark = pytest.mark.django_db


class Killed(BaseException):
    """An exception that no handler in the import catches."""


@pytest.fixture
def longer_export(owner, file, monkeypatch):
    """An export of a conversation of 20 messages, four of which are stored; batches have three messages."""
    monkeypatch.setattr(chats, "_MESSAGES", 3)
    create_sample_data(owner, messages=20, in_a_chat=20, facts=0)
    whole = document(owner)
    found = json.loads(whole)
    (chat,) = found["conversations"]
    chat["messages"] = [{**m, "replaced_by": None} for m in chat["messages"][:4]]
    used_topics = {m["topic"] for m in chat["messages"]}
    chat["topics"] = [topic for topic in chat["topics"] if topic["id"] in used_topics]
    chat |= {"extracted_through": 4, "summary": "", "summarised_through": 0}
    wipe(owner)
    importing.import_file(owner, file({**found, "apps": [{**app, "memories": []} for app in found["apps"]]}))
    return whole


def expire_staged_batches():
    Deletion.objects.filter(state="staged").update(expires_at=timezone.now() - timedelta(seconds=1))


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", range(1, 8))
def test_an_import_killed_at_any_step_changes_nothing_and_can_be_repeated(
    owner, longer_export, file, monkeypatch, step, when
):
    before = document(owner)
    path = file(longer_export)
    with monkeypatch.context() as patch:
        real, count = append.keep_batch_alive, iter(range(1, 99))
        patch.setattr("chat.actions.importing.staging._remove", lambda batch: None)

        def hold(batch):
            number = next(count)
            if number == step + (when == "after"):
                raise Killed
            real(batch)

        patch.setattr(append, "keep_batch_alive", hold)
        try:
            importing.import_file(owner, path)
        except Killed:
            assert document(owner) == before
            assert Conversation.objects.for_owner(owner).listed().count() == 1
            assert importing.dry_run(owner, path).messages.added == 16
    expire_staged_batches()
    importing.import_file(owner, path)
    (found,), (wanted,) = (json.loads(text)["conversations"] for text in (document(owner), longer_export))
    # Imported messages count as already covered by the app memory.
    assert found == {**wanted, "app_memory_after": 20}
    assert Conversation.objects.count() == 1
    assert not importing.import_file(owner, path).changes


def test_imported_messages_are_not_extracted_even_after_unextracted_ones(owner, longer_export, file):
    Conversation.objects.update(extracted_through=0, imported_through=0)
    unread = [m.pk for m in Message.objects.backlog(owner)]
    assert unread
    importing.import_file(owner, file(longer_export))
    assert [m.pk for m in Message.objects.backlog(owner)] == unread


def test_entries_indexed_while_staged_move_to_the_conversation(owner, longer_export, file, monkeypatch):
    real, staged_keys = append._append, []

    def index_and_append(chat, rows, first, key):
        staged_keys.append(key)
        indexing.fill_index([key])
        return real(chat, rows, first, key)

    monkeypatch.setattr(append, "_append", index_and_append)
    importing.import_file(owner, file(longer_export))
    chat = Conversation.objects.get()
    assert chat.pk != staged_keys[0]
    read = SearchEntry.objects.filter(message__seq__gt=7)
    assert read.exists()
    assert set(read.values_list("conversation", flat=True)) == {chat.pk}


def test_a_conversation_changed_during_the_import_is_refused(owner, longer_export, file, talk, monkeypatch):
    chat = Conversation.objects.get()
    real = append._append

    def write_first(*given):
        _asked, reply = talk("One more thing", chat)
        finish_reply(reply, "Yes?", "complete")
        return real(*given)

    monkeypatch.setattr(append, "_append", write_first)
    outcome = importing.import_file(owner, file(longer_export))
    assert (outcome.conversations.changed, outcome.conversations.refused) == (0, 1)
    assert outcome.messages.added == 0
    why = "It changed here while the file was being read. Import the file again."
    assert [refusal.why for refusal in outcome.refusals] == [why]
    assert Conversation.objects.get() == chat
    assert [m.content for m in chat.messages.order_by("seq")][4:] == ["One more thing", "Yes?"]
    assert as_json(owner)["conversations"][0]["id"] == str(chat.pk)
