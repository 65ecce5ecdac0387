"""The worked examples of the design for topics: calls and their results, decay, packing, answering."""

from __future__ import annotations

import base64
import gzip
import inspect
import json
from datetime import timedelta

import pytest

from chat.api import MemoryManager, Message
from chat.jobs.runner import run_due
from chat.models import Topic, TopicArchive
from chat.topics.decay import RETIREMENT_PRIORITY, compute_priority
from chat.topics.pack import pack_contents
from tests.benchmarks.more_sample_talk import MORE
from tests.benchmarks.sample_talk import TALK
from tests.scripted_summary import summarise_turns

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)
FEATURES = "What are the key features?"
BREAD = "How long should the sourdough bread rise before baking?"
TAXES = "Which receipts does the revenue office want with declared travel expenses?"


def speak(manager: MemoryManager, conversation: str, text: str, exchanges: int) -> list[str]:
    """Add so many exchanges about a subject; return their texts."""
    said = []
    for n in range(1, exchanges + 1):
        said += [f"{text} ({n})", f"Some hours. ({n})"]
        manager.add_user_message(conversation, said[-2])
        manager.add_assistant_message(conversation, said[-1])
    return said


def texts(entries: list[dict[str, str]]) -> list[str]:
    """Return the contents of a context or a history."""
    return [entry["content"] for entry in entries]


class TestCalls:
    """The calls of the API section, with its arguments."""

    def test_a_message_is_added_with_its_importance_and_a_reply_follows(self, manager):
        topic = manager.add_user_message(
            conversation_id="user123",
            text="What are the key features?",
            importance=0.5,
        )
        manager.add_assistant_message(conversation_id="user123", text="The key features are...")
        assert (topic["topic_title"], topic["importance_score"]) == (FEATURES, 0.5)
        assert manager.get_topic_context("user123") == [
            {"role": "user", "content": "What are the key features?"},
            {"role": "assistant", "content": "The key features are..."},
        ]

    def test_the_context_begins_with_the_topic_summary(self, manager, scripted):
        scripted.default_completion = summarise_turns
        said = speak(manager, "user123", BREAD, 7)
        summary, *recent = manager.get_topic_context("user123")
        assert summary["role"] == "system"
        assert summary["content"].startswith("Topic summary: The user:")
        assert recent[-2:] == [
            {"role": "user", "content": said[-2]},
            {"role": "assistant", "content": said[-1]},
        ]

    def test_the_full_history_has_roles_texts_and_timestamps_and_what_is_compressed(
        self, manager, time_machine
    ):
        time_machine.move_to(1234567890, tick=False)
        said = speak(manager, "user123", BREAD, 7)
        full_history = manager.get_full_topic_history(conversation_id="user123", include_compressed=True)
        assert TopicArchive.objects.exists()
        assert texts(full_history) == said
        first = full_history[0]
        assert (first["role"], first["content"], first["timestamp"]) == ("user", said[0], 1234567890)

    def test_the_statistics_have_the_keys_and_values_of_the_example(self, owner, scripted, clock):
        scripted.default_completion = summarise_turns
        # In the example, 8 of 12 messages are packed. By default the 13th message starts the packing.
        manager = MemoryManager(max_messages_per_topic=11)
        manager.add_user_message("user123", "Discussion about features", importance=0.5)
        for n in range(9):
            manager.add_assistant_message("user123", f"The key features are... ({n})")
        clock(3480)
        manager.add_user_message("user123", "And what else?")
        manager.add_assistant_message("user123", "The key features are...")
        # Here an access is a message of the user.
        Topic.objects.update(access_count=15)
        run_due({"pack_topic"})
        clock(120)
        stats = manager.get_topic_stats("user123")
        assert stats == {
            "topic_id": str(Topic.objects.get().pk),
            "topic_title": "Discussion about features",
            "active_messages": 4,
            "compressed_messages": 8,
            "total_messages": 12,
            "has_summary": True,
            "importance_score": 0.5,
            "access_count": 15,
            "memory_type": "long-term",
            "half_life_days": 8.0,
            "age_seconds": 3600,
            "inactive_seconds": 120,
        }


