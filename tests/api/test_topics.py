"""The topic methods of the Python API: messages are assigned to topics, packed topics stay readable."""

from __future__ import annotations

import time
from uuid import UUID

import pytest

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


@pytest.fixture
def packed(manager):
    """A session with a long, packed and summarised topic; returns its id and all texts."""
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
    Topic.objects.exclude(title=TAXES).update(summary="They spoke of bread.", summarised_through=9)
    assert Row.objects.filter(archive__isnull=False).count() == 9
    return session, [*said, TAXES]


def unpacked_texts(session: str) -> list[str]:
    """Return the texts that are not packed, in order."""
    rows = Row.objects.filter(conversation=UUID(session), archive__isnull=True).order_by("seq")
    return list(rows.values_list("content", flat=True))


def test_messages_about_the_same_subject_and_their_replies_share_a_topic(manager):
    first = manager.add_user_message("user123", BREAD)
    manager.add_assistant_message("user123", "About four hours.")
    again = manager.add_user_message("user123", MORE_BREAD)
    other = manager.add_user_message("user123", TAXES)
    assert first["topic_id"] == again["topic_id"] != other["topic_id"]
    assert (again["total_messages"], other["total_messages"]) == (3, 1)
    assert first["topic_title"] == BREAD


def test_messages_saved_with_save_message_have_topics(manager):
    session = manager.create_session()
    manager.save_message(session, Message(role="user", content=BREAD))
    assert manager.get_topic_stats(session)["topic_title"] == BREAD


def test_the_importance_of_a_topic_is_kept(manager):
    assert manager.add_user_message("user123", BREAD)["importance_score"] == 1.0
    assert manager.add_user_message("user123", MORE_BREAD, importance=0.5)["importance_score"] == 0.5
    assert manager.add_user_message("user123", MORE_BREAD)["importance_score"] == 0.5
    with pytest.raises(ValueError, match="0 to 1"):
        manager.add_user_message("user123", "Not saved", importance=2)
    assert len(manager.get_full_topic_history("user123")) == 3


def test_topic_statistics_have_the_documented_keys(manager):
    manager.add_user_message("user123", BREAD)
    stats = manager.get_topic_stats("user123")
    assert stats.keys() == {
        *("topic_id", "topic_title", "active_messages", "compressed_messages", "total_messages"),
        *("has_summary", "importance_score", "access_count", "memory_type", "half_life_days"),
        *("age_seconds", "inactive_seconds"),
    }
    assert (stats["memory_type"], stats["half_life_days"]) == ("short-term", 1.0)


def test_the_context_is_the_messages_of_the_current_topic_in_order(manager):
    manager.add_user_message("user123", BREAD)
    manager.add_user_message("user123", TAXES)
    manager.add_assistant_message("user123", "The originals.")
    assert manager.get_topic_context("user123") == [
        {"role": "user", "content": TAXES},
        {"role": "assistant", "content": "The originals."},
    ]


def test_the_summary_of_a_topic_comes_before_its_messages(manager, packed):
    session, _ = packed
    Topic.objects.filter(title=TAXES).update(summary="They spoke of taxes.")
    context = manager.get_topic_context(session)
    assert context[0] == {"role": "system", "content": "Topic summary: They spoke of taxes."}


def test_the_history_includes_packed_messages_in_order_and_unpacks_nothing(manager, packed):
    session, said = packed
    history = manager.get_full_topic_history(session)
    assert [entry["content"] for entry in history] == said
    assert [m.content for m in manager.load_session(session)] == said
    assert abs(history[-1]["timestamp"] - time.time()) < 60
    assert len({entry["topic_id"] for entry in history}) == 2
    unpacked = manager.get_full_topic_history(session, include_compressed=False)
    assert [entry["content"] for entry in unpacked] == unpacked_texts(session) != said
    assert TopicArchive.objects.count() == 1


def test_a_topic_that_becomes_active_again_is_unpacked(manager, packed):
    session, said = packed
    stats = manager.add_user_message(session, f"{BREAD} (once more)")
    assert (stats["active_messages"], stats["compressed_messages"]) == (17, 0)
    context = manager.get_topic_context(session)
    assert [entry["content"] for entry in context[1:-1]] == said[:-1]


def test_messages_of_a_damaged_archive_are_left_out_and_logged(manager, packed, caplog):
    session, said = packed
    TopicArchive.objects.update(data=b"nothing")
    assert [m.content for m in manager.load_session(session)] == unpacked_texts(session) != said
    assert "an archive is damaged" in caplog.text


def test_without_a_topic_everything_is_empty(manager):
    assert manager.get_topic_stats("user123") == {}
    assert manager.get_topic_context("user123") == manager.get_full_topic_history("user123") == []


def test_a_disabled_manager_has_no_topics(owner):
    manager = MemoryManager(enabled=False)
    assert manager.add_user_message("user123", BREAD) == manager.get_topic_stats("user123") == {}
    assert manager.add_assistant_message("user123", "Four hours.") == ""
    assert manager.get_topic_context("user123") == manager.get_full_topic_history("user123") == []
    assert not Conversation.objects.exists()


def test_another_owner_has_their_own_topics(manager, other):
    manager.add_user_message("user123", BREAD)
    theirs = MemoryManager(owner=other)
    assert theirs.get_topic_stats(manager.session_id("user123")) == {}
    assert theirs.get_full_topic_history("user123") == []
