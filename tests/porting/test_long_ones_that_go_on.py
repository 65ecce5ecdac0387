"""A long chat that went on elsewhere is as it was until all that follows is here, however an import ends."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions import importing, indexing
from chat.actions.importing import chats, going_on
from chat.actions.messages import finish_reply
from chat.models import Conversation, Deletion, Message, SearchEntry

from .conftest import as_json, document, wipe
from .worlds import build

pytestmark = pytest.mark.django_db


class Killed(BaseException):
    """What no handler catches."""


@pytest.fixture
def longer(owner, file, monkeypatch):
    """A document of a chat of 20 messages, of which four are here; three are written at once."""
    monkeypatch.setattr(chats, "_MESSAGES", 3)
    build(owner, messages=20, in_a_chat=20, facts=0)
    whole = document(owner)
    found = json.loads(whole)
    (chat,) = found["conversations"]
    chat["messages"] = [{**m, "replaced_by": None} for m in chat["messages"][:4]]
    known = {m["topic"] for m in chat["messages"]}
    chat["topics"] = [topic for topic in chat["topics"] if topic["id"] in known]
    chat |= {"extracted_through": 4, "summary": "", "summarised_through": 0}
    wipe(owner)
    importing.carry_out(owner, file({**found, "apps": [{**app, "memories": []} for app in found["apps"]]}))
    return whole


def died():
    Deletion.objects.filter(state="staged").update(expires_at=timezone.now() - timedelta(seconds=1))


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", range(1, 8))
def test_killed_at_any_step_it_is_as_it_was_and_the_same_file_does_the_rest(
    owner, longer, file, monkeypatch, step, when
):
    before = document(owner)
    path = file(longer)
    with monkeypatch.context() as patch:
        real, count = going_on.hold, iter(range(1, 99))
        patch.setattr("chat.actions.importing.staging._remove", lambda batch: None)

        def hold(batch):
            number = next(count)
            if number == step + (when == "after"):
                raise Killed
            real(batch)

        patch.setattr(going_on, "hold", hold)
        try:
            importing.carry_out(owner, path)
        except Killed:
            assert document(owner) == before
            assert Conversation.objects.for_owner(owner).listed().count() == 1
            assert importing.dry_run(owner, path).messages.added == 16
    died()
    importing.carry_out(owner, path)
    (found,), (wanted,) = (json.loads(text)["conversations"] for text in (document(owner), longer))
    # Of what came in its app is told nothing.
    assert found == {**wanted, "app_memory_after": 20}
    assert Conversation.objects.count() == 1
    assert not importing.carry_out(owner, path).changes


def test_what_came_in_behind_unread_words_is_not_learned_from(owner, longer, file):
    Conversation.objects.update(extracted_through=0, imported_through=0)
    unread = [m.pk for m in Message.objects.backlog(owner)]
    assert unread
    importing.carry_out(owner, file(longer))
    assert [m.pk for m in Message.objects.backlog(owner)] == unread


def test_what_the_index_read_aside_is_found_in_its_chat(owner, longer, file, monkeypatch):
    real, aside = going_on._go_on, []

    def fill(chat, rows, first, key):
        aside.append(key)
        indexing.fill([key])
        return real(chat, rows, first, key)

    monkeypatch.setattr(going_on, "_go_on", fill)
    importing.carry_out(owner, file(longer))
    chat = Conversation.objects.get()
    assert chat.pk != aside[0]
    read = SearchEntry.objects.filter(message__seq__gt=7)
    assert read.exists()
    assert set(read.values_list("conversation", flat=True)) == {chat.pk}


def test_one_that_was_written_in_meanwhile_is_not_touched_and_that_is_told(
    owner, longer, file, talk, monkeypatch
):
    chat = Conversation.objects.get()
    real = going_on._go_on

    def write(*given):
        _asked, reply = talk("One more thing", chat)
        finish_reply(reply, "Yes?", "complete")
        return real(*given)

    monkeypatch.setattr(going_on, "_go_on", write)
    outcome = importing.carry_out(owner, file(longer))
    assert (outcome.conversations.changed, outcome.conversations.refused) == (0, 1)
    assert outcome.messages.added == 0
    why = "It changed here while the file was read. Import the file once more."
    assert [refusal.why for refusal in outcome.refusals] == [why]
    assert Conversation.objects.get() == chat
    assert [m.content for m in chat.messages.order_by("seq")][4:] == ["One more thing", "Yes?"]
    assert as_json(owner)["conversations"][0]["id"] == str(chat.pk)
