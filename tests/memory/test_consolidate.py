"""What a candidate does to the stored facts."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from chat.memory.candidates import FactCandidate
from chat.memory.consolidate import Action, Opinion, decide_action
from chat.memory.kind_rules import guess_kind
from chat.memory.kinds import KINDS
from chat.memory.subjects import extract_subject
from chat.models import Fact

EMBEDDER = "minilm-l6-int8"


def unit(*values: float) -> NDArray[np.float32]:
    vector = np.array(values, dtype=np.float32)
    return vector / np.float32(np.linalg.norm(vector))


def make_candidate(text: str, kind: str = "") -> FactCandidate:
    kind = kind or guess_kind(text)
    return FactCandidate(text, kind, KINDS[kind].category, extract_subject(kind, text), False, text)


def make_fact(text: str, kind: str = "", vector: NDArray[np.float32] | None = None) -> Fact:
    kind = kind or guess_kind(text)
    return Fact(
        text=text,
        kind=kind,
        category=KINDS[kind].category,
        subject=extract_subject(kind, text),
        embedding=vector.tobytes() if vector is not None else None,
        embedder=EMBEDDER if vector is not None else "",
        confidence=0.75,
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("User lives in Copenhagen", "User lives in London"),
        ("User works at Spotify", "User works at Klarna"),
        ("User's visa form is due on 12 April", "User's visa form is due on 20 April"),
        ("User is engaged to Mirela", "User is married to Mirela"),
        ("User is 33 years old", "User is 34 years old"),
        ("The Phoenix launch is on November 1", "User's Phoenix launch slipped to December 10"),
        ("User is vegetarian", "User is vegan"),
        ("User dislikes olives", "User likes olives"),
        ("User wants metric units", "User wants imperial units"),
        ("User swims in winter", "User never swims in winter"),
        ("User wants answers with emojis", "User wants no emojis"),
        ("User likes durian", "User can't stand durian"),
        ("L'utilisateur n'aime pas les huîtres", "L'utilisateur aime bien les huîtres"),
    ],
)
def test_a_new_value_of_a_single_valued_kind_supersedes_the_old(old: str, new: str) -> None:
    fact = make_fact(old)
    decision = decide_action(make_candidate(new), None, [make_fact("User plays the drums"), fact], EMBEDDER)
    assert (decision.action, decision.target) == (Action.SUPERSEDE, fact)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("User is vegetarian", "User is vegetarian."),
        ("User lives in Oslo", "User is based in Oslo"),
        ("User likes jazz", "User loves jazz"),
        ("User prefers short answers", "User wants answers short"),
        ("User works as a nurse", "User is a nurse"),
        ("User's visa form is due on 12 April", "User's visa form must be handed in by 12 April"),
        ("User plays hockey on Wednesdays", "User plays hockey every Wednesday"),
        ("User can't stand horror films", "User doesn't like horror films"),
        ("User is 63 years old", "User turned 63"),
    ],
)
def test_the_same_thing_in_other_words_reinforces(old: str, new: str) -> None:
    fact = make_fact(old)
    decision = decide_action(make_candidate(new), None, [fact], EMBEDDER)
    assert (decision.action, decision.target) == (Action.REINFORCE, fact)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("User likes jazz", "User likes techno"),
        ("User has a dog called Rex", "User has a cat called Misty"),
        ("User is building an app called Fork", "User is building a plugin called Spoon"),
        ("User lives in Oslo", "User is learning to weld"),
        ("User's thesis is due on 3 May", "User's report is due on 9 June"),
        ("User is allergic to peanuts", "User is allergic to shellfish"),
    ],
)
def test_another_thing_is_added(old: str, new: str) -> None:
    decision = decide_action(make_candidate(new), None, [make_fact(old)], EMBEDDER)
    assert (decision.action, decision.target) == (Action.ADD, None)


def test_near_vectors_reinforce_when_numbers_names_and_negation_are_equal() -> None:
    fact = make_fact("User enjoys long walks", "likes", unit(1, 0.1))
    decision = decide_action(make_candidate("User is fond of hiking", "likes"), unit(1, 0), [fact], EMBEDDER)
    assert decision.target is fact


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("User swims in Lake Como", "User swims in Lake Garda"),
        ("User swims 3 lengths", "User swims 4 lengths"),
    ],
)
def test_near_vectors_do_not_reinforce_facts_that_differ_in_a_name_or_number(old: str, new: str) -> None:
    fact = make_fact(old, "habit", unit(1, 0))
    assert decide_action(make_candidate(new, "habit"), unit(1, 0), [fact], EMBEDDER).action is Action.ADD


def test_a_vector_of_another_embedder_is_not_compared() -> None:
    fact = make_fact("User enjoys long walks", "likes", unit(1, 0))
    fact.embedder = "another"
    assert (
        decide_action(make_candidate("User is fond of hiking", "likes"), unit(1, 0), [fact], EMBEDDER).action
        is Action.ADD
    )


def test_far_vectors_add() -> None:
    fact = make_fact("User enjoys long walks", "likes", unit(1, 0))
    assert (
        decide_action(make_candidate("User is fond of hiking", "likes"), unit(0, 1), [fact], EMBEDDER).action
        is Action.ADD
    )


def test_nothing_known_means_add() -> None:
    assert decide_action(make_candidate("User lives in Oslo"), None, [], EMBEDDER).action is Action.ADD


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("User is learning Dutch", "User no longer learns Dutch"),
        ("User is building a kayak", "User dropped the kayak"),
        ("Nutzer lernt Gitarre", "Nutzer lernt nicht mehr Gitarre"),
        ("User has a parrot called Kiwi", "User's parrot Kiwi died"),
    ],
)
def test_a_sentence_that_only_ends_a_fact_ends_it(old: str, new: str) -> None:
    fact = make_fact(old)
    decision = decide_action(make_candidate(new), None, [make_fact("User plays the drums"), fact], EMBEDDER)
    assert (decision.action, decision.target) == (Action.END, fact)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("User likes restaurants", "User can't stand loud restaurants"),
        ("User smokes", "User quit smoking in January"),
        ("User eats no meat", "User eats no fish"),
    ],
)
def test_rules_neither_end_nor_replace_a_fact_when_the_new_sentence_says_more_or_else(old, new):
    assert (
        decide_action(make_candidate(new, "habit"), None, [make_fact(old, "habit")], EMBEDDER).action
        is Action.ADD
    )


def test_another_number_supersedes_only_if_the_message_states_a_change() -> None:
    fact = make_fact("User runs 5 km every morning", "habit")
    new = make_candidate("User runs 10 km every morning", "habit")
    assert decide_action(new, None, [fact], EMBEDDER).action is Action.ADD
    changed = replace(new, quote="I run 10 km every morning now")
    assert decide_action(changed, None, [fact], EMBEDDER).action is Action.SUPERSEDE


def test_another_number_supersedes_whatever_kind_the_model_proposed() -> None:
    fact = make_fact("User has 12 sheep", "pet")
    grown = replace(make_candidate("User has 19 sheep", "family"), quote="I have 19 sheep now")
    assert decide_action(grown, None, [fact], EMBEDDER).action is Action.SUPERSEDE


def test_the_opinion_of_the_model_applies_where_no_rule_does() -> None:
    fact = make_fact("User works as a barber", "job")
    opinion = Opinion(Action.SUPERSEDE, fact.pk, fact.version, "replaced")
    decision = decide_action(make_candidate("User is a florist", "job"), None, [fact], EMBEDDER, opinion)
    assert (decision.action, decision.target) == (Action.SUPERSEDE, fact)


def test_an_opinion_about_a_changed_or_deleted_fact_does_not_apply() -> None:
    fact = make_fact("User works as a barber", "job")
    opinion = Opinion(Action.SUPERSEDE, fact.pk, fact.version, "replaced")
    fact.version += 1
    new = make_candidate("User is a florist", "job")
    assert decide_action(new, None, [fact], EMBEDDER, opinion).action is Action.ADD
    assert decide_action(new, None, [], EMBEDDER, opinion).action is Action.ADD


def test_a_rule_overrides_an_opinion() -> None:
    fact = make_fact("User is a barber", "job")
    opinion = Opinion(Action.SUPERSEDE, fact.pk, fact.version, "replaced")
    assert (
        decide_action(make_candidate("User is a barber", "job"), None, [fact], EMBEDDER, opinion).action
        is Action.REINFORCE
    )
