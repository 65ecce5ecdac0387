"""A name that the model spells in another way than the user gets the user's spelling."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.memory.name_spelling import restore_names
from tests.memory.scripted_extraction import extract_with_answers


@pytest.mark.parametrize(
    ("fact", "message", "mended"),
    [
        ("User's brother is called Benedict", "my brother Benedikt", "User's brother is called Benedikt"),
        ("User lives in Zurich", "ich wohne in Zürich", "User lives in Zürich"),
        ("User's name is Elodie", "moi c'est Élodie", "User's name is Élodie"),
        ("User's name is Katharina", "hi, katherina here", "User's name is Katherina"),
        ("User's cat is Pickel", "Pickle's my cat", "User's cat is Pickle"),
        ("User uses Arch Linux and i3", "a thinkpad with arch and i3", "User uses Arch and i3"),
        ("User lives in Leeds, England", "I live in Leeds", "User lives in Leeds"),
    ],
)
def test_a_name_gets_the_spelling_of_the_message(fact: str, message: str, mended: str) -> None:
    assert restore_names(fact, message) == mended


@pytest.mark.parametrize(
    ("fact", "message"),
    [
        ("User lives in Berlin", "I met Bernie yesterday"),
        ("User's dog is Rex", "my dog Max"),
        ("User lives in Vienna", "I live by the Danube"),
        ("User's sister is Ana", "my sister Ada"),
        ("Nutzer ist Programmierer", "ich programmiere beruflich"),
        ("Nutzer ist Gitarrist", "Ich spiele Gitarre"),
        ("Nutzer hat zwei Söhne", "Mein Sohn und mein anderer"),
        ("User is Brazilian", "I'm from Brazil"),
        ("User speaks Korean", "I lived in Korea"),
        ("User's sister is Maria", "my brother Mario"),
        ("User's name is Carl", "please call me later"),
    ],
)
def test_a_name_without_a_similar_word_stays(fact: str, message: str) -> None:
    assert restore_names(fact, message) == fact


@given(st.text(max_size=80), st.text(max_size=80))
def test_a_fact_in_the_words_of_the_message_never_changes(before: str, after: str) -> None:
    fact = "User's brother Benedikt lives in Zürich"
    assert restore_names(fact, f"{before} {fact} {after}") == fact


def test_a_misspelt_name_is_stored_as_the_user_wrote_it() -> None:
    found, _ = extract_with_answers(
        "My brother Benedikt is a welder.", "family: User's brother Benedict is a welder"
    )
    assert [c.text for c in found.candidates] == ["User's brother Benedikt is a welder"]
