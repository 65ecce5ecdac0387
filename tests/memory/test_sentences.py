"""Splitting texts into sentences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.memory.sentences import LONGEST_SENTENCE, find_sentence_spans, split_sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (
            "Unseren Garten haben wir zum 1. abgegeben. Wohin jetzt?",
            ["Unseren Garten haben wir zum 1. abgegeben.", "Wohin jetzt?"],
        ),
        ("Am 12. März ziehe ich um. Gut so.", ["Am 12. März ziehe ich um.", "Gut so."]),
        ("I turned 30. my knee hurts", ["I turned 30.", "my knee hurts"]),
        ("I am 30. My knee hurts.", ["I am 30.", "My knee hurts."]),
        ("Dr. Ng lives at no. 5. We met.", ["Dr. Ng lives at no. 5.", "We met."]),
    ],
)
def test_a_full_stop_after_an_ordinal_or_an_abbreviation_ends_no_sentence(
    text: str, sentences: list[str]
) -> None:
    assert split_sentences(text) == sentences


@given(st.lists(st.text("ab \n.", max_size=30), max_size=200).map("x".join))
def test_no_sentence_is_longer_than_the_limit_and_no_word_is_lost(text):
    spans = find_sentence_spans(text)
    assert all(0 < end - start <= LONGEST_SENTENCE for start, end in spans)
    assert "".join("".join(text[start:end].split()) for start, end in spans) == "".join(text.split())


def test_a_long_sentence_is_divided_at_a_space():
    words = ["word"] * 600
    sentences = split_sentences(" ".join(words))
    assert len(sentences) > 1
    assert " ".join(sentences).split() == words
