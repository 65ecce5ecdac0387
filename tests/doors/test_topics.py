"""The topics page of a conversation."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models import F
from django.urls import reverse
from django.utils import timezone

from chat.actions import topics
from chat.actions.messages import finish_reply
from chat.models import Message, Topic, TopicArchive

pytestmark = pytest.mark.django_db


@pytest.fixture
def topic(talk):
    asked, reply = talk("How do I keep the crust of a loaf crisp overnight?")
    found = topics.assign_topic(asked, None, "")
    finish_reply(reply, "In a paper bag.", "complete")
    return found


@pytest.fixture
def older(topic):
    """A topic that was active two days ago; two of its messages are packed."""
    now = timezone.now()
    found = Topic.objects.create(
        conversation=topic.conversation,
        title="Boats",
        access_count=12,
        message_count=3,
        last_active_at=now - timedelta(days=2),
        created_at=now - timedelta(days=3),
    )
    archive = TopicArchive.objects.create(topic=found, data=b"", count=2, sha256="")
    Message.objects.filter(topic=topic).update(seq=F("seq") + 100)
    for seq, packed in ((1, archive), (2, archive), (3, None)):
        Message.objects.create(
            conversation=topic.conversation, seq=seq, role="user", content="", archive=packed, topic=found
        )
    return found


def topics_page(client, topic):
    return client.get(reverse("conversation_topics", args=[topic.conversation_id])).content.decode()


def test_a_chat_without_topics_says_so(ours, talk):
    asked, _ = talk("Hello")
    page = ours.get(reverse("conversation_topics", args=[asked.conversation_id])).content.decode()
    assert "No topics yet." in page


def test_a_topic_shows_its_first_message_and_its_length_and_whether_it_is_current(ours, topic):
    page = topics_page(ours, topic)
    first = Message.objects.filter(topic=topic).earliest("seq")
    assert f"/c/{topic.conversation_id}/?m={first.pk}#m-{first.pk}" in page
    assert "crust of a loaf" in page
    assert "2 messages" in page
    assert "Current topic" in page
    assert "short-term" in page
    assert " packed" not in page.partition('<li class="topic row"')[2]


def test_a_title_that_was_cut_ends_with_an_ellipsis(ours, topic):
    Topic.objects.filter(pk=topic.pk).update(title="b" * 80)
    assert "b" * 80 + "…" in topics_page(ours, topic)


def test_an_older_topic_shows_its_age_and_how_many_messages_are_packed(ours, older):
    page = topics_page(ours, older)
    assert "last active 2\xa0days ago" in page or "last active 2 days ago" in page
    assert "3 messages, 2 packed" in page
    assert "long-term" in page
    assert "Counts half after 4 days" in page


def test_retired_topics_are_listed_below_and_cannot_be_changed(ours, topic, older):
    Topic.objects.filter(pk=older.pk).update(retired_at=timezone.now())
    current, retired = topics_page(ours, topic).split('id="retired"')
    assert "Boats" in retired
    assert "Boats" not in current
    assert "topic_importance" not in retired
    assert reverse("topic_importance", args=[older.pk]) not in retired


def test_importance_can_be_set_by_a_plain_form(ours, topic):
    answer = ours.post(reverse("topic_importance", args=[topic.pk]), {"importance": "0.5"}, follow=True)
    assert Topic.objects.get().importance == 0.5
    assert 'value="0.5" id="topic-' in answer.content.decode()


def test_by_htmx_only_the_row_is_returned(ours_htmx, topic):
    answer = ours_htmx.post(reverse("topic_importance", args=[topic.pk]), {"importance": "0.25"})
    row = answer.content.decode()
    assert row.strip().startswith("<li")
    pressed = row.partition('aria-pressed="true"')[2]
    assert pressed.startswith(">Low<")


@pytest.mark.parametrize("value", ["", "much", "1.5", "-1", "nan", "inf"])
def test_only_the_offered_values_of_importance_are_accepted(ours_htmx, topic, value):
    answer = ours_htmx.post(reverse("topic_importance", args=[topic.pk]), {"importance": value})
    assert answer.status_code == 422
    assert Topic.objects.get().importance == 1.0


def test_the_menu_of_a_chat_links_to_its_topics(ours, topic):
    page = ours.get(reverse("conversation", args=[topic.conversation_id])).content.decode()
    assert reverse("conversation_topics", args=[topic.conversation_id]) in page
