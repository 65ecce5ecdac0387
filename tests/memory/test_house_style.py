"""The house style of a fact: the language of the user, one thing a sentence."""

import pytest

from chat.memory.language import detect
from chat.memory.wording import named, split, tidy


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
