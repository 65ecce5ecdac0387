"""The comparison of two sentences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.memory import text_similarity


def test_case_punctuation_and_width_do_not_matter() -> None:
    assert text_similarity.normalize_text("User lives in  Oslo.") == text_similarity.normalize_text(
        "user LIVES in Ｏslo"
    )


@given(st.text())
def test_the_normal_form_is_its_own_normal_form(text: str) -> None:
    assert text_similarity.normalize_text(
        text_similarity.normalize_text(text)
    ) == text_similarity.normalize_text(text)


@given(st.text(), st.text())
def test_overlap_is_symmetric_and_between_zero_and_one(a: str, b: str) -> None:
    assert text_similarity.compute_overlap(a, b) == text_similarity.compute_overlap(b, a)
    assert 0.0 <= text_similarity.compute_overlap(a, b) <= 1.0


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
def test_different_numbers_names_or_negation_distinguish_sentences(a: str, b: str) -> None:
    assert not text_similarity.has_same_numbers_names_negation(a, b)


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
    assert text_similarity.has_same_numbers_names_negation(a, b)


def test_the_first_word_of_a_sentence_is_no_name() -> None:
    assert text_similarity.extract_names("Lives in Oslo") == {"oslo"}


def test_the_cosine_is_one_with_itself_and_zero_with_a_zero_vector_or_another_size() -> None:
    v = np.array([3.0, 4.0], dtype=np.float32)
    assert text_similarity.compute_cosine(v, v) == pytest.approx(1.0)
    assert text_similarity.compute_cosine(v, np.zeros(2, dtype=np.float32)) == 0.0
    assert text_similarity.compute_cosine(v, np.ones(3, dtype=np.float32)) == 0.0
