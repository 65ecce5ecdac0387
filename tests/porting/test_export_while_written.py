"""An export during concurrent writes can be imported and contains all texts."""

from __future__ import annotations

import json

import pytest

from chat.actions import export as exporting
from chat.actions import importing, topic_archive
from chat.actions.export import export_json
from chat.models import Conversation, Message, Topic, TopicArchive
from chat.topics import contents

from .conftest import wipe
from .sample_data import create_sample_data

pytestmark = pytest.mark.django_db


def test_a_topic_created_during_the_export_does_not_break_the_import(owner, file, monkeypatch):
    create_sample_data(owner, messages=10)
    real = exporting._iterate_messages

    def create_topic_then_iterate(who):
        chat = Conversation.objects.get()
        topic = Topic.objects.create(conversation=chat, title="Just opened")
        Message.objects.create(conversation=chat, seq=99, role="user", content="A new matter", topic=topic)
        yield from real(who)

    monkeypatch.setattr(exporting, "_iterate_messages", create_topic_then_iterate)
    text = b"".join(export_json(owner))
    wipe(owner)
    assert importing.import_file(owner, file(text)).messages.added == 11
    last = json.loads(text)["conversations"][0]["messages"][-1]
    assert (last["content"], last["topic"]) == ("A new matter", None)


def test_messages_unpacked_during_the_export_are_exported(owner, monkeypatch):
    create_sample_data(owner, messages=20, in_a_chat=20)
    packed = Message.objects.exclude(archive=None).select_related("archive__topic")
    topics = {message.archive.topic for message in packed}
    expected = json.loads(b"".join(export_json(owner)))["conversations"][0]["messages"]
    real = TopicArchive.objects.filter

    def unpack_then_filter(**wanted):
        # The message rows have been read already; unpack their archives before these are read.
        while topics:
            assert topic_archive.unpack_topic(topics.pop())
        return real(**wanted)

    monkeypatch.setattr(contents.TopicArchive.objects, "filter", unpack_then_filter)
    assert topics
    assert json.loads(b"".join(export_json(owner)))["conversations"][0]["messages"] == expected
    assert not packed.all().exists()
