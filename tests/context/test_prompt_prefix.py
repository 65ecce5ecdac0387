"""Each prompt starts with the previous prompt and its reply, so that the model's cache is reused."""

from __future__ import annotations

import pytest

from chat.actions import deletions
from chat.actions.facts import edit_fact
from chat.llm.types import Turn

pytestmark = pytest.mark.django_db


@pytest.fixture
def stored_facts(make_fact):
    """A project fact for the block and a home fact for the note."""
    return (
        make_fact("User is building a boat", category="project", kind="building"),
        make_fact("User lives in Copenhagen", category="identity", kind="home"),
    )


def test_each_prompt_starts_with_the_previous_prompt_and_reply(stored_facts, make_conversation, turn):
    conversation = make_conversation()
    messages = [
        "Hi",
        "Is it cold in Oslo and Copenhagen?",
        "Thanks",
        "What do you know about me?",
        "And my boat?",
        "Bye",
    ]
    before = turn(conversation, messages[0], "Answer to Hi")
    for text in messages[1:]:
        now = turn(conversation, text, f"Answer to {text}")
        reply = Turn("assistant", now.turns[len(before.turns)].content)
        assert now.turns[: len(before.turns) + 1] == [*before.turns, reply]
        before = now
    assert any("lives in Copenhagen" in t.content for t in before.turns[1:-1])


def test_facts_learned_between_turns_do_not_change_the_prefix(
    stored_facts, make_fact, make_conversation, turn
):
    conversation = make_conversation()
    before = turn(conversation, "Is it cold in Oslo and Copenhagen?")
    make_fact("User is building a rocket", category="project", kind="building")
    make_fact("User wants short answers", kind="reply_style")
    now = turn(conversation, "Go on")
    assert now.turns[: len(before.turns)] == before.turns


def test_the_prompt_does_not_depend_on_the_time(stored_facts, make_conversation, turn, time_machine):
    prompts = []
    for moment in ("2026-01-01 08:00", "2027-06-15 21:30"):
        time_machine.move_to(f"{moment}+00:00", tick=False)
        prompts.append(turn(make_conversation(), "Is it cold in Oslo and Copenhagen?").turns)
    assert prompts[0] == prompts[1]


def test_a_deleted_fact_leaves_the_next_prompt_and_its_notes(stored_facts, owner, make_conversation, turn):
    conversation = make_conversation()
    turn(conversation, "Is it cold in Oslo and Copenhagen? And my boat?")
    deletions.forget_facts(owner, [f.pk for f in stored_facts])
    now = turn(conversation, "Go on")
    assert now.facts == []
    assert not any("lives in Copenhagen" in t.content or "a boat" in t.content for t in now.turns)


def test_earlier_texts_of_a_deleted_fact_leave_the_prompt(stored_facts, owner, make_conversation, turn):
    conversation = make_conversation()
    turn(conversation, "Is it cold in Oslo and Copenhagen?")
    home = edit_fact(stored_facts[1], "User lives in Aarhus")
    deletions.forget_facts(owner, [home.pk])
    assert not any("lives in Copenhagen" in t.content for t in turn(conversation, "Go on").turns)


def test_undo_restores_the_same_prompt(stored_facts, owner, make_conversation, turn):
    conversation = make_conversation()
    before = turn(conversation, "Is it cold in Oslo and Copenhagen?")
    deletions.undo_deletion(deletions.forget_facts(owner, [f.pk for f in stored_facts]))
    assert turn(conversation, "Go on").turns[: len(before.turns)] == before.turns
