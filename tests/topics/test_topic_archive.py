"""Older contents are packed into an archive and unpacked; no prompt misses one."""

from __future__ import annotations

import pytest

from chat.actions import topic_archive
from chat.models import Conversation, Message, TopicArchive
from chat.topics.contents import load_contents
from chat.views.message_view import build_message_views

pytestmark = pytest.mark.django_db


def rows(topic):
    return list(Message.objects.filter(topic=topic).order_by("seq"))


def read_contents(conversation):
    """Return the contents of all messages as readers get them."""
    return [
        m.content for m in load_contents(Message.objects.filter(conversation=conversation).order_by("seq"))
    ]


def test_all_but_the_four_newest_are_packed_into_one_archive(bread, conversation):
    before = read_contents(conversation)
    assert topic_archive.record_topic_summary(bread, "They spoke of bread.", rows(bread)[11].seq)
    assert topic_archive.pack_topic(bread) == 12
    contents = [m.content for m in rows(bread)]
    assert contents[:12] == [""] * 12
    assert all(contents[12:])
    archive = TopicArchive.objects.get()
    assert archive.count == 12
    bread.refresh_from_db()
    assert bread.summary == "They spoke of bread."
    assert bread.summarised_through == rows(bread)[11].seq
    assert read_contents(conversation) == before


def test_reading_packed_messages_takes_one_query_more(bread, conversation, django_assert_num_queries):
    topic_archive.pack_topic(bread)
    with django_assert_num_queries(2):
        assert all(read_contents(conversation))
    with django_assert_num_queries(1):
        load_contents(Message.objects.filter(archive__isnull=True))


def test_twelve_live_messages_are_not_packed(exchange, mark_processed):
    for _ in range(6):
        topic = exchange("bread")
    exchange("boats")
    mark_processed()
    assert topic_archive.pack_topic(topic) == 0


def test_the_active_topic_is_never_packed(exchange, mark_processed):
    exchange("taxes")
    for _ in range(9):
        topic = exchange("bread")
    mark_processed()
    assert topic_archive.pack_topic(topic) == 0


def test_messages_that_a_prompt_contains_are_not_packed(bread, conversation):
    trimmed = rows(bread)[6].seq
    Conversation.objects.filter(pk=conversation.pk).update(trimmed_through=trimmed)
    assert topic_archive.pack_topic(bread) == 7
    assert all(m.content for m in rows(bread) if m.seq > trimmed)


def test_messages_that_compaction_keeps_are_not_packed(exchange, mark_processed):
    for _ in range(9):
        topic = exchange("bread")
    exchange("boats")
    mark_processed()
    assert topic_archive.pack_topic(topic) == 12
    assert all(m.content for m in rows(topic)[:2])
    assert rows(topic)[2].content == ""


def test_messages_that_are_not_extracted_yet_are_not_packed(bread, conversation):
    Conversation.objects.filter(pk=conversation.pk).update(extracted_through=rows(bread)[2].seq)
    assert topic_archive.pack_topic(bread) == 3


def test_flagged_and_streaming_messages_are_not_packed(bread):
    marked, writing = rows(bread)[3:5]
    Message.objects.filter(pk=marked.pk).update(flagged=True)
    Message.objects.filter(pk=writing.pk).update(state="streaming")
    assert topic_archive.pack_topic(bread) == 10
    assert Message.objects.get(pk=marked.pk).content
    assert Message.objects.get(pk=writing.pk).content


def test_notes_stay_with_their_messages(bread):
    Message.objects.filter(topic=bread, role="user").update(note="About the user: bakes.")
    topic_archive.pack_topic(bread)
    assert all(m.note for m in rows(bread) if m.role == "user")


def test_a_match_unpacks_all_messages_in_order(bread, exchange, conversation):
    before = [m.content for m in rows(bread)]
    topic_archive.pack_topic(bread)
    back = exchange("bread")
    assert back.pk == bread.pk
    assert [m.content for m in rows(bread)][:16] == before
    assert not TopicArchive.objects.exists()
    assert not Message.objects.filter(archive__isnull=False).exists()


def test_packing_again_gives_one_archive_with_all_messages(bread, conversation, mark_processed):
    before = read_contents(conversation)
    Conversation.objects.filter(pk=conversation.pk).update(trimmed_through=rows(bread)[2].seq)
    topic_archive.record_topic_summary(bread, "First.", rows(bread)[2].seq)
    assert topic_archive.pack_topic(bread) == 3
    mark_processed()
    assert topic_archive.pack_topic(bread) == 9
    assert TopicArchive.objects.get().count == 12
    bread.refresh_from_db()
    assert bread.summary == "First."
    assert read_contents(conversation) == before


def test_a_damaged_archive_is_logged_and_the_conversation_continues(bread, exchange, conversation, caplog):
    topic_archive.pack_topic(bread)
    TopicArchive.objects.update(data=b"not gzip")
    shown = build_message_views(Message.objects.filter(conversation=conversation).order_by("seq"))
    assert sum("damaged" in a.text for a in shown) == 12
    assert "an archive is damaged" in caplog.text
    again = exchange("bread")
    assert again.pk == bread.pk
    assert TopicArchive.objects.count() == 1
    assert sum("damaged" in text for text in read_contents(conversation)) == 12


def test_packing_after_damage_creates_a_new_archive(bread, exchange, mark_processed):
    topic_archive.pack_topic(bread)
    TopicArchive.objects.update(sha256="0" * 64)
    for _ in range(6):
        exchange("bread")
    exchange("boats")
    mark_processed()
    assert topic_archive.pack_topic(bread) == 12
    assert TopicArchive.objects.count() == 2
    assert topic_archive.unpack_topic(bread) == 12


def test_a_conversation_with_packed_messages_can_be_deleted(bread, conversation):
    topic_archive.pack_topic(bread)
    conversation.delete()
    assert not TopicArchive.objects.exists()
    assert not Message.objects.exists()


def test_a_kill_while_packing_changes_nothing(bread, conversation, monkeypatch):
    before = list(Message.objects.order_by("pk").values())

    def interrupt(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("chat.models.topic.TopicArchiveQuerySet.delete", interrupt)
    with pytest.raises(KeyboardInterrupt):
        topic_archive.pack_topic(bread)
    assert list(Message.objects.order_by("pk").values()) == before
    assert not TopicArchive.objects.exists()


def test_a_kill_while_unpacking_changes_nothing(bread, exchange, conversation, monkeypatch):
    topic_archive.pack_topic(bread)
    before = list(Message.objects.order_by("pk").values())
    monkeypatch.setattr(
        "chat.models.TopicArchive.delete", lambda self: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    with pytest.raises(KeyboardInterrupt):
        topic_archive.unpack_topic(bread)
    assert list(Message.objects.order_by("pk").values()) == before
