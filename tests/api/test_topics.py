"""The topic methods: what a program adds finds its topic, and what was packed away is still there to read."""

from __future__ import annotations

import time

import pytest

from chat.actions import storage
from chat.api import MemoryManager, Message
from chat.models import Conversation, Topic, TopicArchive
from chat.models import Message as Row

pytestmark = pytest.mark.django_db

BREAD = "How long should the sourdough bread rise before baking?"
MORE_BREAD = "And should that sourdough bread rest again after baking?"
TAXES = "Which receipts does the revenue office want with declared travel expenses?"


@pytest.fixture
def manager(owner):
    return MemoryManager()


def pack_what_was_left(session: str) -> None:
    """Let no prompt replay what was said, and pack the topics that are not the active one."""
    last = Row.objects.filter(conversation=session).count()
    Conversation.objects.filter(pk=session).update(trimmed_through=last, extracted_through=last, kept=[1, 2])
    for topic in Topic.objects.filter(conversation=session):
        if leaving := storage.to_pack(topic):
            storage.record_summary(topic, "They spoke of bread.", leaving[-1].seq)
        storage.pack(topic)


@pytest.fixture
def packed(manager):
    """A session with a long, packed topic; returns its id and all that was said."""
    said = []
    for i in range(8):
        for add, text in (
            (manager.add_user_message, f"{BREAD} (loaf {i})"),
            (manager.add_assistant_message, f"{i + 1} hours."),
        ):
            add("user123", text)
            said.append(text)
    manager.add_user_message("user123", TAXES)
    session = manager.session_id("user123")
    pack_what_was_left(session)
    assert Row.objects.filter(archive__isnull=False).count() >= 10
    return session, [*said, TAXES]


def live(session: str) -> list[str]:
    """Return what is not packed, in order."""
    rows = Row.objects.filter(conversation=session, archive__isnull=True).order_by("seq")
    return list(rows.values_list("content", flat=True))


def test_what_is_about_the_same_thing_joins_its_topic_and_the_answer_too(manager):
    first = manager.add_user_message("user123", BREAD)
    manager.add_assistant_message("user123", "About four hours.")
    again = manager.add_user_message("user123", MORE_BREAD)
    other = manager.add_user_message("user123", TAXES)
    assert first["topic_id"] == again["topic_id"] != other["topic_id"]
    assert (again["total_messages"], other["total_messages"]) == (3, 1)
    assert first["topic_title"] == BREAD


def test_messages_saved_as_a_session_have_topics_as_well(manager):
    session = manager.create_session()
    manager.save_message(session, Message(role="user", content=BREAD))
    assert manager.get_topic_stats(session)["topic_title"] == BREAD


def test_importance_is_the_topics_from_then_on(manager):
    assert manager.add_user_message("user123", BREAD)["importance_score"] == 1.0
    assert manager.add_user_message("user123", MORE_BREAD, importance=0.5)["importance_score"] == 0.5
    assert manager.add_user_message("user123", MORE_BREAD)["importance_score"] == 0.5
    with pytest.raises(ValueError, match="0 to 1"):
        manager.add_user_message("user123", "Not saved", importance=2)
    assert len(manager.get_full_topic_history("user123")) == 3


def test_the_figures_have_the_seeds_names(manager):
    manager.add_user_message("user123", BREAD)
    stats = manager.get_topic_stats("user123")
    assert stats.keys() == {
        *("topic_id", "topic_title", "active_messages", "compressed_messages", "total_messages"),
        *("has_summary", "importance_score", "access_count", "memory_type", "half_life_days"),
        *("age_seconds", "inactive_seconds"),
    }
    assert (stats["memory_type"], stats["half_life_days"]) == ("short-term", 1.0)


def test_the_context_is_the_current_topics_messages_in_order(manager):
    manager.add_user_message("user123", BREAD)
    manager.add_user_message("user123", TAXES)
    manager.add_assistant_message("user123", "The originals.")
    assert manager.get_topic_context("user123") == [
        {"role": "user", "content": TAXES},
        {"role": "assistant", "content": "The originals."},
    ]


def test_a_topics_summary_stands_before_its_messages(manager, packed):
    session, _ = packed
    Topic.objects.filter(title=TAXES).update(summary="They spoke of taxes.")
    context = manager.get_topic_context(session)
    assert context[0] == {"role": "system", "content": "Topic summary: They spoke of taxes."}


def test_the_history_holds_what_was_packed_in_time_order_and_unpacks_nothing(manager, packed):
    session, said = packed
    history = manager.get_full_topic_history(session)
    assert [entry["content"] for entry in history] == said
    assert [m.content for m in manager.load_session(session)] == said
    assert abs(history[-1]["timestamp"] - time.time()) < 60
    assert len({entry["topic_id"] for entry in history}) == 2
    unpacked = manager.get_full_topic_history(session, include_compressed=False)
    assert [entry["content"] for entry in unpacked] == live(session) != said
    assert TopicArchive.objects.count() == 1


def test_a_topic_that_is_spoken_of_again_is_unpacked(manager, packed):
    session, said = packed
    stats = manager.add_user_message(session, f"{BREAD} (once more)")
    assert (stats["active_messages"], stats["compressed_messages"]) == (17, 0)
    context = manager.get_topic_context(session)
    assert [entry["content"] for entry in context[1:-1]] == said[:-1]


def test_what_a_damaged_archive_held_is_left_out_and_logged(manager, packed, caplog):
    session, said = packed
    TopicArchive.objects.update(data=b"nothing")
    assert [m.content for m in manager.load_session(session)] == live(session) != said
    assert "an archive is damaged" in caplog.text


def test_before_there_is_a_topic_everything_is_empty(manager):
    assert manager.get_topic_stats("user123") == {}
    assert manager.get_topic_context("user123") == manager.get_full_topic_history("user123") == []


def test_a_manager_that_is_not_enabled_has_no_topics(owner):
    manager = MemoryManager(enabled=False)
    assert manager.add_user_message("user123", BREAD) == manager.get_topic_stats("user123") == {}
    assert manager.add_assistant_message("user123", "Four hours.") == ""
    assert manager.get_topic_context("user123") == manager.get_full_topic_history("user123") == []
    assert not Conversation.objects.exists()


def test_another_owner_has_topics_of_their_own(manager, other):
    manager.add_user_message("user123", BREAD)
    theirs = MemoryManager(owner=other)
    assert theirs.get_topic_stats(manager.session_id("user123")) == {}
    assert theirs.get_full_topic_history("user123") == []
