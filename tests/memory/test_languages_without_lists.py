"""Facts in languages without word lists are stored, and are shown without the word for the user."""

import pytest

from chat.memory.extraction_prompt import SUBJECTS, build_grammar
from chat.memory.formatting import format_for_display
from chat.memory.language import NAMES
from tests.memory.scripted_extraction import extract_with_answers


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("わたしはねこがすきです。", "ユーザーはねこがすきです"),
        ("저는 간호사예요", "사용자는 간호사예요"),
        ("Я медсестра в Казани", "Пользователь работает медсестрой в Казани"),
        ("Ik ben verpleegster in Gent", "Gebruiker is verpleegster in Gent"),
        ("Jestem pielęgniarką w Łodzi", "Użytkowniczka jest pielęgniarką w Łodzi"),
        ("Ben İzmir'de hemşireyim", "Kullanıcı İzmir'de hemşire"),
        ("أنا ممرضة في تونس", "المستخدم ممرضة في تونس"),
    ],
)
def test_a_fact_in_the_language_of_the_message_is_stored(said: str, fact: str) -> None:
    found, provider = extract_with_answers(said, f"likes: {fact}")
    assert [c.text for c in found.candidates] == [fact]
    assert fact.startswith(tuple(s.strip() for s in SUBJECTS[found.candidates[0].language]))
    assert provider.calls[0].grammar == build_grammar(found.candidates[0].language)


@pytest.mark.parametrize("language", ["ja", "ko", "ru", "nl", "pl", "tr", "ar", "th"])
def test_the_word_for_the_user_is_not_shown(language: str) -> None:
    assert {format_for_display(f"{subject}Xyz") for subject in SUBJECTS[language]} == {"Xyz"}


def test_every_detected_language_has_a_word_for_the_user() -> None:
    assert set(SUBJECTS) == set(NAMES)
