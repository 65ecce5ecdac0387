"""An export contains all data of one owner and none of other owners."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from chat.actions import deletions, export
from chat.actions.facts import add_fact, edit_fact
from chat.actions.messages import finish_reply, send_message
from chat.actions.owners import set_time_zone
from chat.models import AppMemory, Conversation, Message, Topic, TopicArchive
from chat.topics.pack import pack_contents

pytestmark = pytest.mark.django_db


def export_data(owner: Any) -> dict[str, Any]:
    return json.loads(b"".join(export.export_json(owner)))


@pytest.fixture
def sample_conversation(owner):
    """A conversation with an archived message; also an edited fact with a relationship, and an app memory."""
    set_time_zone(owner, "Europe/Oslo")
    asked, reply = send_message(owner, "I love fjords 🏔")
    finish_reply(reply, "Nice.", "complete")
    topic = Topic.objects.create(conversation=asked.conversation, title="Fjords")
    packed = pack_contents({asked.seq: "I love fjords 🏔"})
    archive = TopicArchive.objects.create(topic=topic, data=packed.data, count=1, sha256=packed.sha256)
    Message.objects.filter(pk=asked.pk).update(content="", archive=archive, topic=topic)
    edit_fact(add_fact(owner, "I like tea"), "I like green tea")
    AppMemory.objects.create(
        owner=owner, app=asked.conversation.app, content="Fjords.", source_conversation=asked.conversation
    )
    return asked.conversation


def test_the_export_names_its_format_version_and_owner(owner, sample_conversation):
    found = export_data(owner)
    assert (found["format"], found["version"], found["owner"]) == ("memoryapp", 1, owner.username)
    assert found["settings"]["time_zone"] == "Europe/Oslo"


def test_an_app_is_exported_with_its_memories(owner, sample_conversation):
    (app,) = export_data(owner)["apps"]
    assert app["slug"] == "general"
    assert [m["content"] for m in app["memories"]] == ["Fjords."]
    assert app["memories"][0]["source_conversation"] == str(sample_conversation.pk)


def test_a_conversation_is_exported_with_topics_and_unpacked_messages(owner, sample_conversation):
    (chat,) = export_data(owner)["conversations"]
    assert chat["id"] == str(sample_conversation.pk)
    assert [t["title"] for t in chat["topics"]] == ["Fjords"]
    assert [(m["role"], m["content"]) for m in chat["messages"]] == [
        ("user", "I love fjords 🏔"),
        ("assistant", "Nice."),
    ]


def test_a_fact_is_exported_with_its_history_and_relationships(owner, sample_conversation):
    found = export_data(owner)
    fact = next(f for f in found["facts"] if f["text"] == "I like green tea")
    assert [event["kind"] for event in fact["history"]] == ["add", "edit"]
    assert fact["history"][1]["before"]["text"] == "I like tea"
    relationship = next(r for r in found["graph"]["relationships"] if r["relation"] == "likes")
    assert relationship["source_fact"] == fact["id"]
    assert {e["id"]: e["name"] for e in found["graph"]["entities"]}[relationship["target"]] == "green tea"


def test_data_pending_deletion_is_not_exported(owner, sample_conversation):
    deletions.erase_account(owner)
    found = export_data(owner)
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
    found = export_data(owner)["conversations"]
    assert {c["id"]: [m["content"] for m in c["messages"]] for c in found} == chats


def test_a_temporary_conversation_does_not_shift_other_messages(owner, monkeypatch):
    first, second = (send_message(owner, text)[0].conversation for text in ("first", "second"))
    Conversation.objects.filter(pk=first.pk).update(temporary=True)
    (found,) = export_data(owner)["conversations"]
    assert found["id"] == str(second.pk)
    assert found["messages"][0]["content"] == "second"


def test_other_owners_data_is_not_exported(owner, other, sample_conversation):
    text = json.dumps(export_data(other))
    assert "ford" not in text.lower().replace("memoryapp", "")
    assert "tea" not in text.lower()
    assert export_data(other)["conversations"] == []


def test_tokens_and_vectors_are_not_exported(owner, sample_conversation):
    text = json.dumps(export_data(owner))
    assert "embedding" not in text
    assert "digest" not in text


@hypothesis_settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_characters="\x00"), max_size=40))
def test_any_text_survives_the_json_encoding(text):
    assert json.loads(export._json({"content": text})) == {"content": text}


def test_the_query_count_does_not_grow_with_the_data(owner, django_assert_max_num_queries):
    for n in range(8):
        finish_reply(send_message(owner, f"Message {n}")[1], "Yes.", "complete")
        add_fact(owner, f"I like thing number {n}")
    with django_assert_max_num_queries(11):
        export_data(owner)
