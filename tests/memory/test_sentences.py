"""Splitting texts into sentences."""

import pytest

from chat.memory.sentences import split_sentences


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
