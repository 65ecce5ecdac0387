"""The model's choice among what words allow: validated, asked for once more, or safely left out."""

from collections import deque

import pytest

from chat.llm.scripted import ScriptedProvider
from chat.llm.types import StopFlag, Unfinished
from chat.memory.consolidate import Action
from chat.memory.extract import Candidate
from chat.memory.judge import UNDECIDED, consider, consider_ending
from chat.memory.kind_rules import guess_kind
from chat.memory.kinds import KINDS
from chat.memory.subjects import subject_of
from chat.models import Fact


def said(text: str, quote: str, kind: str = "") -> Candidate:
    kind = kind or guess_kind(text)
    return Candidate(text, kind, KINDS[kind].category, subject_of(kind, text), False, quote)


def known(text: str, kind: str = "") -> Fact:
    kind = kind or guess_kind(text)
    return Fact(text=text, kind=kind, category=KINDS[kind].category, confidence=0.75)


def answering(*answers: str) -> ScriptedProvider:
    return ScriptedProvider(completions=deque(answers))


QUIT = said("User quit smoking in January", "I quit smoking in January", "habit")


def test_the_model_may_replace_what_the_user_says_has_changed():
    fact = known("User smokes a pack a day", "habit")
    verdict = consider(answering("UPDATE 1"), QUIT, None, [fact], "")
    assert (verdict.opinion.action, verdict.opinion.target) == (Action.SUPERSEDE, fact.pk)
    assert (verdict.opinion.version, verdict.failure) == (fact.version, "")


def test_it_may_end_a_fact_and_it_may_leave_all_as_it_is():
    fact = known("User smokes a pack a day", "habit")
    assert consider(answering("DELETE 1"), QUIT, None, [fact], "").opinion.action is Action.END
    verdict = consider(answering("ADD"), QUIT, None, [fact], "")
    assert (verdict.opinion, verdict.failure) == (None, "")


def test_the_question_shows_the_nearest_facts_the_words_and_the_note():
    provider = answering("ADD")
    facts = [known("User likes tea", "likes"), known("User smokes a pack a day", "habit")]
    consider(provider, QUIT, None, facts, "")
    assert provider.calls[0].turns[-1].content == (
        "1. User smokes a pack a day\nsaid: I quit smoking in January\nnew: User quit smoking in January"
    )


@pytest.mark.parametrize(
    "answer",
    ["", "I think it is an update.", "```\nUPDATE 1\n```", "UPDATE 9", "<think>UPDATE 1", '{"a": 1}'],
)
def test_an_unusable_answer_is_asked_for_once_more(answer):
    fact = known("User smokes a pack a day", "habit")
    provider = answering(answer, "UPDATE 1")
    assert consider(provider, QUIT, None, [fact], "").opinion.action is Action.SUPERSEDE
    assert len(provider.calls) == 2


@pytest.mark.parametrize("answer", ["", "UPDATE 0", "Sure! UPDATE 1", "NOOP 1", "DELETE"])
def test_after_two_unusable_answers_the_failure_is_said_and_nothing_is_replaced(answer):
    fact = known("User smokes a pack a day", "habit")
    provider = answering(answer, answer)
    verdict = consider(provider, QUIT, None, [fact], "")
    assert (verdict.opinion, verdict.failure) == (None, UNDECIDED)
    assert len(provider.calls) == 2


@pytest.mark.parametrize(
    ("candidate", "facts"),
    [
        (said("User loves techno", "I love techno too."), [known("User loves techno nights")]),
        (said("User lives in Oslo", "I live in Oslo"), [known("User lives in Rome")]),
        (said("User likes chess", "I like chess"), [known("User plays the cello"), known("User has a dog")]),
        (
            said("User is allergic to shellfish", "I'm allergic to shellfish"),
            [known("User is allergic to nuts")],
        ),
    ],
    ids=["said as well", "a rule decides", "nothing is near", "words forbid every change"],
)
def test_where_there_is_nothing_to_choose_the_model_is_not_asked(candidate, facts):
    provider = answering()
    assert consider(provider, candidate, None, facts, "").opinion is None
    assert not provider.calls


def test_what_words_forbid_is_not_offered():
    provider = answering("ADD")
    facts = [known("User has two kids", "family"), known("User's kids play hockey", "family")]
    new = said("User's kids play hockey and chess", "My kids play hockey and chess")
    consider(provider, new, None, facts, "")
    assert provider.calls[0].grammar == 'root ::= "ADD" | "UPDATE 1"'


def test_a_sentence_that_only_ends_something_may_end_the_fact_it_names():
    fact = known("User is building a bookshop website", "building")
    provider = answering("DELETE 1")
    sentence = "I dropped the bookshop website, it's over."
    verdict = consider_ending(provider, sentence, [known("User likes tea"), fact], [])
    assert (verdict.opinion.action, verdict.opinion.target) == (Action.END, fact.pk)
    assert provider.calls[0].grammar == 'root ::= "ADD" | "DELETE 1"'


def test_an_ending_spares_tastes_and_what_the_message_still_says():
    provider = answering()
    tea, job = known("User likes tea", "likes"), known("User works as a nurse", "job")
    still = said("User works as a nurse", "I left the ward, I work as a nurse at school", "job")
    sentence = "I finished the tea and left the nurse ward"
    assert consider_ending(provider, sentence, [tea, job], [still]).opinion is None
    assert not provider.calls


def test_a_stopped_question_is_no_answer():
    stop = StopFlag()
    stop.set()
    with pytest.raises(Unfinished):
        consider(answering(), QUIT, None, [known("User smokes a pack a day", "habit")], "", stop)
