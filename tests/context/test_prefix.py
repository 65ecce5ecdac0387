"""A turn's prompt begins with the last turn's prompt and its reply, so that nothing is read twice."""

from __future__ import annotations

import pytest

from chat.actions import deletions
from chat.actions.facts import edit_fact
from chat.llm.types import Turn

pytestmark = pytest.mark.django_db


@pytest.fixture
def known(make_fact):
    """A project for the block and a home for the note."""
    return (
        make_fact("User is building a boat", category="project", kind="building"),
        make_fact("User lives in Copenhagen", category="identity", kind="home"),
    )


def test_each_turn_begins_with_the_turns_before_it(known, make_conversation, turn):
    conversation = make_conversation()
    messages = ["Hi", "How is my city?", "Thanks", "What do you know about me?", "And my boat?", "Bye"]
    before = turn(conversation, messages[0], "Answer to Hi")
    for text in messages[1:]:
        now = turn(conversation, text, f"Answer to {text}")
        said = Turn("assistant", now.turns[len(before.turns)].content)
        assert now.turns[: len(before.turns) + 1] == [*before.turns, said]
        before = now
    assert any("Copenhagen" in t.content for t in before.turns[1:-1])


def test_what_is_learned_in_between_changes_nothing_that_was_read(known, make_fact, make_conversation, turn):
    conversation = make_conversation()
    before = turn(conversation, "How is my city?")
    make_fact("User is building a rocket", category="project", kind="building")
    make_fact("User wants short answers", kind="reply_style")
    now = turn(conversation, "Go on")
    assert now.turns[: len(before.turns)] == before.turns


def test_no_clock_and_no_counter_is_in_the_prompt(known, make_conversation, turn, time_machine):
    prompts = []
    for moment in ("2026-01-01 08:00", "2027-06-15 21:30"):
        time_machine.move_to(f"{moment}+00:00", tick=False)
        prompts.append(turn(make_conversation(), "How is my city?").turns)
    assert prompts[0] == prompts[1]


def test_a_forgotten_fact_leaves_the_very_next_prompt_notes_included(known, owner, make_conversation, turn):
    conversation = make_conversation()
    turn(conversation, "How is my city? And my boat?")
    deletions.forget(owner, [f.pk for f in known])
    now = turn(conversation, "Go on")
    assert now.facts == []
    assert not any("Copenhagen" in t.content or "a boat" in t.content for t in now.turns)


def test_a_forgotten_fact_leaves_in_its_old_words_too(known, owner, make_conversation, turn):
    conversation = make_conversation()
    turn(conversation, "How is my city?")
    home = edit_fact(known[1], "User lives in Aarhus")
    deletions.forget(owner, [home.pk])
    assert not any("Copenhagen" in t.content for t in turn(conversation, "Go on").turns)


def test_undo_brings_the_same_prompt_back(known, owner, make_conversation, turn):
    conversation = make_conversation()
    before = turn(conversation, "How is my city?")
    deletions.undo(deletions.forget(owner, [f.pk for f in known]))
    assert turn(conversation, "Go on").turns[: len(before.turns)] == before.turns