class TestMatching:
    """A message joins a topic and resets its timer, or opens a new one."""

    def test_the_title_of_a_new_topic_is_the_first_80_characters(self, manager):
        long = "The migration of our billing database to another host fails at the step that copies invoices."
        assert manager.add_user_message("user123", long)["topic_title"] == long[:80]

    def test_a_similar_message_joins_the_topic_and_refreshes_its_timer(self, manager, clock):
        first = manager.add_user_message("user123", BREAD)
        clock(3600)
        assert manager.get_topic_stats("user123")["inactive_seconds"] == 3600
        again = manager.add_user_message("user123", f"{BREAD} Or rest after baking?")
        assert again["topic_id"] == first["topic_id"]
        assert (again["inactive_seconds"], again["age_seconds"]) == (0, 3600)

    def test_another_subject_opens_a_topic(self, manager):
        first = manager.add_user_message("user123", BREAD)
        assert manager.add_user_message("user123", TAXES)["topic_id"] != first["topic_id"]


class TestDecay:
    """The figures of short-term and long-term memory, and what is gone at the end of each row."""

    @pytest.mark.parametrize(
        ("days", "priority"), [(0, 1.0), (1, 0.5), (2, 0.25), (3, 0.125), (4, 0.0625), (5, 0.03125)]
    )
    def test_short_term_memory_has_a_half_life_of_a_day(self, days, priority):
        assert compute_priority(1.0, 4, days * DAY) == priority
        assert (priority < RETIREMENT_PRIORITY) is (days == 5)

    @pytest.mark.parametrize(
        ("days", "priority"), [(0, 1.0), (16, 0.5), (32, 0.25), (48, 0.125), (64, 0.0625), (80, 0.03125)]
    )
    def test_long_term_memory_after_twenty_accesses_has_a_half_life_of_sixteen_days(self, days, priority):
        assert compute_priority(1.0, 20, days * DAY) == priority
        assert (priority < RETIREMENT_PRIORITY) is (days == 80)

    # Accesses, half-life in days, memory type, and days until the topic is gone.
    TIMELINE = (
        (0, 1, "short-term", 5),
        (4, 1, "short-term", 5),
        (5, 2, "transitioning", 10),
        (9, 2, "transitioning", 10),
        (10, 4, "long-term", 20),
        (14, 4, "long-term", 20),
        (15, 8, "long-term", 40),
        (19, 8, "long-term", 40),
        (20, 16, "long-term", 80),
        (24, 16, "long-term", 80),
        (25, 30, "long-term", 150),
        (100, 30, "long-term", 150),
    )

    @pytest.mark.parametrize(("accesses", "half_life", "memory_type", "survival"), TIMELINE)
    def test_a_topic_survives_as_long_as_the_timeline_says(
        self, manager, clock, accesses, half_life, memory_type, survival
    ):
        old = manager.add_user_message("user123", BREAD)["topic_id"]
        Topic.objects.update(access_count=accesses)
        stats = manager.get_topic_stats("user123")
        assert (stats["half_life_days"], stats["memory_type"]) == (half_life, memory_type)
        # The timeline says "about": after four fifths of the days the topic is still there.
        clock(survival * 0.8 * DAY.total_seconds())
        self.fill_conversation(manager)
        assert self.is_current(old)
        clock(survival * 0.2 * DAY.total_seconds())
        manager.add_user_message("user123", "Should the cathedral organ be tuned during winter or summer?")
        # A removed topic leaves prompt and matching; its messages stay: designs.md, 2.15.
        assert not self.is_current(old)
        assert texts(manager.get_full_topic_history("user123"))[0] == BREAD

    @staticmethod
    def fill_conversation(manager: MemoryManager) -> None:
        """Add twenty recent topics, so that there are more than `max_topics`."""
        conversation = Topic.objects.get().conversation
        now = Topic.objects.create(conversation=conversation, title="Begun now").created_at
        Topic.objects.bulk_create(
            Topic(conversation=conversation, title=f"Recent {n}", last_active_at=now, access_count=30)
            for n in range(19)
        )
        manager.add_user_message("user123", TAXES)

    @staticmethod
    def is_current(topic_id: str) -> bool:
        return Topic.objects.current().filter(pk=topic_id).exists()


