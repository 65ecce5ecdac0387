"""The window is never exceeded, however long the conversation or a message of it."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chat.context.budget import reserve
from chat.context.prompt import build
from chat.context.trim import CUT_MARK, cut_middle

pytestmark = pytest.mark.django_db

sizes = st.integers(1, 400) | st.integers(1, 9000) | st.just(200_000)


@given(st.text(max_size=600), st.integers(200, 500))
def test_a_cut_text_keeps_its_beginning_and_end_around_the_mark(text, keep):
    cut = cut_middle(text, keep)
    assert len(cut) <= max(keep, len(text))
    if len(text) <= keep:
        assert cut == text
    else:
        before, after = cut.split(CUT_MARK)
        assert text.startswith(before)
        assert text.endswith(after)
        assert len(cut) <= keep


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    window=st.sampled_from([2048, 4096, 8192]),
    lengths=st.lists(sizes, max_size=24),
    last=sizes,
    persona=st.sampled_from([0, 4000, 20_000, 2_000_000]),
)
def test_a_prompt_always_leaves_what_the_reply_needs(
    make_conversation, say, provider, window, lengths, last, persona
):
    provider.context_window = window
    conversation = make_conversation(["x" * n for n in lengths], system_prompt="p" * persona)
    if len(lengths) % 2:
        say(conversation, "And an answer was lost.")
    prompt = build(conversation, say(conversation, "y" * last), provider)
    assert provider.count_tokens(prompt.turns) == prompt.tokens
    assert prompt.tokens + prompt.max_tokens <= window
    assert prompt.max_tokens == reserve(window)


def test_a_persona_longer_than_any_window_is_cut_in_its_middle_and_the_same_in_each_prompt(
    make_conversation, turn, provider
):
    conversation = make_conversation(system_prompt="Begin." + "x" * 100_000 + "End.")
    first, second = (turn(conversation, text).turns[0].content for text in ("One", "Two"))
    assert first == second
    assert first.startswith("Begin.")
    assert CUT_MARK in first
    assert first.endswith("End.")
    assert provider.count_text(first) <= provider.context_window // 2


def test_a_short_conversation_goes_whole(make_conversation, say, provider):
    conversation = make_conversation(["One", "1", "Two", "2"])
    prompt = build(conversation, say(conversation, "Three"), provider)
    assert [t.content for t in prompt.turns[1:]] == ["One", "1", "Two", "2", "Three"]
    assert (prompt.cut_messages, prompt.shape.trimmed_through) == (0, 0)


def test_the_sections_of_a_prompt_add_up_and_a_first_message_has_no_past(make_conversation, say, provider):
    first = build(conversation := make_conversation(), say(conversation, "One"), provider)
    assert first.sections["history"] == 0
    assert sum(first.sections.values()) == first.tokens
    later = build(conversation := make_conversation(["One", "1"]), say(conversation, "Two"), provider)
    assert later.sections["history"] > 0
    assert sum(later.sections.values()) == later.tokens


def test_a_note_takes_nothing_from_what_the_message_itself_takes(make_conversation, say, provider, make_fact):
    make_fact("User lives in Copenhagen", category="identity", kind="home")
    prompt = build(conversation := make_conversation(), say(conversation, "How is my city?"), provider)
    assert prompt.sections["note"] > 0
    assert prompt.sections["message"] >= provider.count_text("How is my city?")


def test_the_first_exchange_and_the_newest_messages_are_kept(make_conversation, say, provider):
    provider.context_window = 2048
    conversation = make_conversation([f"{i} " + "x" * 400 for i in range(20)])
    prompt = build(conversation, say(conversation, "Last"), provider)
    numbers = [t.content.split(" ")[0] for t in prompt.turns[1:-1]]
    assert numbers[:2] == ["0", "1"]
    assert numbers[2:] == [str(i) for i in range(20 - len(numbers[2:]), 20)]
    assert 0 < prompt.cut_messages == 20 - len(numbers)


def test_after_the_cut_the_user_speaks_first(make_conversation, say, provider):
    provider.context_window = 2048
    for odd in range(1, 12):
        conversation = make_conversation(["x" * 250 * (1 + i % (odd + 1)) for i in range(30)])
        prompt = build(conversation, say(conversation, "Last"), provider)
        assert prompt.cut_messages
        roles = [t.role for t in prompt.turns]
        assert roles == ["system", *["user", "assistant"] * ((len(roles) - 2) // 2), "user"]


def test_trimming_goes_to_half_the_window_and_does_not_run_again_next_turn(make_conversation, turn, provider):
    provider.context_window = 4096
    conversation = make_conversation(["x" * 300] * 50)
    first = turn(conversation, "Go on", "y" * 300)
    second = turn(conversation, "Go on", "y" * 300)
    assert 0 < first.shape.trimmed_through == second.shape.trimmed_through
    assert first.tokens <= 4096 // 2


def test_a_single_message_longer_than_the_window_is_cut_in_its_middle_with_a_visible_mark(
    make_conversation, say, provider
):
    provider.context_window = 2048
    conversation = make_conversation()
    prompt = build(conversation, say(conversation, "begin " + "x" * 50_000 + " end"), provider)
    sent = prompt.turns[-1].content
    assert sent.startswith("begin ")
    assert sent.endswith(" end")
    assert CUT_MARK in sent
    assert prompt.tokens > 2048 // 2


def test_after_an_oversized_message_the_conversation_goes_on_and_repeats_it_as_it_was_cut(
    make_conversation, turn, provider
):
    provider.context_window = 2048
    conversation = make_conversation()
    first = turn(conversation, "x" * 50_000)
    second = turn(conversation, "Short")
    assert first.shortened
    assert not second.shortened
    assert second.turns[: len(first.turns)] == first.turns
    assert turn(conversation, "Short too").stage == 0


def test_beside_a_huge_message_what_was_said_just_before_stays(make_conversation, turn, provider):
    provider.context_window = 2048
    conversation = make_conversation()
    turn(conversation, "My train leaves at nine.", "Then leave at eight.")
    prompt = turn(conversation, "x" * 50_000)
    assert "Then leave at eight." in [t.content for t in prompt.turns]


def test_a_huge_first_exchange_is_not_kept_for_ever(make_conversation, say, provider):
    provider.context_window = 2048
    conversation = make_conversation(["first " + "x" * 5000, "y" * 300, *["z" * 500, "w" * 300] * 5])
    prompt = build(conversation, say(conversation, "Last"), provider)
    assert not any(t.content.startswith("first") for t in prompt.turns)


def test_the_last_six_messages_are_shortened_from_the_oldest_on_before_any_is_lost(
    make_conversation, say, provider
):
    provider.context_window = 2048
    conversation = make_conversation([f"{n} " + "x" * 1500 for n in range(12)])
    prompt = build(conversation, say(conversation, "Last"), provider)
    sent = [t.content for t in prompt.turns[1:-1]]
    assert [text.split(" ")[0] for text in sent] == ["6", "7", "8", "9", "10", "11"]
    lengths = [len(text) for text in sent]
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1]
    assert (prompt.stage, prompt.tokens <= 1024) == (3, True)


def test_when_all_is_read_anew_the_block_takes_up_what_was_learned_since(
    make_conversation, make_fact, turn, provider
):
    provider.context_window = 4096
    conversation = make_conversation()
    assert turn(conversation, "Hi").block.text == ""
    make_fact("User is building a boat", category="project", kind="building")
    assert turn(conversation, "Still here").block.text == ""
    assert "a boat" in turn(conversation, "x" * 15_000).block.text


def test_what_was_left_out_once_never_comes_back_by_itself(make_conversation, turn, provider):
    provider.context_window = 2048
    conversation = make_conversation(["x" * 300] * 30)
    first = turn(conversation, "Go on")
    # So long that the prompt is compacted again, though all that is left of the past would fit.
    again = turn(conversation, "y" * 3000)
    assert again.stage > 0
    assert again.shape.trimmed_through >= first.shape.trimmed_through > 0
    last = turn(conversation, "Go on")
    assert last.tokens + last.max_tokens <= 2048
