"""A compiled query gives what its QuerySet gives, and an update of columns writes what `save` writes."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.db.models import Subquery, UUIDField
from django.utils import timezone

from chat.actions.owners import default_app
from chat.models import Conversation, Message, Topic, User
from chat.models.compiled import CompiledQuery, update_columns

pytestmark = pytest.mark.django_db
COLUMNS = ("pk", "title", "embedding", "importance", "last_active_at", "retired_at", "conversation")


def query_topics(conversation_id):
    return Topic.objects.filter(conversation=conversation_id).current().values_list(*COLUMNS)


@pytest.fixture
def conversations(owner):
    """Two conversations of two topics, one with a vector and one without."""
    found = [Conversation.objects.create(owner=owner, app=default_app(owner)) for _ in range(2)]
    for conversation in found:
        for title, vector in (("100 % rye", b"\0\1"), ("Boats", None)):
            Topic.objects.create(conversation=conversation, title=title, embedding=vector)
    return found


def convert_buffers(rows):
    """PostgreSQL's driver may give a BinaryField's value as a memoryview."""
    return [tuple(bytes(v) if isinstance(v, memoryview) else v for v in row) for row in rows]


def test_it_gives_the_rows_of_each_key_with_values_of_the_fields_types(conversations):
    compiled = CompiledQuery(query_topics)
    for conversation in (*conversations, conversations[0]):
        expected = convert_buffers(query_topics(conversation.pk))
        assert len(expected) == 2
        assert convert_buffers(compiled.fetch(conversation.pk)) == expected


def test_it_is_built_once(conversations):
    calls = []

    def build(key):
        calls.append(key)
        return query_topics(key)

    compiled = CompiledQuery(build)
    for conversation in conversations:
        compiled.fetch(conversation.pk)
    assert len(calls) == 1


def test_a_key_can_be_an_integer(owner, other):
    compiled = CompiledQuery(lambda key: User.objects.filter(pk=key).values_list("pk", "username"), of=int)
    for user in (owner, other, owner):
        assert compiled.fetch(user.pk) == [(user.pk, user.username)]
    assert compiled.fetch(0) == []


def test_two_keys_each_have_their_place(conversations):
    one, other = conversations
    topic = Topic.objects.filter(conversation=other).current()[0]
    message = Message.objects.create(conversation=one, seq=1, role="user", content="What is rye?")

    def build(message_id, conversation_id):
        newest = Topic.objects.filter(conversation=conversation_id).current().values("pk")[:1]
        rows = Message.objects.filter(pk=message_id).annotate(newest=Subquery(newest, UUIDField()))
        return rows.values_list("topic", "newest", "content")

    compiled = CompiledQuery(build, keys=2)
    assert compiled.get(message.pk, other.pk) == (None, topic.pk, "What is rye?")
    assert compiled.get(message.pk, uuid4()) == (None, None, "What is rye?")


def test_where_no_row_is_found_fetch_is_empty_and_get_raises():
    compiled = CompiledQuery(query_topics)
    assert compiled.fetch(uuid4()) == []
    with pytest.raises(Topic.DoesNotExist):
        compiled.get(uuid4())


def test_an_update_writes_the_named_columns_of_this_row_only(conversations):
    one, other = Topic.objects.filter(conversation=conversations[0]).order_by("title")
    now = timezone.now()
    one.title, one.embedding, one.last_active_at, one.access_count = "50 %s rye", b"\2\3", now, 7
    one.importance = 0.5
    update_columns(one, ("title", "embedding", "last_active_at", "access_count"))
    stored = Topic.objects.get(pk=one.pk)
    assert (stored.title, bytes(stored.embedding or b""), stored.access_count) == ("50 %s rye", b"\2\3", 7)
    assert stored.last_active_at == now
    assert stored.importance == 1.0
    assert Topic.objects.get(pk=other.pk).title == other.title


def test_an_update_writes_a_foreign_key(conversations):
    message = Message.objects.create(
        conversation=conversations[0], seq=1, role="user", content="What is rye?"
    )
    message.topic = Topic.objects.filter(conversation=conversations[0]).first()
    update_columns(message, ["topic"])
    assert Message.objects.get(pk=message.pk).topic == message.topic
