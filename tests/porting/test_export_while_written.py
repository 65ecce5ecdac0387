"""An export that is made while others write is one that can be imported, and loses no words."""

from __future__ import annotations

import json

import pytest

from chat.actions import export as exporting
from chat.actions import importing, storage
from chat.actions.export import export
from chat.models import Conversation, Message, Topic, TopicArchive
from chat.topics import contents

from .conftest import wipe
from .worlds import build

pytestmark = pytest.mark.django_db


def test_a_topic_that_was_opened_meanwhile_does_not_keep_the_file_from_being_imported(
    owner, file, monkeypatch
):
    build(owner, messages=10)
    real = exporting._spoken

    def open_one(who):
        chat = Conversation.objects.get()
        topic = Topic.objects.create(conversation=chat, title="Just opened")
        Message.objects.create(conversation=chat, seq=99, role="user", content="A new matter", topic=topic)
        yield from real(who)

    monkeypatch.setattr(exporting, "_spoken", open_one)
    text = b"".join(export(owner))
    wipe(owner)
    assert importing.carry_out(owner, file(text)).messages.added == 11
    last = json.loads(text)["conversations"][0]["messages"][-1]
    assert (last["content"], last["topic"]) == ("A new matter", None)


def test_what_is_unpacked_meanwhile_is_in_it(owner, monkeypatch):
    build(owner, messages=20, in_a_chat=20)
    packed = Message.objects.exclude(archive=None).select_related("archive__topic")
    topics = {message.archive.topic for message in packed}
    said = json.loads(b"".join(export(owner)))["conversations"][0]["messages"]
    real = TopicArchive.objects.filter

    def look(**wanted):
        # After the messages' own rows were read.
        while topics:
            assert storage.unpack(topics.pop())
        return real(**wanted)

    monkeypatch.setattr(contents.TopicArchive.objects, "filter", look)
    assert topics
    assert json.loads(b"".join(export(owner)))["conversations"][0]["messages"] == said
    assert not packed.all().exists()
