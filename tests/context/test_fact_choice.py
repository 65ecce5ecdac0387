"""Properties of the choice of facts for block and note, for any facts and any budget."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from chat.context import memory, turn_note
from chat.context.budget import MEMORY_MAX, MEMORY_MIN, NOTE_TOKENS
from chat.context.fact_snapshot import FactSnapshot, RelevantFacts
from chat.memory import rank
from chat.memory.formatting import to_one_line
from chat.memory.kinds import KINDS
from chat.memory.query_intent import analyse_message

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=120)
moments = st.integers(0, 400).map(lambda days: NOW - timedelta(days=days))
budgets = st.integers(MEMORY_MIN, MEMORY_MAX)
# Different token counters, because the properties hold for every tokenizer.
counters = st.sampled_from(
    [lambda t: -(-len(t) // 4), lambda t: len(t.split()), lambda t: -(-len(t.encode()) // 3), len]
)
messages = st.sampled_from(
    [
        "Hi",
        "Suggest a dinner.",
        "Is it cold in Oslo and Copenhagen?",
        "What do you know about me?",
        "And part 7?",
        "我的狗不吃东西",
    ]
)


@st.composite
def live_facts(draw: st.DrawFn) -> FactSnapshot:
    """Generate a live fact of any kind."""
    kind = draw(st.sampled_from(sorted(KINDS)))
    return FactSnapshot(
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


facts = st.lists(live_facts(), max_size=40, unique_by=lambda f: f.id)
relevances = st.dictionaries(st.integers(0, 39), st.floats(0, 3))


def relevance_by_id(facts: list[FactSnapshot], numbered: dict[int, float]) -> dict[uuid.UUID, float]:
    return {facts[i].id: value for i, value in numbered.items() if i < len(facts)}


def choose_note(
    facts: list[FactSnapshot],
    relevance: dict[uuid.UUID, float],
    message: str,
    budget: int,
    count: Callable[[str], int],
    stated: Collection[uuid.UUID] = (),
    crowded: bool = False,
) -> list[FactSnapshot]:
    return turn_note.choose_note_facts(
        RelevantFacts(facts, analyse_message(message), relevance),
        stated,
        [],
        budget,
        count,
        count,
        NOW,
        crowded=crowded,
    )


def list_lines(facts: list[FactSnapshot]) -> list[str]:
    return [to_one_line(f.text) for f in facts]


@given(facts, relevances, budgets, counters, messages)
def test_block_and_note_never_exceed_the_budget(facts, numbered, budget, count, message):
    relevance = relevance_by_id(facts, numbered)
    own = memory.choose_block_facts(facts, relevance, budget, count, count, NOW)
    assert count(memory.render_block(own)) <= budget - NOTE_TOKENS
    for tokens in (budget, NOTE_TOKENS):
        note_facts = choose_note(facts, relevance, message, tokens, count)
        assert count(turn_note.render_note(note_facts, relevance)) <= tokens


@given(facts, relevances, budgets, counters, messages)
def test_block_and_note_together_state_no_fact_twice(facts, numbered, budget, count, message):
    relevance = relevance_by_id(facts, numbered)
    own = memory.choose_block_facts(facts, relevance, budget, count, count, NOW)
    stated = turn_note.find_stated_facts(facts, list_lines(own), [])
    note_facts = choose_note(facts, relevance, message, budget, count, stated)
    lines = list_lines([*own, *note_facts])
    assert len(lines) == len(set(lines))


@given(facts, relevances, budgets, counters, messages)
def test_the_note_of_a_crowded_prompt_has_no_identity_facts_but_pinned_ones(
    facts, numbered, budget, count, message
):
    chosen = choose_note(facts, relevance_by_id(facts, numbered), message, budget, count, crowded=True)
    assert all(f.pinned or f.category != "identity" for f in chosen)


@given(facts, relevances)
def test_notes_list_facts_by_category_then_pin_then_relevance_then_last_mention(facts, numbered):
    relevance = relevance_by_id(facts, numbered)
    keys = [
        (rank.CATEGORY_ORDER[f.category], not f.pinned, -round(relevance.get(f.id, 0), 3), NOW - f.last_seen)
        for f in rank.sort_for_note(facts, relevance)
    ]
    assert keys == sorted(keys)
    note = turn_note.render_note(facts, relevance)
    assert note.split("\n")[1:-1] == [
        f"- {line}" for line in list_lines(rank.sort_for_note(facts, relevance))
    ]


@given(facts, relevances, budgets, counters, messages, st.randoms())
def test_the_order_of_the_facts_does_not_change_the_text(facts, numbered, budget, count, message, random):
    relevance = relevance_by_id(facts, numbered)

    def render(ordered: list[FactSnapshot]) -> tuple[str, str]:
        own = memory.choose_block_facts(ordered, relevance, budget, count, count, NOW)
        noted = choose_note(ordered, relevance, message, budget, count)
        return memory.render_block(own), turn_note.render_note(noted, relevance)

    shuffled = list(facts)
    random.shuffle(shuffled)
    assert render(shuffled) == render(facts)


@given(facts, relevances)
def test_facts_are_ranked_by_pin_and_then_by_worth(facts, numbered):
    ranked = rank.rank_for_block(facts, relevance_by_id(facts, numbered), NOW)
    assert ranked == sorted(ranked, key=lambda f: not f.pinned)
    plain = [f for f in ranked if f.category == "project" and f.id not in relevance_by_id(facts, numbered)]
    for pinned in (True, False):
        worths = [rank.compute_worth(f, NOW) for f in plain if f.pinned is pinned]
        assert worths == sorted(worths, reverse=True)


@given(facts, budgets, counters)
def test_an_unpinned_fact_never_displaces_a_pinned_one_of_its_size(facts, budget, count):
    own = memory.choose_block_facts(facts, {}, budget, count, count, NOW)
    left_out = [f for f in facts if f.pinned and to_one_line(f.text) not in list_lines(own)]
    smallest = min((count(f"- {f.text}\n") for f in left_out), default=0)
    assert not left_out or all(f.pinned or count(f"- {f.text}\n") <= smallest for f in own)


@given(facts, budgets, counters)
def test_the_block_has_only_always_included_facts_and_no_header_without_facts(facts, budget, count):
    own = memory.choose_block_facts(facts, {}, budget, count, count, NOW)
    assert all(rank.is_always_included(f) for f in own)
    assert bool(memory.render_block(own)) == bool(own)


@given(facts, budgets, counters)
def test_a_greeting_adds_no_facts_to_the_note(facts, budget, count):
    assert choose_note(facts, {}, "Good morning!", budget, count) == []


def test_each_day_without_use_lowers_the_worth_by_a_hundredth():
    fact = FactSnapshot(
        uuid.uuid4(), "x", "project", "goal", False, 0.75, NOW - timedelta(days=10), NOW, 1, None
    )
    assert round(rank.compute_worth(fact, NOW), 6) == 0.65
