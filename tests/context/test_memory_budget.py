"""The facts of a prompt stay within the memory budget, whatever the facts, the window and the history."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chat.actions import prompts
from chat.context import answer_rules
from chat.context.budget import MEMORY_IDEAL, MEMORY_MAX, MEMORY_MIN, NOTE_TOKENS, reply_reserve
from chat.context.memory import read_block_facts
from chat.context.precompute import precompute_compaction
from chat.context.prompt import Prompt, build_prompt
from chat.llm.types import Turn
from chat.memory.formatting import to_one_line
from chat.memory.kinds import KINDS
from chat.memory.rank import ANSWER_KINDS
from chat.models import MAX_CONTENT, AppMemory, Fact

pytestmark = pytest.mark.django_db

ABOUT_ME = "What do you know about me?"
OBEYED = {*ANSWER_KINDS, "diet", "health", "dislikes"}
QUESTIONS = [
    "Hi",
    "Is it cold in Oslo and Copenhagen?",
    "Which chess opening is good?",
    ABOUT_ME,
    "Who am I?",
    "x" * 4000,
]

fact_texts = st.sampled_from(["User lives in Oslo", "User likes chess", "User is vegetarian"]) | st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=150
)
fact_rows = st.lists(
    st.tuples(fact_texts, st.sampled_from(sorted(KINDS)), st.booleans(), st.integers(0, 90)), max_size=60
)
database_settings = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def store_facts(owner: Any, rows: Sequence[tuple[str, str, bool, int]]) -> None:
    """Replace the owner's facts by facts of (text, kind, pinned, days since the last mention)."""
    Fact.objects.for_owner(owner).delete()
    Fact.objects.bulk_create(
        Fact(
            owner=owner,
            text=text,
            kind=kind,
            category=KINDS[kind].category,
            subject=str(uuid.uuid4()),
            confidence=0.75,
            pinned=pinned,
            last_seen=timezone.now() - timedelta(days=days),
        )
        for text, kind, pinned, days in rows
    )


def list_stated_lines(prompt: Prompt) -> list[str]:
    """Return the facts of the memory block and of all notes in a prompt, one a line."""
    return [line for t in prompt.turns for line in t.content.split("\n") if line.startswith("- ")]


def count_other_tokens(prompt: Prompt, provider: Any) -> int:
    """Return the length of a prompt without its memory block and its note."""
    system, *history, own = prompt.turns
    system = Turn("system", system.content.replace(prompt.block.text, "").strip("\n"))
    own = Turn("user", own.content.removeprefix(prompt.note).strip("\n"))
    return provider.count_tokens([system, *history, own])


@database_settings
@given(
    rows=fact_rows,
    window=st.sampled_from([1024, 2048, 4096, 8192]),
    asked=st.lists(st.sampled_from(QUESTIONS), min_size=1, max_size=6),
    answers=st.lists(st.integers(1, 6000), min_size=6, max_size=6),
)
def test_facts_stay_within_500_tokens_and_none_is_stated_twice(
    owner, make_conversation, turn, provider, rows, window, asked, answers
):
    provider.context_window = window
    store_facts(owner, rows)
    conversation = make_conversation()
    for text, length in zip(asked, answers, strict=False):
        prompt = turn(conversation, text, "a" * length)
        block, note = map(provider.count_text, (prompt.block.text, prompt.note))
        assert block <= MEMORY_MAX - NOTE_TOKENS
        assert block + note <= MEMORY_MAX
        lines = list_stated_lines(prompt)
        repeated = [line for line, count in Counter(lines).items() if count > 1]
        # Only what the reply must obey is repeated, in every turn.
        obeyed = {f"- {to_one_line(fact.text)}" for fact in Fact.objects.filter(kind__in=OBEYED)}
        assert set(repeated) <= obeyed
        if note > NOTE_TOKENS + answer_rules.RULE_TOKENS:
            everything = sum(provider.count_text(f"{line}\n") for line in lines)
            assert everything <= MEMORY_MAX + len(lines)
        assert prompt.tokens + reply_reserve(window) <= window


