"""The model's decision about a candidate: restricted, validated, asked for once more, or left out."""

from collections import deque

import pytest

from chat.errors import Unfinished
from chat.llm.scripted import ScriptedProvider
from chat.llm.types import StopFlag
from chat.memory.candidates import FactCandidate
from chat.memory.consolidate import Action
from chat.memory.judge import UNDECIDED, judge_candidate, judge_ending
from chat.memory.kind_rules import guess_kind
from chat.memory.kinds import KINDS
from chat.memory.subjects import extract_subject
from chat.models import Fact


def make_candidate(text: str, quote: str, kind: str = "") -> FactCandidate:
    kind = kind or guess_kind(text)
    return FactCandidate(text, kind, KINDS[kind].category, extract_subject(kind, text), False, quote)


def make_fact(text: str, kind: str = "") -> Fact:
    kind = kind or guess_kind(text)
    return Fact(text=text, kind=kind, category=KINDS[kind].category, confidence=0.75)


def make_provider(*answers: str) -> ScriptedProvider:
    return ScriptedProvider(completions=deque(answers))


QUIT = make_candidate("User quit smoking in January", "I quit smoking in January", "habit")


def test_the_model_may_replace_a_fact_if_the_message_states_a_change():
    fact = make_fact("User smokes a pack a day", "habit")
    verdict = judge_candidate(make_provider("UPDATE 1"), QUIT, None, [fact], "")
    assert (verdict.opinion.action, verdict.opinion.target) == (Action.SUPERSEDE, fact.pk)
    assert (verdict.opinion.version, verdict.failure) == (fact.version, "")


def test_the_model_may_end_a_fact_or_add():
    fact = make_fact("User smokes a pack a day", "habit")
    assert judge_candidate(make_provider("DELETE 1"), QUIT, None, [fact], "").opinion.action is Action.END
    verdict = judge_candidate(make_provider("ADD"), QUIT, None, [fact], "")
    assert (verdict.opinion, verdict.failure) == (None, "")


def test_the_prompt_contains_the_nearest_facts_the_sentence_and_the_candidate():
    provider = make_provider("ADD")
    facts = [make_fact("User likes tea", "likes"), make_fact("User smokes a pack a day", "habit")]
    judge_candidate(provider, QUIT, None, facts, "")
    assert provider.calls[0].turns[-1].content == (
        "1. User smokes a pack a day\nsaid: I quit smoking in January\nnew: User quit smoking in January"
    )


@pytest.mark.parametrize(
    "answer",
    ["", "I think it is an update.", "```\nUPDATE 1\n```", "UPDATE 9", "<think>UPDATE 1", '{"a": 1}'],
)
def test_an_unusable_answer_is_asked_for_once_more(answer):
    fact = make_fact("User smokes a pack a day", "habit")
    provider = make_provider(answer, "UPDATE 1")
    assert judge_candidate(provider, QUIT, None, [fact], "").opinion.action is Action.SUPERSEDE
    assert len(provider.calls) == 2


@pytest.mark.parametrize("answer", ["", "UPDATE 0", "Sure! UPDATE 1", "NOOP 1", "DELETE"])
def test_two_unusable_answers_are_a_failure_and_replace_nothing(answer):
    fact = make_fact("User smokes a pack a day", "habit")
    provider = make_provider(answer, answer)
    verdict = judge_candidate(provider, QUIT, None, [fact], "")
    assert (verdict.opinion, verdict.failure) == (None, UNDECIDED)
    assert len(provider.calls) == 2


@pytest.mark.parametrize(
    ("candidate", "facts"),
    [
        (make_candidate("User loves techno", "I love techno too."), [make_fact("User loves techno nights")]),
        (make_candidate("User lives in Oslo", "I live in Oslo"), [make_fact("User lives in Rome")]),
        (
            make_candidate("User likes chess", "I like chess"),
            [make_fact("User plays the cello"), make_fact("User has a dog")],
        ),
        (
            make_candidate("User is allergic to shellfish", "I'm allergic to shellfish"),
            [make_fact("User is allergic to nuts")],
        ),
    ],
    ids=["said as well", "a rule decides", "nothing is near", "words forbid every change"],
)
def test_without_a_choice_the_model_is_not_called(candidate, facts):
    provider = make_provider()
    assert judge_candidate(provider, candidate, None, facts, "").opinion is None
    assert not provider.calls


def test_the_grammar_offers_only_allowed_choices():
    provider = make_provider("ADD")
    facts = [make_fact("User has two kids", "family"), make_fact("User's kids play hockey", "family")]
    new = make_candidate("User's kids play hockey and chess", "My kids play hockey and chess")
    judge_candidate(provider, new, None, facts, "")
    assert provider.calls[0].grammar == 'root ::= "ADD" | "UPDATE 1"'


def test_a_sentence_about_an_ending_may_end_the_fact_it_names():
    fact = make_fact("User is building a bookshop website", "building")
    provider = make_provider("DELETE 1")
    sentence = "I dropped the bookshop website, it's over."
    verdict = judge_ending(provider, sentence, [make_fact("User likes tea"), fact], [])
    assert (verdict.opinion.action, verdict.opinion.target) == (Action.END, fact.pk)
    assert provider.calls[0].grammar == 'root ::= "ADD" | "DELETE 1"'


def test_an_ending_spares_preferences_and_facts_of_the_same_message():
    provider = make_provider()
    tea, job = make_fact("User likes tea", "likes"), make_fact("User works as a nurse", "job")
    still = make_candidate("User works as a nurse", "I left the ward, I work as a nurse at school", "job")
    sentence = "I finished the tea and left the nurse ward"
    assert judge_ending(provider, sentence, [tea, job], [still]).opinion is None
    assert not provider.calls


def test_a_stopped_call_raises_an_error():
    stop = StopFlag()
    stop.set()
    with pytest.raises(Unfinished):
        judge_candidate(
            make_provider(), QUIT, None, [make_fact("User smokes a pack a day", "habit")], "", stop
        )
