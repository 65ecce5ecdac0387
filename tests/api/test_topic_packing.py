"""A topic of a program's session packs above twelve messages, without a prompt; a return restores it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from chat.actions import jobs, topic_archive, unread_messages
from chat.actions.jobs import find_open_keys
from chat.api import MemoryManager
from chat.jobs.runner import run_due
from chat.llm.model_status import ModelState, ModelStatus
from chat.llm.registry import registry
from chat.models import Conversation, ExtractionRun, Job, PromptReport, Topic, TopicArchive
from chat.models import Message as Row
from tests.scripted_summary import summarise_turns

pytestmark = pytest.mark.django_db

BREAD = "How long should the sourdough bread rise before baking?"
TAXES = "Which receipts does the revenue office want with declared travel expenses?"


def speak(manager: MemoryManager, text: str, exchanges: int, answer: str = "Some hours.") -> list[str]:
    """Add exchanges to the session "s"; return their texts."""
    said = []
    for n in range(exchanges):
        said += [f"{text} ({n})", f"{answer} ({n})"]
        manager.add_user_message("s", said[-2])
        manager.add_assistant_message("s", said[-1])
    return said


def counts(manager: MemoryManager) -> tuple[int, int]:
    """Return how many messages of the active topic are live and packed."""
    stats = manager.get_topic_stats("s")
    return stats["active_messages"], stats["compressed_messages"]


def texts(entries: list[dict[str, str]]) -> list[str]:
    """Return the contents of a context or a history."""
    return [entry["content"] for entry in entries]


def test_twelve_messages_stay_and_the_thirteenth_packs_all_but_four(manager):
    said = speak(manager, BREAD, 6)
    assert counts(manager) == (12, 0)
    manager.add_user_message("s", BREAD)
    assert counts(manager) == (4, 9)
    assert texts(manager.get_full_topic_history("s")) == [*said, BREAD]
    assert texts(manager.get_full_topic_history("s", include_compressed=False)) == [*said[-3:], BREAD]


def test_packing_again_merges_with_the_archive(manager):
    said = speak(manager, BREAD, 12)
    assert counts(manager)[1] >= 18
    assert TopicArchive.objects.count() == 1
    assert texts(manager.get_full_topic_history("s")) == said


def test_the_context_has_packed_messages_until_a_summary_covers_them(manager, scripted):
    said = speak(manager, BREAD, 7)
    ready = registry.status()
    registry.set_status(ModelStatus(ModelState.MISSING))
    assert texts(manager.get_topic_context("s")) == said
    registry.set_status(ready)
    scripted.default_completion = summarise_turns
    run_due({"pack_topic"})
    summary, *rest = manager.get_topic_context("s")
    assert summary["role"] == "system"
    assert summary["content"].startswith("Topic summary: The user:")
    assert texts(rest) == said[-5:]
    assert texts(manager.get_full_topic_history("s")) == said


def test_a_program_with_a_model_summarises_when_it_reads(manager, scripted):
    speak(manager, BREAD, 7)
    scripted.default_completion = summarise_turns
    assert texts(manager.get_topic_context("s"))[0].startswith("Topic summary: The user:")
    calls = len(scripted.calls)
    assert texts(manager.get_topic_context("s"))[0].startswith("Topic summary: The user:")
    assert len(scripted.calls) == calls


def test_a_failing_model_costs_nothing_but_the_summary(manager, scripted):
    said = speak(manager, BREAD, 7)
    scripted.default_completion = ""
    assert set(said[-5:]) <= set(texts(manager.get_topic_context("s")))


def test_packing_asks_for_a_summary_once(manager):
    speak(manager, BREAD, 14)
    topic = Topic.objects.get()
    assert find_open_keys([f"pack_topic:{topic.pk}"])
    assert Job.objects.filter(kind="pack_topic").count() == 1


def test_a_topic_that_returns_has_its_full_context_again(manager):
    said = speak(manager, BREAD, 8)
    manager.add_user_message("s", TAXES)
    manager.add_assistant_message("s", "The originals.")
    manager.add_user_message("s", f"{BREAD} (again)")
    assert counts(manager) == (17, 0)
    assert texts(manager.get_topic_context("s")) == [*said, f"{BREAD} (again)"]


def test_what_was_restored_stays_while_the_topic_is_active(manager):
    said = speak(manager, BREAD, 8)
    manager.add_user_message("s", TAXES)
    more = speak(manager, f"{BREAD} Once more", 6)
    assert counts(manager) == (28, 0)
    assert texts(manager.get_topic_context("s")) == [*said, *more]
    manager.add_user_message("s", f"{BREAD} (and again)")
    assert counts(manager) == (4, 25)


def test_a_restored_topic_is_packed_when_another_becomes_active(manager):
    speak(manager, BREAD, 8)
    manager.add_user_message("s", TAXES)
    manager.add_user_message("s", f"{BREAD} (again)")
    assert counts(manager) == (17, 0)
    manager.add_user_message("s", TAXES)
    bread = Topic.objects.with_counts().exclude(title=TAXES).get()
    assert (bread.live, bread.packed) == (4, 13)


def test_a_conversation_with_prompts_is_not_packed_before_its_compaction(manager):
    speak(manager, BREAD, 1)
    PromptReport.objects.create(reply=Row.objects.get(role="assistant"), window=4096)
    speak(manager, BREAD, 8)
    assert counts(manager) == (18, 0)


def test_flagged_messages_are_not_packed(manager):
    speak(manager, BREAD, 2)
    Row.objects.filter(seq=1).update(flagged=True)
    speak(manager, BREAD, 5)
    assert Row.objects.get(seq=1).content
    assert counts(manager)[1] == 9


def test_memory_still_reads_a_packed_message(manager, scripted):
    manager.add_user_message("s", "Remember that my sourdough bread must not contain peanuts.")
    speak(manager, BREAD, 8)
    assert Row.objects.get(seq=1).content == ""
    assert unread_messages.has_explicit_request(Conversation.objects.get())
    run_due({"extract"})
    read = [turn.content for call in scripted.calls for turn in call.turns]
    assert any("must not contain peanuts" in text for text in read)


def test_memory_learns_nothing_from_a_lost_message(manager, scripted):
    speak(manager, BREAD, 8)
    TopicArchive.objects.update(data=b"nothing")
    run_due({"extract"})
    read = [turn.content for call in scripted.calls for turn in call.turns]
    assert not any("packed away" in text for text in read)
    assert ExtractionRun.objects.filter(error="extraction-given-up").exists()


@pytest.mark.parametrize("moment", ["before the archive", "after the archive"])
def test_a_kill_while_packing_loses_nothing_and_the_next_message_packs(manager, monkeypatch, moment):
    said = speak(manager, BREAD, 6)

    def kill(*_args, **_options):
        raise KeyboardInterrupt

    def kill_at_packing(kind, *args, **options):
        return kill() if kind == "pack_topic" else jobs.enqueue(kind, *args, **options)

    with monkeypatch.context() as patched:
        if moment == "before the archive":
            patched.setattr(TopicArchive.objects, "create", kill)
        else:
            patched.setattr(topic_archive, "jobs", SimpleNamespace(enqueue=kill_at_packing))
        with pytest.raises(KeyboardInterrupt):
            manager.add_user_message("s", BREAD)
    assert not TopicArchive.objects.exists()
    assert texts(manager.get_full_topic_history("s")) == [*said, BREAD]
    manager.add_assistant_message("s", "Four hours.")
    assert TopicArchive.objects.get().count == 10
    assert texts(manager.get_full_topic_history("s")) == [*said, BREAD, "Four hours."]