@database_settings
@given(
    rows=fact_rows,
    window=st.sampled_from([1024, 2048, 4096, 8192]),
    lengths=st.lists(st.integers(1, 3000), max_size=24),
    text=st.sampled_from(QUESTIONS),
)
def test_a_new_block_and_its_note_take_a_quarter_of_what_remains(
    owner, make_conversation, add_user_message, provider, rows, window, lengths, text
):
    provider.context_window = window
    store_facts(owner, rows)
    conversation = make_conversation(["x" * n for n in lengths[: len(lengths) // 2 * 2]])
    prompt = build_prompt(conversation, add_user_message(conversation, text), provider)
    if prompt.stage and prompt.tokens > window // 2:
        return  # The user's own message is so long that the prompt keeps more than half the window.
    remaining = window - reply_reserve(window) - count_other_tokens(prompt, provider)
    budget = max(MEMORY_MIN, min(MEMORY_MAX, remaining // 4))
    block, note = map(provider.count_text, (prompt.block.text, prompt.note))
    assert block <= budget - NOTE_TOKENS
    assert block + note <= budget


@pytest.fixture
def many_facts(owner):
    """Store more facts of each category than fit into the largest budget."""
    kinds = [("building", "User is building part {} of a boat"), ("likes", "User likes tune {} very much")]
    kinds += [("home", "User has lived in house {} of a town"), ("reply_style", "User wants no habit {}")]
    store_facts(owner, [(text.format(n), kind, False, n) for n in range(30) for kind, text in kinds])


def test_a_long_conversation_leaves_less_for_facts(many_facts, make_conversation, turn, provider):
    provider.context_window = 4096
    sizes = []
    for tokens in (0, 2250, 2450):
        conversation = make_conversation(["x" * tokens * 2] * 2 if tokens else [])
        prompt = turn(conversation, "Go on")
        sizes.append(provider.count_text(f"{prompt.block.text}\n{prompt.note}"))
    assert sizes[0] > sizes[1] > sizes[2] > MEMORY_MIN - NOTE_TOKENS
    assert MEMORY_IDEAL - 25 <= sizes[0] <= MEMORY_IDEAL + answer_rules.RULE_TOKENS
    assert sizes[1] <= (4096 - reply_reserve(4096) - 2250) // 4 - NOTE_TOKENS
    assert sizes[2] <= (4096 - reply_reserve(4096) - 2450) // 4 - NOTE_TOKENS


def test_a_compaction_rebuilds_the_block_with_a_quarter_of_what_it_leaves(
    many_facts, make_conversation, turn, provider
):
    provider.context_window = 4096
    conversation = make_conversation()
    before = turn(conversation, "Hi")
    after = turn(conversation, "x" * 12_000)
    assert after.stage > 0
    remaining = 4096 - reply_reserve(4096) - count_other_tokens(after, provider)
    assert remaining // 4 < 250
    assert provider.count_text(after.block.text) <= remaining // 4 - NOTE_TOKENS
    assert provider.count_text(before.block.text) > MEMORY_IDEAL - 30


def test_the_block_keeps_its_bytes_while_the_conversation_grows(
    many_facts, make_conversation, turn, provider
):
    provider.context_window = 4096
    conversation = make_conversation()
    first = turn(conversation, "Hi", "x" * 4000)
    second = turn(conversation, "Go on", "x" * 2000)
    third = turn(conversation, ABOUT_ME)
    assert (second.stage, third.stage) == (0, 0)
    assert first.block == second.block == third.block


def test_the_same_facts_give_the_same_block_in_every_conversation(
    many_facts, make_conversation, turn, provider
):
    provider.context_window = 2048
    blocks = {turn(make_conversation(), "Hi there").block.text for _ in range(3)}
    assert len(blocks) == 1


def test_a_question_about_the_user_adds_only_what_the_block_lacks(make_fact, make_conversation, turn):
    make_fact("User is building a boat", category="project", kind="building")
    make_fact("User lives in Oslo", category="identity", kind="home")
    conversation = make_conversation()
    first = turn(conversation, ABOUT_ME)
    assert "a boat" in first.block.text
    assert "a boat" not in first.note
    assert "- User lives in Oslo" in first.note
    assert len(first.facts) == 2
    assert turn(conversation, ABOUT_ME).note == ""


def test_a_question_about_the_user_does_not_repeat_the_users_own_words(make_fact, make_conversation, turn):
    conversation = make_conversation()
    turn(conversation, "I live in Oslo.")
    source = conversation.messages.get(seq=1)
    make_fact("User lives in Oslo", category="identity", kind="home", source_message=source)
    make_fact("User likes chess")
    note = turn(conversation, ABOUT_ME).note
    assert "chess" in note
    assert "Oslo" not in note


def test_a_second_question_about_the_user_gets_the_rest_of_the_budget(
    many_facts, make_conversation, turn, provider
):
    conversation = make_conversation()
    first, second = turn(conversation, ABOUT_ME), turn(conversation, "What else do you know about me?")
    stated = provider.count_text(first.block.text) + provider.count_text(first.note)
    assert MEMORY_MAX - 20 <= stated <= MEMORY_MAX
    # As much as any message gets, and other facts.
    assert 0 < provider.count_text(second.note) <= NOTE_TOKENS + answer_rules.RULE_TOKENS
    lines = [line for line in list_stated_lines(second) if "wants no habit" not in line]
    assert len(lines) == len(set(lines))


def test_app_memories_do_not_count_as_facts(owner, make_fact, make_conversation, turn, provider):
    for n in range(12):
        make_fact(f"User likes tune number {n}")
    conversation = make_conversation()
    AppMemory.objects.bulk_create(
        AppMemory(owner=owner, app=conversation.app, content=f"{n} " + "x" * 190) for n in range(5)
    )
    prompt = turn(conversation, ABOUT_ME)
    assert read_block_facts(prompt.block.text) == ""
    assert prompt.note.count("- ") == 12


@pytest.fixture
def crowded(make_conversation, make_fact, provider):
    """A conversation whose last six messages alone exceed half the window, and facts of each category."""
    provider.context_window = 2048
    make_fact("User lives in Oslo", category="identity", kind="home")
    make_fact("User is called Maya", category="identity", kind="name", pinned=True)
    make_fact("User likes the parks of a city")
    return make_conversation(["x" * 900] * 8)


@pytest.mark.parametrize("text", ["Is it cold in Oslo? Which parks has the city?", ABOUT_ME])
def test_a_crowded_prompt_has_no_identity_facts_but_pinned_ones(crowded, turn, text):
    prompt = turn(crowded, text)
    assert prompt.stage >= 2
    assert "Oslo" not in prompt.note
    assert "Oslo" not in prompt.block.text
    assert "parks" in prompt.note
    assert "Maya" in prompt.block.text + prompt.note


def test_a_precomputed_crowded_prompt_has_no_identity_facts_either(crowded, add_user_message, turn, provider):
    made = precompute_compaction(crowded, provider)
    assert made is not None
    assert made[0].stage >= 2
    assert prompts.record_prepared(crowded, made[0])
    prompt = turn(crowded, "Is it cold in Oslo and Copenhagen?")
    assert prompt.stage == made[0].stage
    assert "Oslo" not in prompt.note


def test_identity_facts_are_noted_again_in_the_next_prompt_that_fits(crowded, turn):
    assert turn(crowded, "Go on").stage >= 2
    after = turn(crowded, "Is it cold in Oslo and Copenhagen?")
    assert after.stage == 0
    assert "Oslo" in after.note


def test_five_app_memories_of_full_length_fit_a_crowded_prompt(owner, crowded, turn):
    AppMemory.objects.bulk_create(
        AppMemory(owner=owner, app=crowded.app, content=f"Memory {n} " + "x" * (MAX_CONTENT - 9))
        for n in range(10)
    )
    prompt = turn(crowded, "Go on")
    assert prompt.stage >= 2
    assert prompt.block.text.count("[Created: ") == 5
