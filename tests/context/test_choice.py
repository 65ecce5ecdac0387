"""Whatever is known and however little room there is: the choice of block and note keeps its promises."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from chat.context import block, note
from chat.context.budget import MEMORY_MAX, MEMORY_MIN, NOTE_TOKENS
from chat.context.known import Known, Relevant
from chat.memory import rank
from chat.memory.asking import read
from chat.memory.kinds import KINDS

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=120)
moments = st.integers(0, 400).map(lambda days: NOW - timedelta(days=days))
budgets = st.integers(MEMORY_MIN, MEMORY_MAX)
# Characters by fours as the scripted provider counts, words, bytes: no promise hangs on the tokenizer.
counters = st.sampled_from(
    [lambda t: -(-len(t) // 4), lambda t: len(t.split()), lambda t: -(-len(t.encode()) // 3), len]
)
messages = st.sampled_from(
    [
        "Hi",
        "Suggest a dinner.",
        "How is my city?",
        "What do you know about me?",
        "And part 7?",
        "我的狗不吃东西",
    ]
)


@st.composite
def known(draw: st.DrawFn) -> Known:
    """A live fact of any kind."""
    kind = draw(st.sampled_from(sorted(KINDS)))
    return Known(
        id=draw(st.uuids()),
        text=draw(texts | st.sampled_from(["User is vegetarian", "User lives in Oslo", "User built part 7"])),
        category=KINDS[kind].category,
        kind=kind,
        pinned=draw(st.booleans()),
        confidence=draw(st.floats(0, 1)),
        last_used=draw(moments),
        last_seen=draw(moments),
        version=1,
        source_message_id=None,
    )


facts = st.lists(known(), max_size=40, unique_by=lambda f: f.id)
relevances = st.dictionaries(st.integers(0, 39), st.floats(0, 3))


def by_id(facts: list[Known], numbered: dict[int, float]) -> dict[uuid.UUID, float]:
    return {facts[i].id: value for i, value in numbered.items() if i < len(facts)}


def noted(
    facts: list[Known],
    relevance: dict[uuid.UUID, float],
    message: str,
    budget: int,
    count: Callable[[str], int],
) -> list[Known]:
    return note.choose(Relevant(facts, read(message), relevance), set(), [], budget, count, count, NOW)


@given(facts, relevances, budgets, counters, messages)
def test_block_and_note_are_never_over_the_budget(facts, numbered, budget, count, message):
    relevance = by_id(facts, numbered)
    own = block.choose(facts, relevance, budget, count, count, NOW)
    assert count(block.render(own)) <= budget - NOTE_TOKENS
    brought = noted(facts, relevance, message, budget, count)
    assert count(note.render(brought)) <= (budget if read(message).about_user else NOTE_TOKENS)


@given(facts, relevances, budgets, counters, messages, st.randoms())
def test_the_same_facts_in_any_order_give_the_same_bytes(facts, numbered, budget, count, message, random):
    relevance = by_id(facts, numbered)

    def said(known: list[Known]) -> tuple[str, str]:
        own = block.choose(known, relevance, budget, count, count, NOW)
        return block.render(own), note.render(noted(known, relevance, message, budget, count))

    shuffled = list(facts)
    random.shuffle(shuffled)
    assert said(shuffled) == said(facts)


@given(facts, relevances)
def test_pinned_comes_before_unpinned_and_a_surer_fact_before_its_like(facts, numbered):
    ranked = rank.for_block(facts, by_id(facts, numbered), NOW)
    assert ranked == sorted(ranked, key=lambda f: not f.pinned)
    plain = [f for f in ranked if f.category == "project" and f.id not in by_id(facts, numbered)]
    for pinned in (True, False):
        worths = [rank.worth(f, NOW) for f in plain if f.pinned is pinned]
        assert worths == sorted(worths, reverse=True)


@given(facts, budgets, counters)
def test_an_unpinned_fact_never_takes_the_room_of_a_pinned_one_of_its_size(facts, budget, count):
    own = block.choose(facts, {}, budget, count, count, NOW)
    left_out = [f for f in facts if f.pinned and f not in own]
    smallest = min((count(f"- {f.text}\n") for f in left_out), default=0)
    assert not left_out or all(f.pinned or count(f"- {f.text}\n") <= smallest for f in own)


@given(facts, budgets, counters)
def test_the_block_holds_only_what_every_turn_needs_and_no_header_without_facts(facts, budget, count):
    own = block.choose(facts, {}, budget, count, count, NOW)
    assert all(rank.holds_always(f) for f in own)
    assert bool(block.render(own)) == bool(own)


@given(facts, budgets, counters)
def test_a_greeting_brings_nothing_whatever_is_known(facts, budget, count):
    assert noted(facts, {}, "Good morning!", budget, count) == []


@given(facts, budgets, counters, st.sets(st.integers(0, 39)))
def test_an_account_says_first_what_the_prompt_does_not_say_yet(facts, budget, count, positions):
    said = {facts[i].id for i in positions if i < len(facts)}
    ranked = rank.for_account(facts, said, NOW)
    assert ranked == sorted(ranked, key=lambda f: f.id in said)


def test_a_day_without_use_costs_a_hundredth_of_confidence():
    fact = Known(uuid.uuid4(), "x", "project", "goal", False, 0.75, NOW - timedelta(days=10), NOW, 1, None)
    assert round(rank.worth(fact, NOW), 6) == 0.65
