"""The sentences that say a forgotten fact are found by its words; others are not."""

from __future__ import annotations

import time

import pytest

from chat.memory.forgotten_sentences import SentenceFinder, find_source_spans
from chat.memory.sentences import find_sentence_spans

NUTS = "User is allergic to nuts"


def find(text, *facts):
    return [text[start:end] for start, end in SentenceFinder.from_texts(facts).find_spans(text)]


@pytest.mark.parametrize(
    ("fact", "sentence"),
    [
        (NUTS, "I'm allergic to nuts."),
        (NUTS, "Please forget that I'm allergic to nuts."),
        (NUTS, "You're allergic to nuts, so leave the pesto out!"),
        ("User lives in Oslo", "I live in Oslo, and I'd like a flat with a garden."),
        ("User likes chess", "I love chess."),
        ("User has 2 cats", "We have two cats."),
        ("User ist allergisch gegen Nüsse", "Ich bin leider allergisch gegen Nüsse."),
        ("用户住在奥斯陆", "我住在奥斯陆。"),
    ],
)
def test_a_sentence_with_the_words_of_a_fact_says_it(fact, sentence):
    assert find(f"Hello there! {sentence}\nWhat shall I cook?", fact) == [sentence]


@pytest.mark.parametrize(
    ("fact", "sentence"),
    [
        (NUTS, "Am I allergic to nuts?"),
        (NUTS, "I'm not allergic to nuts."),
        (NUTS, "I'm allergic to pollen."),
        ("User lives in Oslo", "I live in Bergen."),
        ("User likes chess", "Chess came from India through Persia to the courts of Europe."),
        ("User has 2 cats", "I have three cats."),
    ],
)
def test_a_sentence_that_says_something_else_does_not(fact, sentence):
    assert find(sentence, fact) == []


@pytest.mark.parametrize(
    ("message", "quote", "found"),
    [
        # The quote names the sentence, whatever the words of the fact are.
        (
            "Pistachios give me hives. I cook a lot.",
            "Pistachios give me hives",
            ["Pistachios give me hives."],
        ),
        # Two sentences, of which the quote is one.
        ("I'm allergic to nuts. All nuts, I'm very allergic!", "I'm allergic to nuts", None),
        # Without a quote the nearest sentence of the source is meant.
        ("I cook a lot. Nuts are dangerous for me.", "", ["Nuts are dangerous for me."]),
        ("I cook a lot. I like tea.", "", []),
    ],
)
def test_the_source_of_a_fact_says_it_in_the_quoted_or_the_nearest_sentence(message, quote, found):
    spans = find_source_spans(message, [NUTS], [quote] if quote else [])
    said = [message[start:end] for start, end in spans]
    assert said == (found if found is not None else ["I'm allergic to nuts.", "All nuts, I'm very allergic!"])


def test_the_spans_of_sentences_are_their_places_in_the_text():
    text = "  One. Two!\n\n三。四？ Five"
    assert [text[start:end] for start, end in find_sentence_spans(text)] == [
        "One.",
        "Two!",
        "三。",
        "四？",
        "Five",
    ]


def test_a_long_text_and_many_facts_take_little_time():
    facts = [f"User collects rare item number {n}" for n in range(150)]
    text = " ".join(f"I went to place {n} and saw a bird." for n in range(4000))
    started = time.monotonic()
    assert find(text, *facts) == []
    assert time.monotonic() - started < 5