class TestCompaction:
    """Twelve messages stay; the next one packs all but the newest four."""

    def test_the_thirteenth_message_packs_all_but_the_recent_four(self, manager):
        said = speak(manager, "user123", BREAD, 6)
        before = manager.get_topic_stats("user123")
        assert (before["active_messages"], before["compressed_messages"]) == (12, 0)
        after = manager.add_user_message("user123", BREAD)
        assert (after["active_messages"], after["compressed_messages"]) == (4, 9)
        active = manager.get_full_topic_history("user123", include_compressed=False)
        assert texts(active) == [*said[-3:], BREAD]

    def test_messages_that_are_compressed_later_are_combined_with_the_earlier_ones(self, manager):
        said = speak(manager, "user123", BREAD, 12)
        assert TopicArchive.objects.get().count == manager.get_topic_stats("user123")["compressed_messages"]
        assert TopicArchive.objects.get().count > 9
        assert texts(manager.get_full_topic_history("user123")) == said

    def test_an_old_topic_that_is_accessed_again_has_its_full_context(self, manager):
        said = speak(manager, "user123", BREAD, 8)
        manager.add_user_message("user123", TAXES)
        stats = manager.add_user_message("user123", f"{BREAD} (again)")
        assert (stats["active_messages"], stats["compressed_messages"]) == (17, 0)
        assert not TopicArchive.objects.exists()
        assert texts(manager.get_topic_context("user123")) == [*said, f"{BREAD} (again)"]


class TestCompressionFormat:
    """Two messages, packed as the example packs them."""

    HISTORY = (
        {"role": "user", "content": "Hello", "timestamp": 1234567890},
        {"role": "assistant", "content": "Hi!", "timestamp": 1234567891},
    )

    @pytest.fixture
    def manager(self, owner):
        manager = MemoryManager(max_messages_per_topic=1, recent_message_keep=0)
        for entry in self.HISTORY:
            said = Message(role=entry["role"], content=entry["content"], created_at=entry["timestamp"])
            manager.save_message("user123", said)
        return manager

    def test_the_messages_are_json_in_gzip(self, manager):
        data = bytes(TopicArchive.objects.get().data)
        assert data.startswith(b"\x1f\x8b\x08\x00")
        # Stored as bytes, because base64 makes them a third larger: designs.md, 2.10.
        assert base64.b64encode(data).startswith(b"H4sIAAAAAAAC")
        # Roles and times stay in the rows, where queries find them.
        assert json.loads(gzip.decompress(data)) == [[1, "Hello"], [2, "Hi!"]]

    def test_the_messages_are_restored_with_roles_and_timestamps(self, manager):
        found = manager.get_full_topic_history("user123", include_compressed=True)
        keys = ("role", "content", "timestamp")
        assert [{key: entry[key] for key in keys} for entry in found] == list(self.HISTORY)
        assert manager.get_full_topic_history("user123", include_compressed=False) == []


@pytest.mark.parametrize("count", [10, 20, 50])
def test_conversations_of_the_tables_sizes_are_more_than_halved(count):
    sample = [text for exchange in (*TALK, *MORE) for text in exchange][:count]
    entries = [
        {"role": ("user", "assistant")[n % 2], "content": text, "timestamp": 1234567890 + n}
        for n, text in enumerate(sample)
    ]
    ratio = 1 - len(pack_contents(dict(enumerate(sample))).data) / len(json.dumps(entries).encode())
    # The design expects 86 %. Real chat becomes 58 to 63 % smaller; see designs.md.
    assert 0.55 < ratio < 0.70


def test_the_parameters_have_the_defaults_of_the_table():
    parameters = inspect.signature(MemoryManager.__init__).parameters
    assert {name: parameters[name].default for name in list(parameters)[-7:]} == {
        "max_topics": 20,
        # 0.7 keeps hardly any follow-up in its topic with the embedder in use: designs.md, 2.3.
        "similarity_threshold": None,
        "base_half_life_seconds": 86400,
        "max_half_life_seconds": 2592000,
        "access_threshold_for_lt": 5,
        "max_messages_per_topic": 12,
        "recent_message_keep": 4,
    }
    MemoryManager(enabled=False, similarity_threshold=0.7)


def test_the_answer_to_a_question_gets_the_history_of_its_topic(manager):
    """The example of the pipeline, without its rewritten search query: the program searches no documents."""
    received = []

    def ask(conv_id: str, question: str) -> None:
        manager.add_user_message(conv_id, question)
        topic_history = manager.get_topic_context(conv_id)
        received.append({"input": question, "chat_history": topic_history})
        manager.add_assistant_message(conv_id, f"The answer to: {question}")

    for question in (FEATURES, "And their price?", BREAD):
        ask("user123", question)
    assert texts(received[0]["chat_history"]) == [FEATURES]
    assert texts(received[1]["chat_history"]) == [
        FEATURES,
        f"The answer to: {FEATURES}",
        "And their price?",
    ]
    assert texts(received[2]["chat_history"]) == [BREAD]
