"""An export holds all that is kept of an owner, and nothing of anybody else."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from chat.actions import deletions, export
from chat.actions.facts import add_fact, edit_fact
from chat.actions.messages import finish_reply, send_message
from chat.actions.preferences import set_time_zone
from chat.models import AppMemory, Conversation, Message, Topic, TopicArchive
from chat.topics.pack import pack

pytestmark = pytest.mark.django_db


def exported(owner) -> dict:
    return json.loads(b"".join(export.export(owner)))


@pytest.fixture
def life(owner):
    """A conversation with a packed message, a fact with a history and its tie, an app memory."""
    set_time_zone(owner, "Europe/Oslo")
    asked, reply = send_message(owner, "I love fjords 🏔")
    finish_reply(reply, "Nice.", "complete")
    topic = Topic.objects.create(conversation=asked.conversation, title="Fjords")
    packed = pack({asked.seq: "I love fjords 🏔"})
    archive = TopicArchive.objects.create(topic=topic, data=packed.data, count=1, sha256=packed.sha256)
    Message.objects.filter(pk=asked.pk).update(content="", archive=archive, topic=topic)
    edit_fact(add_fact(owner, "I like tea"), "I like green tea")
    AppMemory.objects.create(
        owner=owner, app=asked.conversation.app, content="Fjords.", source_conversation=asked.conversation
    )
    return asked.conversation


def test_it_says_what_it_is_and_whose(owner, life):
    found = exported(owner)
    assert (found["format"], found["version"], found["owner"]) == ("memoryapp", 1, owner.username)
    assert found["settings"]["time_zone"] == "Europe/Oslo"


def test_an_app_comes_with_its_memories(owner, life):
    (app,) = exported(owner)["apps"]
    assert app["slug"] == "general"
    assert [m["content"] for m in app["memories"]] == ["Fjords."]
    assert app["memories"][0]["source_conversation"] == str(life.pk)


def test_a_conversation_comes_with_topics_and_messages_packed_ones_unpacked(owner, life):
    (chat,) = exported(owner)["conversations"]
    assert chat["id"] == str(life.pk)
    assert [t["title"] for t in chat["topics"]] == ["Fjords"]
    assert [(m["role"], m["content"]) for m in chat["messages"]] == [
        ("user", "I love fjords 🏔"),
        ("assistant", "Nice."),
    ]


def test_a_fact_comes_with_its_history_and_its_ties(owner, life):
    found = exported(owner)
    fact = next(f for f in found["facts"] if f["text"] == "I like green tea")
    assert [event["kind"] for event in fact["history"]] == ["add", "edit"]
    assert fact["history"][1]["before"]["text"] == "I like tea"
    tie = next(r for r in found["graph"]["relationships"] if r["relation"] == "likes")
    assert tie["source_fact"] == fact["id"]
    assert {e["id"]: e["name"] for e in found["graph"]["entities"]}[tie["target"]] == "green tea"


def test_what_is_on_its_way_out_is_left_out(owner, life):
    deletions.erase_all(owner)
    found = exported(owner)
    assert found["conversations"] == found["facts"] == []
    assert found["graph"] == {"entities": [], "relationships": []}


def test_each_conversation_has_its_own_messages_in_order(owner, monkeypatch):
    monkeypatch.setattr(export, "_PORTION", 3)
    chats = {}
    for n in range(4):
        asked, reply = send_message(owner, f"{n}: one")
        finish_reply(reply, f"{n}: two", "complete")
        chats[str(asked.conversation_id)] = [f"{n}: one", f"{n}: two"]
    empty = Conversation.objects.create(owner=owner, app=asked.conversation.app)
    chats[str(empty.pk)] = []
    found = exported(owner)["conversations"]
    assert {c["id"]: [m["content"] for m in c["messages"]] for c in found} == chats


def test_what_was_deleted_while_it_is_read_does_not_shift_the_others(owner, monkeypatch):
    first, second = (send_message(owner, text)[0].conversation for text in ("first", "second"))
    Conversation.objects.filter(pk=first.pk).update(temporary=True)
    (found,) = exported(owner)["conversations"]
    assert found["id"] == str(second.pk)
    assert found["messages"][0]["content"] == "second"


def test_nothing_of_anybody_else_is_in_it(owner, other, life):
    text = json.dumps(exported(other))
    assert "ford" not in text.lower().replace("memoryapp", "")
    assert "tea" not in text.lower()
    assert exported(other)["conversations"] == []


def test_no_token_and_no_vector_is_in_it(owner, life):
    text = json.dumps(exported(owner))
    assert "embedding" not in text
    assert "digest" not in text


@hypothesis_settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.text(st.characters(exclude_characters="\x00"), max_size=40))
def test_any_text_of_a_packed_message_comes_back_as_it_was(text):
    assert json.loads(export._json({"content": text})) == {"content": text}


def test_the_queries_do_not_grow_with_what_there_is(owner, django_assert_max_num_queries):
    for n in range(8):
        finish_reply(send_message(owner, f"Message {n}")[1], "Yes.", "complete")
        add_fact(owner, f"I like thing number {n}")
    with django_assert_max_num_queries(11):
        exported(owner)
