"""Wrong proposals of a small model are asked for again, corrected or refused."""

import pytest

from .scripted_extraction import extract_with_answers


def test_the_name_of_a_relative_taken_for_the_users_is_asked_for_again() -> None:
    found, provider = extract_with_answers(
        "Mi hija se llama Lucía.",
        "name: La usuaria se llama Lucía",
        "family: El usuario tiene una hija llamada Lucía",
    )
    assert [(c.kind, c.text) for c in found.candidates] == [
        ("family", "El usuario tiene una hija llamada Lucía")
    ]
    assert 'kind ::= "family"' in str(provider.calls[1].grammar)


@pytest.mark.usefixtures("embedder")
def test_a_plain_statement_without_an_accepted_fact_is_asked_about_again() -> None:
    found, provider = extract_with_answers(
        "I hate touch screens.", "reply_style: User wants no emojis", "dislikes: User hates touch screens"
    )
    assert [c.text for c in found.candidates] == ["User hates touch screens"]
    assert len(provider.calls) == 2


def test_an_answer_about_the_form_of_replies_must_give_a_fact() -> None:
    _, provider = extract_with_answers("Short, no bullet points.", "none", question="How should I write?")
    assert '"none"' not in str(provider.calls[0].grammar)
    _, provider = extract_with_answers("Yes, please.", question="Shall I answer in metric units?")
    assert not provider.calls or '"none"' in str(provider.calls[0].grammar)


@pytest.mark.parametrize(
    ("said", "note", "text"),
    [
        ("Ich bin Imkerin.", "name: Nutzer heißt Imkerin", "Nutzer ist Imkerin"),
        ("Ich heiße Karin.", "name: Nutzer heißt Karin", "Nutzer heißt Karin"),
        ("Ich bin die Resi, Wirtin in Aussee.", "job: Nutzer ist Resi", "Nutzer heißt Resi"),
        ("Ich bin der Neue im Team.", "job: Nutzer ist Neue", "Nutzer ist Neue"),
        ("Soy enfermera en un hospital.", "name: La usuaria se llama enfermera", "La usuaria es enfermera"),
        ("me llamo ana", "name: La usuaria se llama ana", "La usuaria se llama ana"),
        ("Ich bin Peter.", "name: Nutzer heißt Peter", "Nutzer heißt Peter"),
    ],
)
def test_professions_and_names_are_distinguished(said: str, note: str, text: str) -> None:
    found, _ = extract_with_answers(said, note)
    assert [c.text for c in found.candidates] == [text]


def test_the_name_of_a_thing_never_becomes_the_users_name() -> None:
    found, _ = extract_with_answers("Our app is called Rainbook now.", "name: User's app is called Rainbook")
    assert all(c.kind != "name" for c in found.candidates)


def test_a_wish_to_be_called_a_name_gives_one_fact() -> None:
    found, _ = extract_with_answers(
        "Please call me Sam.", "name: User's name is Sam\nreply_style: User wants to be called Sam"
    )
    assert [c.text for c in found.candidates] == ["User's name is Sam"]


def test_a_former_home_never_replaces_the_present_one() -> None:
    found, _ = extract_with_answers("I used to live in Plovdiv.", "home: User used to live in Plovdiv")
    assert [(c.kind, c.category) for c in found.candidates] == [("event", "identity")]


@pytest.mark.parametrize(
    "note", ["dislikes: User hates them", "dislikes: User used to love olives but now hates them"]
)
def test_a_trailing_pronoun_is_replaced_by_its_referent(note: str) -> None:
    found, _ = extract_with_answers("I used to love olives but now I hate them.", note)
    assert [(c.kind, c.text) for c in found.candidates] == [("dislikes", "User hates olives")]


def test_an_indirect_allergy_becomes_the_allergy() -> None:
    found, _ = extract_with_answers(
        "I can't eat walnuts because I'm allergic to them.",
        "dislikes: User can't eat walnuts because they are allergic to them",
    )
    assert [(c.kind, c.text) for c in found.candidates] == [("health", "User is allergic to walnuts")]


def test_a_german_age_is_supported_without_the_word_for_years() -> None:
    found, _ = extract_with_answers("Ich bin jetzt schon 38.", "age: Nutzer ist 38 Jahre alt")
    assert [c.kind for c in found.candidates] == ["age"]


def test_former_habits_are_refused() -> None:
    found, _ = extract_with_answers(
        "I used to run 5 km every morning.", "habit: User used to run 5 km every morning"
    )
    assert not found.candidates
    assert found.endings == ["I used to run 5 km every morning."]


def test_a_description_of_the_message_is_refused() -> None:
    found, _ = extract_with_answers(
        "I dropped the chat app, it's over.", "goal: User wants to know about the chat app", "none"
    )
    assert not found.candidates
    assert found.endings == ["I dropped the chat app, it's over."]
