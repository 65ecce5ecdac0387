"""The next compaction is computed in the background and used by the turn that needs it."""

from __future__ import annotations

import pytest

from chat.actions import deletions, messages, prompts
from chat.actions.conversations import set_memory_mode
from chat.actions.owners import default_app
from chat.context.prompt import build_prompt
from chat.jobs import prompts as prompts_module
from chat.jobs.prompts import prepare_compaction
from chat.llm.registry import registry
from chat.models import Conversation, Job, Message
from tests.scripted_summary import summarise_turns

pytestmark = pytest.mark.django_db

WINDOW = 2048
SUMMARY = "The user: 1 xxx"


@pytest.fixture
def long_conversation(owner, scripted):
    """A conversation of 20 messages that fills more than two thirds of a small window."""
    scripted.context_window = WINDOW
    scripted.default_completion = summarise_turns
    conversation = Conversation.objects.create(owner=owner, app=default_app(owner))
    Message.objects.bulk_create(
        Message(
            conversation=conversation,
            seq=n,
            role="user" if n % 2 else "assistant",
            content=f"{n} " + "x" * 240,
        )
        for n in range(1, 21)
    )
    return conversation


def make_payload(conversation, tokens=1600):
    return {"conversation": str(conversation.pk), "tokens": tokens, "window": WINDOW}


def send_and_record_prompt(conversation, text="Go on"):
    """Send a message, build and record its prompt as a reply does, and return the prompt."""
    asked, reply = messages.send_message(conversation.owner, text, conversation)
    fresh = Conversation.objects.get(pk=conversation.pk)
    prompt = build_prompt(fresh, asked, registry.provider())
    prompts.record_prompt(fresh, asked, reply, prompt, WINDOW)
    messages.finish_reply(reply, "Yes.", "complete")
    return prompt


def test_the_compacting_turn_uses_the_prepared_summary(long_conversation):
    prepare_compaction(make_payload(long_conversation))
    long_conversation.refresh_from_db()
    assert long_conversation.summary.startswith(SUMMARY)
    assert 0 < long_conversation.summarised_through == long_conversation.prepared["trimmed_through"]
    assert long_conversation.prompt_summary == ""
    prompt = send_and_record_prompt(long_conversation, "y" * 1200)
    assert prompt.stage == 1
    assert SUMMARY in prompt.turns[0].content
    long_conversation.refresh_from_db()
    assert (long_conversation.prompt_summary, long_conversation.prepared) == (long_conversation.summary, None)


def test_preparation_does_not_change_a_prompt_that_is_not_full(long_conversation):
    before = send_and_record_prompt(long_conversation, "Short")
    prepare_compaction(make_payload(long_conversation))
    after = send_and_record_prompt(long_conversation, "Short")
    assert after.turns[: len(before.turns)] == before.turns
    assert after.stage == 0


def test_messages_after_the_preparation_are_in_the_compacted_prompt(long_conversation):
    prepare_compaction(make_payload(long_conversation))
    send_and_record_prompt(long_conversation, "My cousin comes along.")
    prompt = send_and_record_prompt(long_conversation, "y" * 1200)
    assert prompt.stage > 0
    assert any("My cousin comes along." in t.content for t in prompt.turns)


def test_below_seventy_percent_only_the_summary_is_prepared(long_conversation):
    prepare_compaction(make_payload(long_conversation, tokens=int(0.65 * WINDOW)))
    long_conversation.refresh_from_db()
    assert long_conversation.summary
    assert long_conversation.prepared is None


def test_without_a_summary_the_prompt_is_trimmed(long_conversation, scripted):
    scripted.default_completion = ""
    prepare_compaction(make_payload(long_conversation))
    prompt = send_and_record_prompt(long_conversation, "y" * 1200)
    assert (prompt.stage, prompt.shape.summary) == (1, "")
    assert prompt.tokens <= 0.8 * WINDOW


def test_the_summary_continues_where_it_ended(long_conversation, scripted):
    prepare_compaction(make_payload(long_conversation))
    send_and_record_prompt(long_conversation, "y" * 1200)
    long_conversation.refresh_from_db()
    first = long_conversation.summarised_through
    for _ in range(6):
        send_and_record_prompt(long_conversation, "z" * 800)
    scripted.calls.clear()
    prepare_compaction(make_payload(long_conversation))
    asked = "\n".join(call.turns[-1].content for call in scripted.calls)
    long_conversation.refresh_from_db()
    assert long_conversation.summarised_through > first
    assert long_conversation.summary.startswith(SUMMARY)
    assert "zzz" in long_conversation.summary
    assert "User: 1 xx" not in asked


def test_a_part_with_an_ungrounded_summary_is_skipped(long_conversation, scripted):
    scripted.completions.append("The user plans a garden house of 80 square metres.")
    prepare_compaction(make_payload(long_conversation))
    long_conversation.refresh_from_db()
    assert long_conversation.summarised_through == long_conversation.prepared["trimmed_through"]
    assert "garden" not in long_conversation.summary
    assert long_conversation.summary.startswith("The user: 5 xxx")


@pytest.mark.parametrize("strategy", ["simple", "topics"])
def test_strategies_without_a_rolling_summary_do_not_call_the_model(long_conversation, scripted, strategy):
    Conversation.objects.filter(pk=long_conversation.pk).update(strategy=strategy)
    prepare_compaction(make_payload(long_conversation))
    assert scripted.calls == []
    long_conversation.refresh_from_db()
    assert long_conversation.prepared["strategy"] == strategy


def test_turning_memory_off_discards_the_preparation(long_conversation, make_fact):
    make_fact("User is building a rocket", category="project", kind="building")
    prepare_compaction(make_payload(long_conversation))
    long_conversation.refresh_from_db()
    assert "a rocket" in long_conversation.prepared["block"]
    set_memory_mode(long_conversation, "off")
    long_conversation.refresh_from_db()
    assert long_conversation.prepared is None
    assert not any(
        "a rocket" in t.content for t in send_and_record_prompt(long_conversation, "y" * 1200).turns
    )


def test_a_deleted_fact_is_not_in_the_prepared_prompt(long_conversation, owner, make_fact, time_machine):
    fact = make_fact("User is building a rocket", category="project", kind="building")
    prepare_compaction(make_payload(long_conversation))
    batch = deletions.forget_facts(owner, [fact.pk])
    assert not any(
        "a rocket" in t.content for t in send_and_record_prompt(long_conversation, "y" * 1200).turns
    )
    prepare_compaction(make_payload(long_conversation))
    deletions.finish_deletion(batch.pk, batch.expires_at + deletions.UNDO_GRACE)
    kept = str([*Conversation.objects.values_list("prepared", "memory_block", "prompt_summary")])
    assert "a rocket" not in kept


def test_a_full_prompt_queues_one_preparation_and_a_short_one_none(long_conversation):
    prompts.queue_preparation(long_conversation.pk, int(0.5 * WINDOW), WINDOW)
    assert not Job.objects.filter(kind="prepare").exists()
    for tokens in (1300, 1500):
        prompts.queue_preparation(long_conversation.pk, tokens, WINDOW)
    assert Job.objects.filter(kind="prepare").count() == 1


def test_freeing_caches_queues_prewarming(long_conversation, make_fact):
    prompts_module.free_caches({"conversations": [str(long_conversation.pk)]})
    assert Job.objects.filter(kind="warm", payload__conversation=str(long_conversation.pk)).exists()
    prompts_module.warm_conversation({"conversation": str(long_conversation.pk)})
    prompts_module.warm_conversation({"conversation": "00000000-0000-0000-0000-000000000000"})
