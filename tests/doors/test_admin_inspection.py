"""The admin site shows and searches texts, also packed ones, and long lists need no more queries."""

from __future__ import annotations

import pytest
from django.urls import reverse
from django.utils import timezone

from chat.actions import deletions
from chat.actions.facts import add_fact
from chat.actions.messages import finish_reply
from chat.models import ExtractionRun, Message, PromptReport, Topic, TopicArchive
from chat.topics.pack import pack_contents

pytestmark = pytest.mark.django_db


def rows(client, name: str, **asked) -> str:
    return client.get(reverse(f"admin:chat_{name}_changelist"), asked).content.decode()


@pytest.fixture
def packed(talk):
    """A message whose content is in an archive."""
    asked, reply = talk("The fjord is deep")
    finish_reply(reply, "Yes.", "complete")
    contents = pack_contents({asked.seq: "The fjord is deep"})
    topic = Topic.objects.create(conversation=asked.conversation, title="Fjords")
    archive = TopicArchive.objects.create(topic=topic, data=contents.data, count=1, sha256=contents.sha256)
    Message.objects.filter(pk=asked.pk).update(content="", archive=archive)
    return asked


def test_a_message_is_found_by_its_content(ours, talk):
    talk("The fjord is deep")
    talk("Something else")
    found = rows(ours, "message", q="fjord")
    assert "The fjord is deep" in found
    assert "Something else" not in found


def test_a_long_message_is_shortened_in_the_list(ours, talk):
    talk("word " * 100)
    assert ("word " * 19).strip() in rows(ours, "message")
    assert "word " * 40 not in rows(ours, "message")


def test_a_packed_message_is_marked_and_shows_the_archived_text(ours, packed):
    assert "(packed)" in rows(ours, "message")
    page = ours.get(reverse("admin:chat_message_change", args=[packed.pk])).content.decode()
    assert "(packed) The fjord is deep" in page
    assert Message.objects.get(pk=packed.pk).content == ""


def test_facts_can_be_filtered_by_state(ours, owner, make_fact):
    now = timezone.now()
    make_fact("User is live")
    make_fact("User was replaced", superseded_at=now)
    make_fact("User was archived", archived_at=now, superseded_at=now)
    deletions.forget_facts(owner, [add_fact(owner, "I am forgotten").pk])
    texts = {
        "live": "User is live",
        "replaced": "User was replaced",
        "archived": "User was archived",
        "forgotten": "I am forgotten",
    }
    for state, text in texts.items():
        found = rows(ours, "fact", state=state)
        assert text in found
        assert not [other for other in texts.values() if other != text and other in found]


def test_an_unknown_state_finds_nothing(ours, make_fact):
    make_fact("User is live")
    assert "User is live" not in rows(ours, "fact", state="nonsense")


@pytest.mark.parametrize("name", ["message", "promptreport", "extractionrun", "conversation", "app", "fact"])
def test_a_longer_list_needs_no_more_queries(ours, owner, talk, name, django_assert_max_num_queries):
    for n in range(12):
        asked, reply = talk(f"Message {n}")
        finish_reply(reply, "Yes.", "complete")
        PromptReport.objects.create(reply=reply)
        ExtractionRun.objects.create(message=asked, stored=1)
        add_fact(owner, f"I like thing number {n}")
    rows(ours, name)
    with django_assert_max_num_queries(16):
        rows(ours, name)
