"""Older contents go to the archive and come back, and no prompt ever misses one."""

from __future__ import annotations

import pytest

from chat.actions import storage
from chat.models import Conversation, Message, TopicArchive
from chat.topics.contents import with_contents
from chat.views.articles import articles

pytestmark = pytest.mark.django_db


def rows(topic):
    return list(Message.objects.filter(topic=topic).order_by("seq"))


def said(conversation):
    """Return all that was said, as a reader gets it."""
    return [
        m.content for m in with_contents(Message.objects.filter(conversation=conversation).order_by("seq"))
    ]


def test_all_but_the_four_newest_are_packed_into_one_archive(bread, conversation):
    before = said(conversation)
    assert storage.record_summary(bread, "They spoke of bread.", rows(bread)[11].seq)
    assert storage.pack(bread) == 12
    contents = [m.content for m in rows(bread)]
    assert contents[:12] == [""] * 12
    assert all(contents[12:])
    archive = TopicArchive.objects.get()
    assert archive.count == 12
    bread.refresh_from_db()
    assert bread.summary == "They spoke of bread."
    assert bread.summarised_through == rows(bread)[11].seq
    assert said(conversation) == before


def test_reading_packed_messages_takes_one_query_more(bread, conversation, django_assert_num_queries):
    storage.pack(bread)
    with django_assert_num_queries(2):
        assert all(said(conversation))
    with django_assert_num_queries(1):
        with_contents(Message.objects.filter(archive__isnull=True))


def test_twelve_live_messages_are_left_alone(exchange, left_behind):
    for _ in range(6):
        topic = exchange("bread")
    exchange("boats")
    left_behind()
    assert storage.pack(topic) == 0


def test_the_active_topic_is_never_packed(exchange, left_behind):
    exchange("taxes")
    for _ in range(9):
        topic = exchange("bread")
    left_behind()
    assert storage.pack(topic) == 0


def test_what_a_prompt_still_replays_is_never_packed(bread, conversation):
    trimmed = rows(bread)[6].seq
    Conversation.objects.filter(pk=conversation.pk).update(trimmed_through=trimmed)
    assert storage.pack(bread) == 7
    assert all(m.content for m in rows(bread) if m.seq > trimmed)


def test_what_the_prompt_keeps_of_the_past_is_never_packed(exchange, left_behind):
    for _ in range(9):
        topic = exchange("bread")
    exchange("boats")
    left_behind()
    assert storage.pack(topic) == 12
    assert all(m.content for m in rows(topic)[:2])
    assert rows(topic)[2].content == ""


def test_what_memory_has_not_read_is_not_packed(bread, conversation):
    Conversation.objects.filter(pk=conversation.pk).update(extracted_through=rows(bread)[2].seq)
    assert storage.pack(bread) == 3


def test_what_is_marked_or_being_written_is_not_packed(bread):
    marked, writing = rows(bread)[3:5]
    Message.objects.filter(pk=marked.pk).update(flagged=True)
    Message.objects.filter(pk=writing.pk).update(state="streaming")
    assert storage.pack(bread) == 10
    assert Message.objects.get(pk=marked.pk).content
    assert Message.objects.get(pk=writing.pk).content


def test_notes_stay_with_their_messages(bread):
    Message.objects.filter(topic=bread, role="user").update(note="About the user: bakes.")
    storage.pack(bread)
    assert all(m.note for m in rows(bread) if m.role == "user")


def test_a_match_brings_all_back_in_place(bread, exchange, conversation):
    before = [m.content for m in rows(bread)]
    storage.pack(bread)
    back = exchange("bread")
    assert back.pk == bread.pk
    assert [m.content for m in rows(bread)][:16] == before
    assert not TopicArchive.objects.exists()
    assert not Message.objects.filter(archive__isnull=False).exists()


def test_packed_again_it_is_one_archive_with_all_of_it(bread, conversation, left_behind):
    before = said(conversation)
    Conversation.objects.filter(pk=conversation.pk).update(trimmed_through=rows(bread)[2].seq)
    storage.record_summary(bread, "First.", rows(bread)[2].seq)
    assert storage.pack(bread) == 3
    left_behind()
    assert storage.pack(bread) == 9
    assert TopicArchive.objects.get().count == 12
    bread.refresh_from_db()
    assert bread.summary == "First."
    assert said(conversation) == before


def test_a_damaged_archive_is_logged_and_the_conversation_goes_on(bread, exchange, conversation, caplog):
    storage.pack(bread)
    TopicArchive.objects.update(data=b"not gzip")
    shown = articles(Message.objects.filter(conversation=conversation).order_by("seq"))
    assert sum("damaged" in a.text for a in shown) == 12
    assert "an archive is damaged" in caplog.text
    again = exchange("bread")
    assert again.pk == bread.pk
    assert TopicArchive.objects.count() == 1
    assert sum("damaged" in text for text in said(conversation)) == 12


def test_what_is_packed_after_a_damage_has_an_archive_of_its_own(bread, exchange, left_behind):
    storage.pack(bread)
    TopicArchive.objects.update(sha256="0" * 64)
    for _ in range(6):
        exchange("bread")
    exchange("boats")
    left_behind()
    assert storage.pack(bread) == 12
    assert TopicArchive.objects.count() == 2
    assert storage.unpack(bread) == 12


def test_a_conversation_with_packed_messages_can_be_deleted(bread, conversation):
    storage.pack(bread)
    conversation.delete()
    assert not TopicArchive.objects.exists()
    assert not Message.objects.exists()


def test_a_kill_while_packing_changes_nothing(bread, conversation, monkeypatch):
    before = list(Message.objects.order_by("pk").values())

    def killed(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("chat.models.topic.TopicArchiveQuerySet.delete", killed)
    with pytest.raises(KeyboardInterrupt):
        storage.pack(bread)
    assert list(Message.objects.order_by("pk").values()) == before
    assert not TopicArchive.objects.exists()


def test_a_kill_while_unpacking_changes_nothing(bread, exchange, conversation, monkeypatch):
    storage.pack(bread)
    before = list(Message.objects.order_by("pk").values())
    monkeypatch.setattr(
        "chat.models.TopicArchive.delete", lambda self: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    with pytest.raises(KeyboardInterrupt):
        storage.unpack(bread)
    assert list(Message.objects.order_by("pk").values()) == before
