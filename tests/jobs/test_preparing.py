"""The next compaction is made ready while nobody waits, and is what the turn that needs it uses."""

from __future__ import annotations

import pytest

from chat.actions import deletions, messages, prompts
from chat.actions.conversations import set_memory_mode
from chat.actions.owners import default_app
from chat.context.prompt import build
from chat.jobs import handlers
from chat.jobs.prepare import prepare
from chat.models import Conversation, Job, Message
from tests.minutes import minutes

pytestmark = pytest.mark.django_db

WINDOW = 2048
SUMMARY = "The user: 1 xxx"


@pytest.fixture
def crowded(owner, scripted):
    """A conversation of 20 messages that fills more than two thirds of a small window."""
    scripted.context_window = WINDOW
    scripted.default_completion = minutes
    talked = Conversation.objects.create(owner=owner, app=default_app(owner))
    Message.objects.bulk_create(
        Message(
            conversation=talked, seq=n, role="user" if n % 2 else "assistant", content=f"{n} " + "x" * 240
        )
        for n in range(1, 21)
    )
    return talked


def due(conversation, tokens=1600):
    return {"conversation": str(conversation.pk), "tokens": tokens, "window": WINDOW}


def say(conversation, text="Go on"):
    """Write a message and build and keep its prompt, as a reply does."""
    asked, reply = messages.send_message(conversation.owner, text, conversation)
    fresh = Conversation.objects.get(pk=conversation.pk)
    prompt = build(fresh, asked, handlers.registry.provider())
    prompts.record_prompt(fresh, asked, reply, prompt, WINDOW)
    messages.finish_reply(reply, "Yes.", "complete")
    return prompt


def test_what_will_be_left_out_is_summed_up_and_the_turn_that_compacts_has_the_summary(crowded):
    prepare(due(crowded))
    crowded.refresh_from_db()
    assert crowded.summary.startswith(SUMMARY)
    assert 0 < crowded.summarised_through == crowded.prepared["trimmed_through"]
    assert crowded.prompt_summary == ""
    prompt = say(crowded, "y" * 1200)
    assert prompt.stage == 1
    assert SUMMARY in prompt.turns[0].content
    crowded.refresh_from_db()
    assert (crowded.prompt_summary, crowded.prepared) == (crowded.summary, None)


def test_before_the_prompt_is_full_nothing_of_it_changes(crowded):
    before = say(crowded, "Short")
    prepare(due(crowded))
    after = say(crowded, "Short")
    assert after.turns[: len(before.turns)] == before.turns
    assert after.stage == 0


def test_what_was_said_after_the_preparation_is_in_the_compacted_prompt(crowded):
    prepare(due(crowded))
    say(crowded, "My cousin comes along.")
    prompt = say(crowded, "y" * 1200)
    assert prompt.stage > 0
    assert any("My cousin comes along." in t.content for t in prompt.turns)


def test_from_sixty_per_cent_on_there_is_a_summary_and_from_seventy_a_prompt(crowded):
    prepare(due(crowded, tokens=int(0.65 * WINDOW)))
    crowded.refresh_from_db()
    assert crowded.summary
    assert crowded.prepared is None


def test_a_model_that_gives_no_summary_leaves_it_to_trimming(crowded, scripted):
    scripted.default_completion = ""
    prepare(due(crowded))
    prompt = say(crowded, "y" * 1200)
    assert (prompt.stage, prompt.shape.summary) == (1, "")
    assert prompt.tokens <= 0.8 * WINDOW


def test_the_summary_goes_on_where_it_ended(crowded, scripted):
    prepare(due(crowded))
    say(crowded, "y" * 1200)
    crowded.refresh_from_db()
    first = crowded.summarised_through
    for _ in range(6):
        say(crowded, "z" * 800)
    scripted.calls.clear()
    prepare(due(crowded))
    asked = "\n".join(call.turns[-1].content for call in scripted.calls)
    crowded.refresh_from_db()
    assert crowded.summarised_through > first
    assert crowded.summary.startswith(SUMMARY)
    assert "zzz" in crowded.summary
    assert "User: 1 xx" not in asked


def test_a_part_that_the_model_cannot_tell_is_left_out_and_the_next_one_told(crowded, scripted):
    scripted.completions.append("The user plans a garden house of 80 square metres.")
    prepare(due(crowded))
    crowded.refresh_from_db()
    assert crowded.summarised_through == crowded.prepared["trimmed_through"]
    assert "garden" not in crowded.summary
    assert crowded.summary.startswith("The user: 5 xxx")


@pytest.mark.parametrize("strategy", ["simple", "topics"])
def test_a_strategy_without_a_rolling_summary_asks_no_model(crowded, scripted, strategy):
    Conversation.objects.filter(pk=crowded.pk).update(strategy=strategy)
    prepare(due(crowded))
    assert scripted.calls == []
    crowded.refresh_from_db()
    assert crowded.prepared["strategy"] == strategy


def test_another_strategy_or_memory_switched_off_makes_it_void(crowded, make_fact):
    make_fact("User is building a rocket", category="project", kind="building")
    prepare(due(crowded))
    crowded.refresh_from_db()
    assert "a rocket" in crowded.prepared["block"]
    set_memory_mode(crowded, "off")
    crowded.refresh_from_db()
    assert crowded.prepared is None
    assert not any("a rocket" in t.content for t in say(crowded, "y" * 1200).turns)


def test_a_forgotten_fact_does_not_come_back_with_it(crowded, owner, make_fact, time_machine):
    fact = make_fact("User is building a rocket", category="project", kind="building")
    prepare(due(crowded))
    batch = deletions.forget(owner, [fact.pk])
    assert not any("a rocket" in t.content for t in say(crowded, "y" * 1200).turns)
    prepare(due(crowded))
    deletions.finish(batch.pk, batch.expires_at + deletions.GRACE)
    kept = str([*Conversation.objects.values_list("prepared", "memory_block", "prompt_summary")])
    assert "a rocket" not in kept


def test_a_full_prompt_asks_for_it_once_and_a_short_one_does_not(crowded):
    prompts.ask_to_prepare(crowded.pk, int(0.5 * WINDOW), WINDOW)
    assert not Job.objects.filter(kind="prepare").exists()
    for tokens in (1300, 1500):
        prompts.ask_to_prepare(crowded.pk, tokens, WINDOW)
    assert Job.objects.filter(kind="prepare").count() == 1


def test_after_words_were_forgotten_the_open_conversations_are_read_anew(crowded, make_fact):
    handlers.free_caches({"conversations": [str(crowded.pk)]})
    assert Job.objects.filter(kind="warm", payload__conversation=str(crowded.pk)).exists()
    handlers.warm_conversation({"conversation": str(crowded.pk)})
    handlers.warm_conversation({"conversation": "00000000-0000-0000-0000-000000000000"})
