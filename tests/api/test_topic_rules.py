"""The topic rules are arguments of MemoryManager; invalid ones are refused before anything changes."""

from __future__ import annotations

import inspect

import pytest

from chat.api import MemoryManager
from chat.models import Conversation, Topic
from chat.models import Message as Row

pytestmark = pytest.mark.django_db

SUBJECTS = [
    "How long should the sourdough bread rise before baking?",
    "Which receipts does the revenue office want with declared travel expenses?",
    "My wooden sailing boat leaks again since last winter's heavy storms.",
    "Several tomato seedlings inside our greenhouse turned yellow overnight.",
]


def test_the_defaults_are_the_documented_ones():
    given = inspect.signature(MemoryManager.__init__).parameters
    documented = {
        "max_topics": 20,
        "similarity_threshold": None,
        "base_half_life_seconds": 86_400,
        "max_half_life_seconds": 2_592_000,
        "access_threshold_for_lt": 5,
        "max_messages_per_topic": 12,
        "recent_message_keep": 4,
    }
    assert {name: given[name].default for name in documented} == documented


def test_packing_follows_the_managers_rules(owner):
    manager = MemoryManager(max_messages_per_topic=3, recent_message_keep=1)
    for n in range(2):
        stats = manager.add_user_message("s", f"{SUBJECTS[0]} ({n})")
        manager.add_assistant_message("s", f"{n} hours.")
    assert (stats["active_messages"], stats["compressed_messages"]) == (3, 0)
    stats = manager.get_topic_stats("s")
    assert (stats["active_messages"], stats["compressed_messages"]) == (1, 3)


def test_statistics_follow_the_managers_rules(owner):
    manager = MemoryManager(
        base_half_life_seconds=3600, max_half_life_seconds=7200, access_threshold_for_lt=1
    )
    stats = manager.add_user_message("s", SUBJECTS[0])
    assert (stats["memory_type"], stats["half_life_days"]) == ("transitioning", 7200 / 86400)


def test_no_more_topics_than_twice_the_maximum_stay_current(owner):
    manager = MemoryManager(max_topics=1)
    for text in SUBJECTS:
        manager.add_user_message("s", text)
    current = Topic.objects.filter(retired_at__isnull=True)
    assert [topic.title for topic in current.order_by("created_at")] == SUBJECTS[2:]


@pytest.mark.parametrize(
    "arguments",
    [
        {"max_topics": 0},
        {"similarity_threshold": 7},
        {"base_half_life_seconds": -1},
        {"max_half_life_seconds": 10},
        {"access_threshold_for_lt": 0},
        {"max_messages_per_topic": "12"},
        {"recent_message_keep": 13},
    ],
)
def test_an_invalid_value_is_refused_by_name_and_changes_nothing(owner, tmp_path, arguments):
    [name] = arguments
    with pytest.raises(ValueError, match=f"^{name} is"):
        MemoryManager(tmp_path / "never made", auto_prune_days=1, **arguments)
    assert not (tmp_path / "never made").exists()
    assert not Conversation.objects.exists()
    assert not Row.objects.exists()
