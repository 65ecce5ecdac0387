"""What a new fact does to those already known."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from chat.memory.consolidate import Action, Opinion, decide
from chat.memory.extract import Candidate
from chat.memory.kind_rules import guess_kind
from chat.memory.kinds import KINDS
from chat.memory.subjects import subject_of
from chat.models import Fact

EMBEDDER = "minilm-l6-int8"


def unit(*values: float) -> NDArray[np.float32]:
    vector = np.array(values, dtype=np.float32)
    return vector / np.float32(np.linalg.norm(vector))


def said(text: str, kind: str = "") -> Candidate:
    kind = kind or guess_kind(text)
    return Candidate(text, kind, KINDS[kind].category, subject_of(kind, text), False, text)


def known(text: str, kind: str = "", vector: NDArray[np.float32] | None = None) -> Fact:
    kind = kind or guess_kind(text)
    return Fact(
        text=text,
        kind=kind,
        category=KINDS[kind].category,
        subject=subject_of(kind, text),
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
def test_another_value_replaces_the_one_that_was_held(old: str, new: str) -> None:
    fact = known(old)
    decision = decide(said(new), None, [known("User plays the drums"), fact], EMBEDDER)
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
    fact = known(old)
    decision = decide(said(new), None, [fact], EMBEDDER)
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
def test_another_thing_stands_beside(old: str, new: str) -> None:
    decision = decide(said(new), None, [known(old)], EMBEDDER)
    assert (decision.action, decision.target) == (Action.ADD, None)


def test_near_vectors_reinforce_when_numbers_names_and_negation_are_equal() -> None:
    fact = known("User enjoys long walks", "likes", unit(1, 0.1))
    decision = decide(said("User is fond of hiking", "likes"), unit(1, 0), [fact], EMBEDDER)
    assert decision.target is fact


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("User swims in Lake Como", "User swims in Lake Garda"),
        ("User swims 3 lengths", "User swims 4 lengths"),
    ],
)
def test_near_vectors_never_reinforce_what_only_a_name_or_a_number_sets_apart(old: str, new: str) -> None:
    fact = known(old, "habit", unit(1, 0))
    assert decide(said(new, "habit"), unit(1, 0), [fact], EMBEDDER).action is Action.ADD


def test_a_vector_of_another_embedder_is_not_compared() -> None:
    fact = known("User enjoys long walks", "likes", unit(1, 0))
    fact.embedder = "another"
    assert decide(said("User is fond of hiking", "likes"), unit(1, 0), [fact], EMBEDDER).action is Action.ADD


def test_far_vectors_add() -> None:
    fact = known("User enjoys long walks", "likes", unit(1, 0))
    assert decide(said("User is fond of hiking", "likes"), unit(0, 1), [fact], EMBEDDER).action is Action.ADD


def test_nothing_known_means_add() -> None:
    assert decide(said("User lives in Oslo"), None, [], EMBEDDER).action is Action.ADD


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
    fact = known(old)
    decision = decide(said(new), None, [known("User plays the drums"), fact], EMBEDDER)
    assert (decision.action, decision.target) == (Action.END, fact)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("User likes restaurants", "User can't stand loud restaurants"),
        ("User smokes", "User quit smoking in January"),
        ("User eats no meat", "User eats no fish"),
    ],
)
def test_words_alone_neither_end_nor_replace_what_the_new_sentence_says_more_or_other_things_of(old, new):
    assert decide(said(new, "habit"), None, [known(old, "habit")], EMBEDDER).action is Action.ADD


def test_another_number_replaces_only_where_the_user_says_that_something_changed() -> None:
    fact = known("User runs 5 km every morning", "habit")
    new = said("User runs 10 km every morning", "habit")
    assert decide(new, None, [fact], EMBEDDER).action is Action.ADD
    changed = replace(new, quote="I run 10 km every morning now")
    assert decide(changed, None, [fact], EMBEDDER).action is Action.SUPERSEDE


def test_a_number_is_another_one_whatever_kind_the_model_took_it_for() -> None:
    fact = known("User has 12 sheep", "pet")
    grown = replace(said("User has 19 sheep", "family"), quote="I have 19 sheep now")
    assert decide(grown, None, [fact], EMBEDDER).action is Action.SUPERSEDE


def test_the_models_opinion_counts_where_no_rule_decides() -> None:
    fact = known("User works as a barber", "job")
    opinion = Opinion(Action.SUPERSEDE, fact.pk, fact.version, "replaced")
    decision = decide(said("User is a florist", "job"), None, [fact], EMBEDDER, opinion)
    assert (decision.action, decision.target) == (Action.SUPERSEDE, fact)


def test_an_opinion_about_a_fact_that_has_changed_or_gone_meanwhile_does_not_count() -> None:
    fact = known("User works as a barber", "job")
    opinion = Opinion(Action.SUPERSEDE, fact.pk, fact.version, "replaced")
    fact.version += 1
    new = said("User is a florist", "job")
    assert decide(new, None, [fact], EMBEDDER, opinion).action is Action.ADD
    assert decide(new, None, [], EMBEDDER, opinion).action is Action.ADD


def test_an_opinion_does_not_outvote_a_rule() -> None:
    fact = known("User is a barber", "job")
    opinion = Opinion(Action.SUPERSEDE, fact.pk, fact.version, "replaced")
    assert decide(said("User is a barber", "job"), None, [fact], EMBEDDER, opinion).action is Action.REINFORCE
