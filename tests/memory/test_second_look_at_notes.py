"""Notes that a small model gets wrong: read once more, put right, or left out."""

import pytest

from .reading import look


def test_what_a_relative_is_called_is_asked_for_anew_when_it_was_taken_for_the_users_own() -> None:
    found, provider = look(
        "Mi hija se llama Lucía.",
        "name: La usuaria se llama Lucía",
        "family: El usuario tiene una hija llamada Lucía",
    )
    assert [(c.kind, c.text) for c in found.candidates] == [
        ("family", "El usuario tiene una hija llamada Lucía")
    ]
    assert 'kind ::= "family"' in str(provider.calls[1].grammar)


def test_a_plain_statement_of_which_nothing_stands_is_read_once_more() -> None:
    found, provider = look(
        "I hate touch screens.", "reply_style: User wants no emojis", "dislikes: User hates touch screens"
    )
    assert [c.text for c in found.candidates] == ["User hates touch screens"]
    assert len(provider.calls) == 2


def test_an_answer_to_how_to_write_is_never_nothing() -> None:
    _, provider = look("Short, no bullet points.", "none", question="How should I write?")
    assert '"none"' not in str(provider.calls[0].grammar)
    _, provider = look("Yes, please.", question="Shall I answer in metric units?")
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
def test_a_trade_is_not_taken_for_a_name_nor_a_name_for_a_trade(said: str, note: str, text: str) -> None:
    found, _ = look(said, note)
    assert [c.text for c in found.candidates] == [text]


def test_a_thing_that_is_called_something_never_becomes_the_users_name() -> None:
    found, _ = look("Our app is called Rainbook now.", "name: User's app is called Rainbook")
    assert all(c.kind != "name" for c in found.candidates)


def test_to_be_called_a_name_is_said_once() -> None:
    found, _ = look(
        "Please call me Sam.", "name: User's name is Sam\nreply_style: User wants to be called Sam"
    )
    assert [c.text for c in found.candidates] == ["User's name is Sam"]


def test_a_former_home_never_takes_the_place_of_the_present_one() -> None:
    found, _ = look("I used to live in Plovdiv.", "home: User used to live in Plovdiv")
    assert [(c.kind, c.category) for c in found.candidates] == [("event", "identity")]


@pytest.mark.parametrize(
    "note", ["dislikes: User hates them", "dislikes: User used to love olives but now hates them"]
)
def test_what_them_means_is_taken_from_the_first_half_of_a_change_of_mind(note: str) -> None:
    found, _ = look("I used to love olives but now I hate them.", note)
    assert [(c.kind, c.text) for c in found.candidates] == [("dislikes", "User hates olives")]


def test_an_allergy_said_in_a_roundabout_way_is_the_allergy() -> None:
    found, _ = look(
        "I can't eat walnuts because I'm allergic to them.",
        "dislikes: User can't eat walnuts because they are allergic to them",
    )
    assert [(c.kind, c.text) for c in found.candidates] == [("health", "User is allergic to walnuts")]


def test_an_age_in_german_may_be_said_without_its_noun() -> None:
    found, _ = look("Ich bin jetzt schon 38.", "age: Nutzer ist 38 Jahre alt")
    assert [c.kind for c in found.candidates] == ["age"]


def test_what_one_used_to_do_is_over_and_not_kept() -> None:
    found, _ = look("I used to run 5 km every morning.", "habit: User used to run 5 km every morning")
    assert not found.candidates
    assert found.endings == ["I used to run 5 km every morning."]


def test_that_the_user_talks_about_something_is_no_fact() -> None:
    found, _ = look(
        "I dropped the chat app, it's over.", "goal: User wants to know about the chat app", "none"
    )
    assert not found.candidates
    assert found.endings == ["I dropped the chat app, it's over."]
