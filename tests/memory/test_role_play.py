"""What is said in a role-play is not about the user, until the role-play is left."""

from datetime import date

import pytest

from chat.llm.scripted import ScriptedProvider
from chat.memory import play
from chat.memory.extract import extract
from chat.memory.frames import ROLE_PLAY

DAY = date(2026, 5, 4)


@pytest.mark.parametrize(
    "opening",
    [
        "Let's play: you are my doctor and I'm a patient called Mr Finch.",
        "You're the dragon and I'm Isolde, the knight of Ravenhall.",
        "Let's do a role-play.",
        "Du bist der Drache und ich bin der Ritter.",
        "Tu es le roi et je suis un paysan.",
        "你是国王，我是农民。",
    ],
)
def test_a_play_of_both_goes_on_in_the_next_messages(opening):
    assert play.starts(opening)
    assert play.goes_on([opening, "Good morning, doctor."])


@pytest.mark.parametrize(
    "leaving",
    [
        "OK, end of the game.",
        "Back to reality please",
        "Genug gespielt.",
        "Fin du jeu.",
        "Volviendo a la realidad…",
        "不玩了",
    ],
)
def test_it_goes_on_until_it_is_left(leaving):
    assert not play.goes_on(["Let's play knights.", leaving])


def test_a_role_of_the_assistant_alone_does_not_outlast_its_message():
    assert play.starts("Act as a lawyer and read this.")
    assert not play.goes_on(["Act as a lawyer and read this."])


def test_while_it_goes_on_the_model_is_not_even_asked():
    provider = ScriptedProvider()
    found = extract(provider, "Doctor, my knee hurts and I smoke forty a day.", today=DAY, playing=True)
    assert not found.candidates
    assert [refusal.reason for refusal in found.refused] == [ROLE_PLAY]
    assert not provider.calls


def test_what_follows_the_leaving_in_the_same_message_is_read_again():
    provider = ScriptedProvider(default_completion="health: User has tinnitus")
    text = "It is I, the knight! OK, end of the game. I have tinnitus, by the way."
    found = extract(provider, text, today=DAY, playing=True)
    assert [candidate.text for candidate in found.candidates] == ["User has tinnitus"]


def test_praise_after_a_nuisance_greeted_with_joy_is_meant_the_other_way():
    text = "Oh great, the lift is broken again. I simply adore carrying crates."
    found = extract(
        ScriptedProvider(default_completion="likes: User adores carrying crates"), text, today=DAY
    )
    assert not found.candidates


def test_a_real_question_after_the_play_is_read():
    provider = ScriptedProvider(default_completion="job: User is a bookbinder")
    text = "Okay, enough role-play. A real question: I'm a bookbinder, which glue is best?"
    found = extract(provider, text, today=DAY, playing=True)
    assert [candidate.text for candidate in found.candidates] == ["User is a bookbinder"]
