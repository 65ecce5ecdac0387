"""Messages are split into sentences that can be quoted, and into windows that are embedded."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.past_chats.windows import (
    INDEXED,
    LONGEST_SENTENCE,
    WINDOW,
    build_embedded_text,
    find_quotable_spans,
    group_windows,
)

TEXTS = st.text(alphabet=st.sampled_from("ab c.!?\n`路吃é1"), max_size=1500)


def quotable(text, left_out=()):
    return [text[start:end] for start, end in find_quotable_spans(text, left_out)]


@given(TEXTS)
def test_sentences_are_parts_of_the_message_in_order(text):
    spans = find_quotable_spans(text)
    assert all(0 <= one.start < one.end <= len(text) for one in spans)
    assert all(one.end <= following.start for one, following in pairwise(spans))
    assert all(one.end - one.start <= LONGEST_SENTENCE for one in spans)


@given(TEXTS)
def test_each_sentence_is_in_one_window(text):
    sentences = find_quotable_spans(text)
    windows = group_windows(text, sentences)
    for sentence in sentences:
        assert sum(w.start <= sentence.start and sentence.end <= w.end for w in windows) == 1
    assert all(w.end - w.start <= max(WINDOW, LONGEST_SENTENCE) for w in windows)


@given(TEXTS, st.integers(0, 1500), st.integers(1, 200))
def test_what_is_left_out_is_in_no_sentence(text, start, length):
    spans = find_quotable_spans(text, [(start, start + length)])
    assert not any(one.overlaps(start, start + length) for one in spans)


def test_code_is_not_quoted():
    code = "```python\nsecret_function_name = 12345\n```"
    text = f"Here is my view of the invoices.\n{code}\nIt fails with an error."
    assert quotable(text) == ["Here is my view of the invoices.", "It fails with an error."]
    windows = group_windows(text, find_quotable_spans(text))
    assert not any("secret_function" in text[w.start : w.end] for w in windows)


@pytest.mark.parametrize("text", ["Good.", "Thank you!", "Great choice.", "好的。", "…"])
def test_a_few_letters_are_not_quoted(text):
    assert quotable(text) == []


@pytest.mark.parametrize("text", ["Slow Dough it is.", "我们选了慢面团。", "The code is 4471."])
def test_a_short_answer_is_quoted(text):
    assert quotable(text) == [text]


def test_only_the_beginning_of_a_huge_message_is_indexed():
    text = "This is one sentence of a log file. " * 3000
    assert find_quotable_spans(text)[-1].end <= INDEXED


def test_a_short_message_is_embedded_with_the_end_of_the_one_before():
    text = "Slow Dough it is."
    [window] = group_windows(text, find_quotable_spans(text))
    assert build_embedded_text(text, window, "How about Crumb School or Slow Dough?") == (
        "How about Crumb School or Slow Dough? Slow Dough it is."
    )
    assert build_embedded_text(text, window, "") == text
