"""Text of a role-play states no facts until the role-play ends."""

from datetime import date

import pytest

from chat.llm.scripted import ScriptedProvider
from chat.memory import roleplay
from chat.memory.extract import extract_facts
from chat.memory.speech_acts import ROLE_PLAY

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
def test_a_roleplay_of_both_sides_continues_in_the_next_messages(opening):
    assert roleplay.starts_roleplay(opening)
    assert roleplay.is_roleplay_active([opening, "Good morning, doctor."])


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
def test_a_roleplay_continues_until_it_is_ended(leaving):
    assert not roleplay.is_roleplay_active(["Let's play knights.", leaving])


def test_a_role_of_the_assistant_applies_to_its_message_only():
    assert roleplay.starts_roleplay("Act as a lawyer and read this.")
    assert not roleplay.is_roleplay_active(["Act as a lawyer and read this."])


def test_during_a_roleplay_the_model_is_not_called():
    provider = ScriptedProvider()
    found = extract_facts(provider, "Doctor, my knee hurts and I smoke forty a day.", today=DAY, playing=True)
    assert not found.candidates
    assert [refusal.reason for refusal in found.refused] == [ROLE_PLAY]
    assert not provider.calls


def test_text_after_the_end_of_a_roleplay_is_extracted():
    provider = ScriptedProvider(default_completion="health: User has tinnitus")
    text = "It is I, the knight! OK, end of the game. I have tinnitus, by the way."
    found = extract_facts(provider, text, today=DAY, playing=True)
    assert [candidate.text for candidate in found.candidates] == ["User has tinnitus"]


def test_praise_after_a_sarcastic_sentence_is_a_joke():
    text = "Oh great, the lift is broken again. I simply adore carrying crates."
    found = extract_facts(
        ScriptedProvider(default_completion="likes: User adores carrying crates"), text, today=DAY
    )
    assert not found.candidates


def test_text_after_a_real_question_is_extracted():
    provider = ScriptedProvider(default_completion="job: User is a bookbinder")
    text = "Okay, enough role-play. A real question: I'm a bookbinder, which glue is best?"
    found = extract_facts(provider, text, today=DAY, playing=True)
    assert [candidate.text for candidate in found.candidates] == ["User is a bookbinder"]
