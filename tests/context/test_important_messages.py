"""A compaction with the strategy hybrid keeps important messages, and the report counts them."""

from __future__ import annotations

import pytest

from chat.context.prompt import build_prompt
from chat.models import Message

pytestmark = pytest.mark.django_db

DECISION = "We decided to pay 1,500 euros on 3 May."
SMALL_TALK = "so it goes, and the day is long " * 8


@pytest.fixture
def compacted(make_conversation, add_user_message, provider):
    """Return a function that builds the prompt that compacts a long talk with a decision near its start."""
    provider.context_window = 4096

    def build(strategy: str, **marks):
        said = [SMALL_TALK] * 60
        said[6] = DECISION
        conversation = make_conversation(said, strategy=strategy)
        if marks:
            Message.objects.filter(seq=7).update(**marks)
        return build_prompt(conversation, add_user_message(conversation, "And now?"), provider)

    return build


def holds_decision(prompt) -> bool:
    return any(DECISION in turn.content for turn in prompt.turns)


def test_hybrid_keeps_an_important_exchange_with_its_reply(compacted):
    prompt = compacted("hybrid")
    assert prompt.stage == 1
    assert holds_decision(prompt)
    assert {7, 8} <= set(prompt.shape.kept)
    assert prompt.sections["important"] > 0


@pytest.mark.parametrize("strategy", ["simple", "summarization"])
def test_other_strategies_do_not(compacted, strategy):
    prompt = compacted(strategy)
    assert not holds_decision(prompt)
    assert prompt.sections["important"] == 0


def test_a_message_whose_mark_was_removed_is_not_kept(compacted):
    assert not holds_decision(compacted("hybrid", importance=0.0))


def test_a_stored_score_is_used_as_it_is(compacted):
    assert holds_decision(compacted("hybrid", importance=0.7))


def test_sections_still_add_up_to_the_prompt(compacted):
    prompt = compacted("hybrid")
    assert sum(prompt.sections.values()) == prompt.tokens
