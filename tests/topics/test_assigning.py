"""Messages are assigned to topics, and topics retire."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.db.models.sql.compiler import SQLCompiler
from django.utils import timezone

from chat.actions import topics
from chat.actions.message_edits import retry_reply
from chat.actions.messages import finish_reply
from chat.generation import run as generation
from chat.llm.registry import registry
from chat.models import Job, Message, Topic

from .conftest import make_subject_vector

pytestmark = pytest.mark.django_db


def titles(conversation):
    return list(
        Topic.objects.filter(conversation=conversation).order_by("created_at").values_list("title", flat=True)
    )


def test_a_first_message_opens_a_topic_with_its_first_eighty_characters(exchange):
    topic = exchange("bread", "Why  is\nmy bread so flat? " + "It is always flat. " * 20)
    assert topic.title.startswith("Why is my bread so flat? It is")
    assert len(topic.title) == 80
    assert (topic.access_count, topic.message_count, topic.importance) == (1, 2, 1.0)


def test_messages_about_one_thing_share_a_topic_and_count(exchange, clock):
    first = exchange("bread")
    clock(60)
    again = exchange("bread")
    assert again.pk == first.pk
    assert (again.access_count, again.message_count) == (2, 4)
    assert again.last_active_at - first.last_active_at == timedelta(seconds=60)
    assert again.created_at == first.created_at


def test_another_subject_opens_a_topic_and_the_old_one_is_found_again(exchange, conversation):
    bread, boats = exchange("bread"), exchange("boats")
    assert bread.pk != boats.pk
    assert exchange("bread").pk == bread.pk
    assert len(titles(conversation)) == 2


def test_a_courtesy_joins_the_active_topic_without_changing_its_vector(exchange):
    exchange("bread")
    boats = exchange("boats")
    after = exchange("bread", "ok thanks")
    assert after.pk == boats.pk
    assert bytes(after.embedding) == bytes(boats.embedding)


def test_a_greeting_takes_the_title_of_what_follows(exchange, conversation):
    exchange("bread", "Hi")
    exchange("boats", "How do I repair the engine of a boat?")
    assert titles(conversation) == ["How do I repair the engine of a boat?"]


def test_a_short_title_stays_where_what_follows_is_short_too(exchange, conversation):
    exchange("boats", "Discussion about features")
    exchange("boats", "And what else?")
    assert titles(conversation) == ["Discussion about features"]


@pytest.mark.parametrize(
    ("text", "vector"),
    [
        ("How is bread baked properly at home?", make_subject_vector("bread")),
        # Without a vector, but too short to be compared by its words.
        ("ok thanks", None),
    ],
)
def test_a_message_of_a_known_topic_takes_four_queries_which_django_does_not_build_again(
    exchange, talk, conversation, monkeypatch, django_assert_num_queries, text, vector
):
    bread = exchange("bread")
    exchange("bread")
    asked, _reply = talk(text, conversation)
    monkeypatch.setattr(SQLCompiler, "as_sql", lambda *_args, **_options: pytest.fail("a query was built"))
    # Two more statements are the savepoint's, and PostgreSQL locks the conversation's row.
    with django_assert_num_queries(6 + connection.features.has_select_for_update):
        found = topics.assign_topic(asked, vector, "minilm-l6-int8")
    monkeypatch.undo()
    assert found.pk == bread.pk
    assert Message.objects.get(pk=asked.pk).topic_id == bread.pk
    bread.refresh_from_db()
    assert (bread.access_count, found.access_count, found.title) == (3, 3, bread.title)


def test_a_message_is_assigned_once(exchange, conversation):
    topic = exchange("bread")
    asked = Message.objects.get(conversation=conversation, role="user")
    assert topics.assign_topic(asked, make_subject_vector("boats"), "minilm-l6-int8").pk == topic.pk
    topic.refresh_from_db()
    assert topic.access_count == 1


def test_a_vector_of_another_embedder_is_replaced_and_not_compared(exchange):
    topic = exchange("bread", "How do I bake sourdough bread at home?")
    Topic.objects.filter(pk=topic.pk).update(embedder="an older one", embedding=b"\0" * 8)
    again = exchange("bread", "How long does sourdough bread keep at home?")
    assert again.pk == topic.pk
    assert again.embedder == "minilm-l6-int8"


def test_a_retired_topic_is_not_matched(exchange):
    bread = exchange("bread")
    exchange("boats")
    Topic.objects.filter(pk=bread.pk).update(retired_at=timezone.now())
    assert exchange("bread").pk != bread.pk


def test_above_twenty_topics_those_with_low_priority_retire(exchange, conversation, clock):
    for subject in range(3, 8):
        exchange(subject)
    clock(6 * 86400)
    for subject in range(8, 23):
        exchange(subject)
    assert not Topic.objects.filter(retired_at__isnull=False).exists()
    newest = exchange(23)
    gone = Topic.objects.filter(conversation=conversation, retired_at__isnull=False)
    assert gone.count() == 5
    assert newest.retired_at is None
    assert Message.objects.filter(topic__in=gone).count() == 10


def test_the_active_topic_does_not_retire(exchange, conversation, clock):
    for subject in range(3, 24):
        exchange(subject)
    assert topics.retire_topics(conversation, clock(100 * 86400)) == 20
    assert Topic.objects.get(retired_at__isnull=True).title.startswith("Question 41")


@pytest.mark.parametrize("value", [-0.1, 1.1])
def test_importance_is_between_zero_and_one(exchange, value):
    with pytest.raises(ValueError, match="from 0 to 1"):
        topics.set_importance(exchange("bread"), value)


def test_a_reply_and_its_retry_join_the_topic_of_the_question(talk):
    asked, reply = talk("How do I bake sourdough bread?")
    topic = topics.assign_topic(asked, None, "")
    assert asked.topic_id == topic.pk
    finish_reply(reply, "With patience.", "complete")
    again = retry_reply(reply)
    finish_reply(again, "With flour and water.", "complete")
    assert set(Message.objects.values_list("topic", flat=True)) == {topic.pk}
    topic.refresh_from_db()
    assert topic.message_count == 2


class Broken:
    name = "minilm-l6-int8"

    def embed(self, texts):
        raise OSError("its weights have gone")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("mode", ["on", "off"])
def test_a_message_is_assigned_before_its_reply_in_every_memory_mode(talk, scripted, mode):
    registry.use(scripted, embedder=Broken())
    scripted.replies.append("With patience.")
    asked, reply = talk("How do I bake sourdough bread?")
    type(asked.conversation).objects.update(memory_mode=mode)
    generation.start(reply)
    generation.wait_all()
    assert Topic.objects.get().message_count == 2
    assert Message.objects.get(pk=reply.pk).content == "With patience."


@pytest.mark.django_db(transaction=True)
def test_a_failed_assignment_does_not_prevent_the_reply(talk, scripted, monkeypatch, caplog):
    monkeypatch.setattr(topics, "assign_topic", lambda *_: 1 / 0)
    scripted.replies.append("With patience.")
    _, reply = talk("How do I bake sourdough bread?")
    generation.start(reply)
    generation.wait_all()
    assert Message.objects.get(pk=reply.pk).content == "With patience."
    assert "could not be assigned to a topic" in caplog.text


def test_packing_is_scheduled_for_an_inactive_topic_with_more_than_twelve_messages(exchange, mark_processed):
    exchange("taxes")
    for _ in range(7):
        bread = exchange("bread")
    mark_processed()
    exchange("bread")
    assert not Job.objects.filter(kind="pack_topic").exists()
    exchange("boats")
    exchange("boats")
    assert [job.payload for job in Job.objects.filter(kind="pack_topic")] == [{"topic": str(bread.pk)}]
