"""The house style of a fact: dates that stay true, the language of the user, one thing a sentence."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.memory.dates import resolve
from chat.memory.language import detect
from chat.memory.wording import named, split, tidy


@pytest.mark.parametrize(
    ("text", "resolved"),
    [
        ("User started yesterday", "User started on 31 December 2025"),
        ("User moves next month", "User moves in February 2026"),
        ("User moved last month", "User moved in December 2025"),
        ("User marries next year", "User marries in 2027"),
        ("User swims every day", "User swims every day"),
    ],
)
def test_relative_dates_become_dates_across_the_turn_of_the_year(text: str, resolved: str) -> None:
    assert resolve(text, date(2026, 1, 1)) == resolved


@given(st.dates(date(1990, 1, 1), date(2100, 1, 1)))
def test_a_resolved_date_is_not_resolved_again(today: date) -> None:
    once = resolve("User flew yesterday and returns next month", today)
    assert resolve(once, today) == once


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("I'm a cooper and I live by the sea", "en"),
        ("Ich wohne in Graz und habe zwei Kinder", "de"),
        ("Je suis boulanger et j'habite à Lyon", "fr"),
        ("Soy panadero y vivo en Sevilla", "es"),
        ("Sono un fornaio e vivo a Bari", "it"),
        ("Sou padeiro e moro em Braga", "pt"),
        ("我住在成都", "zh"),
        ("1234", ""),
    ],
)
def test_the_language_shows_in_the_commonest_words(text: str, language: str) -> None:
    assert detect(text) == language


def test_a_note_gets_the_house_style() -> None:
    assert tidy("I'm a cooper.", "I'm a cooper.") == "User is a cooper"
    assert tidy("The user's cat is old", "") == "User's cat is old"


def test_a_pronoun_that_the_user_used_stays() -> None:
    assert tidy("User's brother sold his boat", "My brother sold his boat") == "User's brother sold his boat"


def test_a_name_has_one_form() -> None:
    assert named("User is Ewa Nowak") == "User's name is Ewa Nowak"
    assert named("User's name is Ewa") == "User's name is Ewa"


def test_a_sentence_with_one_verb_is_not_split() -> None:
    assert split("User uses Swift and TypeScript") == ["User uses Swift and TypeScript"]
