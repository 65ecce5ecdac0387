"""What the reply must obey stands behind the user's message.

Wishes about answers stand there in every turn, what the user does not eat or bear where it matters.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.actions import deletions
from chat.context.answer_rules import NOT_TOLD, OPENINGS, RULE_TOKENS, frame_message
from chat.memory.language import NAMES
from chat.models import MemoryMode

pytestmark = pytest.mark.django_db


OPEN = OPENINGS["en"]


def read_last(prompt) -> str:
    return prompt.turns[-1].content


def read_rules(prompt) -> list[str]:
    """Return the rules behind the message of a prompt."""
    _, found, rules = read_last(prompt).partition(f"\n\n{OPEN}\n")
    return rules.split("\n") if found else []


@pytest.fixture
def spanish(make_fact):
    return make_fact("User wants answers in Spanish", kind="reply_language", category="preference")


def test_a_wish_about_answers_stands_behind_every_message_and_nowhere_else(spanish, make_conversation, turn):
    conversation = make_conversation()
    for text in ("What is a compass?", "And a sextant?"):
        prompt = turn(conversation, text)
        assert read_last(prompt) == f"{text}\n\n{OPEN}\n- User wants answers in Spanish"
        assert "Spanish" not in prompt.block.text
        assert str(spanish.pk) in prompt.facts


def test_the_first_line_is_in_the_language_of_the_message(spanish, make_conversation, turn):
    text = "Welcher Planet ist der größte im Sonnensystem, und warum?"
    assert read_last(turn(make_conversation(), text)).startswith(f"{text}\n\n{OPENINGS['de']}\n- User")


def test_earlier_messages_keep_their_rules_so_that_the_cached_prompt_stays_valid(
    spanish, make_conversation, turn
):
    conversation = make_conversation()
    first = turn(conversation, "What is a compass?")
    second = turn(conversation, "And a sextant?")
    assert second.turns[: len(first.turns)] == first.turns


@pytest.mark.parametrize(
    ("text", "kind", "asked"),
    [
        ("User is vegan", "diet", "Which dish could a vegan guest eat tonight?"),
        ("User is allergic to peanuts", "health", "Is a sauce with peanuts a good idea?"),
        ("User dislikes olives", "dislikes", "Do olives belong on a pizza?"),
    ],
)
def test_a_limit_stands_behind_a_message_that_it_has_to_do_with(
    make_fact, make_conversation, turn, text, kind, asked
):
    make_fact(text, kind=kind, category="preference")
    conversation = make_conversation()
    assert read_rules(turn(conversation, asked)) == [f"- {text}"]
    # It matters as much the second time.
    assert read_rules(turn(conversation, asked)) == [f"- {text}"]
    assert read_rules(turn(conversation, "How do magnets work?")) == []


def test_asked_about_themselves_users_get_limits_as_facts(make_fact, make_conversation, turn):
    make_fact("User is vegan", kind="diet", category="preference")
    prompt = turn(make_conversation(), "What do you know about me?")
    assert read_rules(prompt) == []
    assert "- User is vegan" in prompt.note


def test_wishes_that_do_not_fit_stay_in_the_memory_block(make_fact, make_conversation, turn, provider):
    for n in range(8):
        make_fact(f"User wants answers of habit number {n}", kind="reply_style", category="preference")
    prompt = turn(make_conversation(), "What is a compass?")
    rules = read_rules(prompt)
    assert 0 < provider.count_text("\n".join([OPEN, *rules])) <= RULE_TOKENS
    block = [line for line in prompt.block.text.split("\n") if line.startswith("- ")]
    assert len(rules) + len(block) == 8
    assert not set(rules) & set(block)


def test_a_deleted_wish_leaves_all_prompts(spanish, owner, make_conversation, turn):
    conversation = make_conversation()
    turn(conversation, "What is a compass?")
    deletions.forget_facts(owner, [spanish.pk])
    prompt = turn(conversation, "And a sextant?")
    assert not any("Spanish" in part.content for part in prompt.turns)


def test_without_memory_there_are_no_rules(spanish, make_conversation, turn):
    conversation = make_conversation()
    conversation.memory_mode = MemoryMode.OFF
    conversation.save()
    assert read_last(turn(conversation, "What is a compass?")) == "What is a compass?"


def test_the_sentences_exist_in_every_language_that_is_detected():
    assert set(NAMES) <= set(OPENINGS) == set(NOT_TOLD)


def test_a_short_message_has_its_first_line_in_the_language_before_it(spanish, make_conversation, turn):
    conversation = make_conversation(["Welcher Planet ist der größte im Sonnensystem?", "Jupiter."])
    assert f"\n\n{OPENINGS['de']}\n" in read_last(turn(conversation, "Mars?"))


def test_a_wish_that_is_learned_later_leaves_the_others_in_place(make_fact, make_conversation, turn):
    for n in range(3):
        make_fact(f"User wants answers of habit {n}", kind="reply_style", category="preference")
    conversation = make_conversation()
    before = turn(conversation, "What is a compass?")
    told = {line for line in before.block.text.split("\n") if line.startswith("- ")} | {*read_rules(before)}
    make_fact("User wants no emojis at all", kind="reply_style", category="preference", pinned=True)
    after = turn(conversation, "And a sextant?")
    assert "- User wants no emojis at all" in read_rules(after)
    assert told <= {*read_rules(after), *before.block.text.split("\n")}


def test_a_wish_in_the_memory_block_is_not_repeated(spanish, make_conversation, turn):
    conversation = make_conversation()
    block = "## What you know about this user\n\nPreferences:\n- User wants answers in Spanish"
    conversation.memory_block, conversation.memory_block_facts = block, {str(spanish.pk): 1}
    conversation.save()
    assert read_rules(turn(conversation, "What is a compass?")) == []


def test_the_note_comes_first_and_the_rules_last():
    note = f"(Facts:\n- one\n)\n\n{OPEN}\n- two\n\n[A sentence.]"
    assert frame_message(note, "Hello?") == f"(Facts:\n- one\n)\n\n[A sentence.]\n\nHello?\n\n{OPEN}\n- two"


@given(st.text(max_size=50))
def test_a_message_without_a_note_is_unchanged(text):
    assert frame_message("", text) == text
