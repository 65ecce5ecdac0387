"""The kind of a fact that the user typed."""

from collections import deque

import pytest

from chat.errors import ProviderError
from chat.llm.scripted import ScriptedProvider
from chat.llm.types import Lane
from chat.memory.classify import classify_fact, guess_kind
from chat.memory.kinds import KINDS


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("I prefer tea", "preference"),
        ("User lives in Lyon", "identity"),
        ("User likes jazz", "preference"),
        ("User is building a synth app", "project"),
        ("User's name is Ana", "identity"),
        ("User has diabetes", "identity"),
        ("User wants answers in French", "preference"),
        ("User must never be shown spoilers", "preference"),
        ("User is migrating billing from Rails to Go", "project"),
        ("User wants metric units", "preference"),
        ("My thesis is due on 3 May", "project"),
        ("Nutzer lernt Rust", "project"),
        ("用户喜欢爬山", "preference"),
    ],
)
def test_the_words_of_a_sentence_suggest_its_category(text: str, category: str) -> None:
    assert KINDS[guess_kind(text)].category == category


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("User's son is 6 years old", "family"),
        ("My wife has diabetes", "family"),
        ("User lives two miles from the sea", "home"),
        ("User is writing a children's book", "building"),
        ("User's dog is called Rex", "pet"),
        ("I'm allergic to wasps", "health"),
        ("My name is Ana", "name"),
    ],
)
def test_the_name_or_age_of_a_relative_or_thing_is_not_the_users(text: str, kind: str) -> None:
    assert guess_kind(text) == kind


def test_the_model_decides_in_the_interactive_lane() -> None:
    provider = ScriptedProvider(completions=deque(["habit: User bakes on Sundays"]))
    assert classify_fact(provider, "baking, Sundays") == ("habit", "preference", "")
    assert provider.calls[0].lane is Lane.INTERACTIVE


@pytest.mark.parametrize(
    "answer", [ProviderError("verbatim", sentence="gone"), "none", "I think it is a habit", ""]
)
def test_without_a_usable_answer_the_rules_decide(answer: str | Exception) -> None:
    provider = ScriptedProvider(completions=deque([answer]))
    assert classify_fact(provider, "I prefer tea") == ("likes", "preference", "")


def test_the_subject_of_a_pet_is_its_name_and_of_a_deadline_its_project() -> None:
    provider = ScriptedProvider(completions=deque(["none", "none"]))
    assert classify_fact(provider, "User has a dog called Rex")[2] == "rex"
    assert classify_fact(provider, "The Phoenix launch is on November 1")[2] == "phoenix"
