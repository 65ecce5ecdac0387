"""When two sentences say the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.memory import similar


def test_case_punctuation_and_width_do_not_matter() -> None:
    assert similar.normalise("User lives in  Oslo.") == similar.normalise("user LIVES in Ｏslo")


@given(st.text())
def test_the_normal_form_is_its_own_normal_form(text: str) -> None:
    assert similar.normalise(similar.normalise(text)) == similar.normalise(text)


@given(st.text(), st.text())
def test_overlap_is_a_share_and_does_not_care_for_order(a: str, b: str) -> None:
    assert similar.overlap(a, b) == similar.overlap(b, a)
    assert 0.0 <= similar.overlap(a, b) <= 1.0


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("User is 33 years old", "User is 34 years old"),
        ("User lives in Oslo", "User lives in Bergen"),
        ("User eats fish", "User does not eat fish"),
        ("User likes olives", "User hates olives"),
        ("Nutzer isst Fisch", "Nutzer isst keinen Fisch"),
        ("用户喜欢猫", "用户不喜欢猫"),
    ],
)
def test_numbers_names_and_negation_set_sentences_apart(a: str, b: str) -> None:
    assert not similar.same_numbers_names_negation(a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("User has two dogs", "User has 2 dogs"),
        ("User lives in Oslo", "User is based in Oslo"),
        ("User's report is due on 11 November", "User's report deadline is 11 November"),
        ("User plays hockey on Wednesdays", "User plays hockey every Wednesday"),
        ("User earned 20,000 points", "User earned 20000 points"),
    ],
)
def test_the_same_numbers_and_names_in_other_words_are_the_same(a: str, b: str) -> None:
    assert similar.same_numbers_names_negation(a, b)


def test_the_word_that_opens_a_sentence_is_no_name() -> None:
    assert similar.names("Lives in Oslo") == {"oslo"}


def test_a_vector_is_one_with_itself_and_nothing_with_a_null_or_a_stranger() -> None:
    v = np.array([3.0, 4.0], dtype=np.float32)
    assert similar.cosine(v, v) == pytest.approx(1.0)
    assert similar.cosine(v, np.zeros(2, dtype=np.float32)) == 0.0
    assert similar.cosine(v, np.ones(3, dtype=np.float32)) == 0.0
