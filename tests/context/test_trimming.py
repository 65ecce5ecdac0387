"""Prompts never exceed the context window, however long the conversation or one of its messages is."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chat.context.budget import CUT_MARK, cut_middle, max_head_tokens, reply_reserve
from chat.context.prompt import build_prompt

pytestmark = pytest.mark.django_db

sizes = st.integers(1, 400) | st.integers(1, 9000) | st.just(200_000)


@given(st.text(max_size=600), st.integers(200, 500))
def test_a_cut_text_keeps_its_start_and_end_around_the_mark(text, keep):
    cut = cut_middle(text, keep)
    assert len(cut) <= max(keep, len(text))
    if len(text) <= keep:
        assert cut == text
    else:
        before, after = cut.split(CUT_MARK)
        assert text.startswith(before)
        assert text.endswith(after)
        assert len(cut) <= keep


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    window=st.sampled_from([2048, 4096, 8192]),
    lengths=st.lists(sizes, max_size=24),
    last=sizes,
    persona=st.sampled_from([0, 4000, 20_000, 2_000_000]),
)
def test_a_prompt_always_leaves_the_reply_reserve(
    make_conversation, add_user_message, provider, window, lengths, last, persona
):
    provider.context_window = window
    conversation = make_conversation(["x" * n for n in lengths], system_prompt="p" * persona)
    if len(lengths) % 2:
        add_user_message(conversation, "And an answer was lost.")
    prompt = build_prompt(conversation, add_user_message(conversation, "y" * last), provider)
    assert provider.count_tokens(prompt.turns) == prompt.tokens
    assert prompt.tokens + prompt.max_tokens <= window
    assert prompt.max_tokens == reply_reserve(window)


def test_an_oversized_persona_is_cut_identically_in_each_prompt(make_conversation, turn, provider):
    conversation = make_conversation(system_prompt="Begin." + "x" * 100_000 + "End.")
    first, second = (turn(conversation, text).turns[0].content for text in ("One", "Two"))
    assert first == second
    assert first.startswith("Begin.")
    assert CUT_MARK in first
    assert first.endswith("End.")
    assert provider.count_text(first) <= provider.context_window // 2


def test_a_short_conversation_is_not_trimmed(make_conversation, add_user_message, provider):
    conversation = make_conversation(["One", "1", "Two", "2"])
    prompt = build_prompt(conversation, add_user_message(conversation, "Three"), provider)
    assert [t.content for t in prompt.turns[1:]] == ["One", "1", "Two", "2", "Three"]
    assert (prompt.cut_messages, prompt.shape.trimmed_through) == (0, 0)


def test_section_sizes_add_up_to_the_prompt_size(make_conversation, add_user_message, provider):
    first = build_prompt(conversation := make_conversation(), add_user_message(conversation, "One"), provider)
    assert first.sections["history"] == 0
    assert sum(first.sections.values()) == first.tokens
    later = build_prompt(
        conversation := make_conversation(["One", "1"]), add_user_message(conversation, "Two"), provider
    )
    assert later.sections["history"] > 0
    assert sum(later.sections.values()) == later.tokens


def test_note_and_message_are_counted_separately(make_conversation, add_user_message, provider, make_fact):
    make_fact("User lives in Copenhagen", category="identity", kind="home")
    prompt = build_prompt(
        conversation := make_conversation(),
        add_user_message(conversation, "Is it cold in Oslo and Copenhagen?"),
        provider,
    )
    assert prompt.sections["note"] > 0
    assert prompt.sections["message"] >= provider.count_text("Is it cold in Oslo and Copenhagen?")


def test_the_first_exchange_and_the_newest_messages_are_kept(make_conversation, add_user_message, provider):
    provider.context_window = 2048
    conversation = make_conversation([f"{i} " + "x" * 400 for i in range(20)])
    prompt = build_prompt(conversation, add_user_message(conversation, "Last"), provider)
    numbers = [t.content.split(" ")[0] for t in prompt.turns[1:-1]]
    assert numbers[:2] == ["0", "1"]
    assert numbers[2:] == [str(i) for i in range(20 - len(numbers[2:]), 20)]
    assert 0 < prompt.cut_messages == 20 - len(numbers)


def test_a_trimmed_history_starts_with_a_user_message(make_conversation, add_user_message, provider):
    provider.context_window = 2048
    for odd in range(1, 12):
        conversation = make_conversation(["x" * 250 * (1 + i % (odd + 1)) for i in range(30)])
        prompt = build_prompt(conversation, add_user_message(conversation, "Last"), provider)
        assert prompt.cut_messages
        roles = [t.role for t in prompt.turns]
        assert roles == ["system", *["user", "assistant"] * ((len(roles) - 2) // 2), "user"]


def test_trimming_reduces_to_half_the_window_and_is_not_repeated_next_turn(make_conversation, turn, provider):
    provider.context_window = 4096
    conversation = make_conversation(["x" * 300] * 50)
    first = turn(conversation, "Go on", "y" * 300)
    second = turn(conversation, "Go on", "y" * 300)
    assert 0 < first.shape.trimmed_through == second.shape.trimmed_through
    assert first.tokens <= 4096 // 2


def test_a_message_longer_than_the_window_is_cut_with_a_visible_mark(
    make_conversation, add_user_message, provider
):
    provider.context_window = 2048
    conversation = make_conversation()
    prompt = build_prompt(
        conversation, add_user_message(conversation, "begin " + "x" * 50_000 + " end"), provider
    )
    sent = prompt.turns[-1].content
    assert sent.startswith("begin ")
    assert sent.endswith(" end")
    assert CUT_MARK in sent
    assert prompt.tokens > 2048 // 2


def test_an_oversized_message_is_repeated_identically_in_later_prompts(make_conversation, turn, provider):
    provider.context_window = 2048
    conversation = make_conversation()
    first = turn(conversation, "x" * 50_000)
    second = turn(conversation, "Short")
    assert first.shortened
    assert not second.shortened
    assert second.turns[: len(first.turns)] == first.turns
    assert turn(conversation, "Short too").stage == 0


def test_the_previous_exchange_is_kept_beside_an_oversized_message(make_conversation, turn, provider):
    provider.context_window = 2048
    conversation = make_conversation()
    turn(conversation, "My train leaves at nine.", "Then leave at eight.")
    prompt = turn(conversation, "x" * 50_000)
    assert "Then leave at eight." in [t.content for t in prompt.turns]


@pytest.mark.parametrize("window", [2048, 4096])
@pytest.mark.parametrize(
    ("question", "answer"), [(20_000, 300), (300, 20_000), (20_000, 20_000), (2100, 900)], ids=str
)
def test_a_first_exchange_over_an_eighth_of_the_window_is_shortened(
    make_conversation, turn, provider, window, question, answer
):
    provider.context_window = window
    first = ["begin " + "x" * question + " end", "yes " + "y" * answer + " no"]
    later = ["z" * (window // 4), "w" * (window // 8)]
    conversation = make_conversation([*first, *later * 8])
    prompt = turn(conversation, "Last")
    assert (prompt.stage, prompt.cut_messages > 0) == (1, True)
    kept = [t.content for t in prompt.turns[1:3]]
    assert kept[0].startswith("begin ")
    assert kept[0].endswith(" end")
    assert kept[1].startswith("yes ")
    assert kept[1].endswith(" no")
    assert sum(map(provider.count_text, kept)) <= max_head_tokens(window)
    # A message that needs no more than half of the eighth stays whole.
    for text, whole in zip(kept, first, strict=True):
        assert (text == whole) is (provider.count_text(whole) <= max_head_tokens(window) // 2 - 8)
    assert turn(conversation, "Go on").turns[: len(prompt.turns)] == prompt.turns


def test_a_first_exchange_that_the_user_flagged_stays_in_full_up_to_a_fifth(
    make_conversation, add_user_message, provider
):
    provider.context_window = 2048
    conversation = make_conversation(["x" * 1300, "y" * 100, *["z" * 300, "w" * 200] * 12])
    conversation.messages.filter(seq=1).update(flagged=True)
    prompt = build_prompt(conversation, add_user_message(conversation, "Last"), provider)
    assert prompt.cut_messages
    assert prompt.turns[1].content == "x" * 1300


def test_a_fact_of_a_shortened_message_is_noted(make_conversation, make_fact, turn, provider):
    provider.context_window = 2048
    first = "x" * 3000 + " I live in Oslo. " + "x" * 3000
    conversation = make_conversation([first, "Nice.", *["z" * 500, "w" * 300] * 8])
    make_fact(
        "User lives in Oslo",
        category="identity",
        kind="home",
        source_message=conversation.messages.get(seq=1),
    )
    prompt = turn(conversation, "Is it cold in Oslo and Copenhagen?")
    assert CUT_MARK in prompt.turns[1].content
    assert "- User lives in Oslo" in prompt.note


def test_the_last_six_messages_are_shortened_and_not_dropped(make_conversation, add_user_message, provider):
    provider.context_window = 2048
    conversation = make_conversation([f"{n} " + "x" * 1500 for n in range(12)])
    prompt = build_prompt(conversation, add_user_message(conversation, "Last"), provider)
    sent = [t.content for t in prompt.turns[1:-1]]
    assert [text.split(" ")[0] for text in sent] == ["6", "7", "8", "9", "10", "11"]
    lengths = [len(text) for text in sent]
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1]
    assert (prompt.stage, prompt.tokens <= 1024) == (3, True)


def test_compaction_rebuilds_the_block_with_new_facts(make_conversation, make_fact, turn, provider):
    provider.context_window = 4096
    conversation = make_conversation()
    assert turn(conversation, "Hi").block.text == ""
    make_fact("User is building a boat", category="project", kind="building")
    assert turn(conversation, "Still here").block.text == ""
    assert "a boat" in turn(conversation, "x" * 15_000).block.text


def test_trimmed_messages_never_return(make_conversation, turn, provider):
    provider.context_window = 2048
    conversation = make_conversation(["x" * 300] * 30)
    first = turn(conversation, "Go on")
    # The earlier messages would fit into the window, but not together with this long message.
    again = turn(conversation, "y" * 3000)
    assert again.stage > 0
    assert again.shape.trimmed_through >= first.shape.trimmed_through > 0
    last = turn(conversation, "Go on")
    assert last.tokens + last.max_tokens <= 2048
