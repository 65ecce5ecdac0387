"""The classifier tells messages that ask for something said before from those that need nothing."""

import pytest

from chat.past_chats.need_classifier import (
    Estimate,
    Need,
    decide_need,
    estimate_need,
    load_weights,
    may_need,
)


@pytest.fixture
def decide(embedder):
    """Return a function that decides what a message needs when one of its words was found."""
    weights = load_weights(embedder.name)

    def choose(text):
        return decide_need(estimate_need(embedder.embed([text])[0], weights), 0.3, 0.4, weights)

    return choose


@pytest.mark.parametrize(
    "text",
    [
        "Which name did we settle on for the sourdough course?",
        "What was that trick you told me for wine stains?",
        "When do I fly to Lima again?",
        "Who am I negotiating with?",
        "Wie hieß noch mal der Klempner?",
        "¿Cómo se llamaba el fontanero que te dije?",
        "我们上次选了哪个名字？",
    ],
)
def test_a_message_about_something_said_before_asks_for_it(decide, text):
    assert decide(text) == Need.ASKS


@pytest.mark.parametrize(
    "text",
    [
        "Draft the first two sentences of my Utrecht talk.",
        "Schreib eine Einladung zu meinem Gartenfest.",
        "Make a timetable for my thesis work.",
    ],
)
def test_a_request_about_an_own_thing_touches_the_past(decide, text):
    assert decide(text) == Need.TOUCHES


@pytest.mark.parametrize(
    "text",
    [
        "Write a haiku about autumn rain.",
        "What is the capital of Norway?",
        "How deep should tomato seeds be sown?",
        "I moved to Trondheim last week.",
        "Thanks, that's great!",
        "Wie viele Einwohner hat Hamburg?",
        "Comment traduit-on « however » en français ?",
    ],
)
def test_an_ordinary_message_needs_nothing(decide, text):
    assert decide(text) == Need.NOTHING


def test_a_better_sentence_never_makes_a_need_disappear(embedder):
    weights = load_weights(embedder.name)
    for needs in (-6.0, -2.0, 0.0, 2.0):
        found = [
            decide_need(Estimate(needs, 1.0), share, share, weights) != Need.NOTHING for share in (0, 0.5, 1)
        ]
        assert found == sorted(found)


def test_no_search_is_made_where_no_sentence_could_matter(embedder):
    weights = load_weights(embedder.name)
    assert not may_need(Estimate(weights.least - 4, 1.0), weights)
    assert may_need(Estimate(weights.least - 3, 1.0), weights)


def test_an_unknown_embedder_has_no_weights():
    assert load_weights("another") is None
