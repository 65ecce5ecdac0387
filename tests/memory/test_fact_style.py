"""The normalized form of facts: the language of the user, one fact per sentence."""

import pytest

from chat.memory.language import detect_language
from chat.memory.normalize import normalize_name_sentence, normalize_sentence, split_second_verb


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
def test_the_language_is_detected_by_common_words(text: str, language: str) -> None:
    assert detect_language(text) == language


def test_a_proposed_sentence_is_normalized() -> None:
    assert normalize_sentence("I'm a cooper.", "I'm a cooper.") == "User is a cooper"
    assert normalize_sentence("The user's cat is old", "") == "User's cat is old"


def test_a_pronoun_that_the_user_used_stays() -> None:
    assert (
        normalize_sentence("User's brother sold his boat", "My brother sold his boat")
        == "User's brother sold his boat"
    )


def test_a_name_has_one_form() -> None:
    assert normalize_name_sentence("User is Ewa Nowak") == "User's name is Ewa Nowak"
    assert normalize_name_sentence("User's name is Ewa") == "User's name is Ewa"


def test_a_sentence_with_one_verb_is_not_split() -> None:
    assert split_second_verb("User uses Swift and TypeScript") == ["User uses Swift and TypeScript"]
