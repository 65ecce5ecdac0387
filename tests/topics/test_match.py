"""A message stays in the active topic unless it is clearly of another one."""

from __future__ import annotations

import numpy as np
import pytest

from chat.llm import weights
from chat.llm.embedder import Embedder
from chat.topics.match import REMEMBERED, Candidate, choose, cosine, is_short, moved, words
from tests.weights_here import needed

MINILM = "minilm-l6-int8"
QUESTION = "How do I keep the crust of a loaf crisp overnight?"


def at(*degrees: float):
    """Return vectors in a plane, by their angles."""
    return [np.array([np.cos(np.radians(d)), np.sin(np.radians(d))], dtype=np.float32) for d in degrees]


def chosen(own, others, *, active=None, embedder=MINILM, text=QUESTION):
    [vector] = at(own)
    topics = [Candidate(i, v, frozenset()) for i, v in enumerate(at(*others))]
    return choose(text, vector, embedder, topics, active)


def test_the_first_message_opens_a_topic():
    assert choose(QUESTION, None, "", [], None) is None


def test_a_message_joins_the_nearest_topic_that_is_like_it():
    assert chosen(0, [60, 10, 30]) == 1


def test_a_message_like_none_opens_a_topic():
    assert chosen(0, [89, 90], active=0) is None


def test_a_follow_up_stays_though_it_would_not_join():
    assert chosen(0, [80], active=None) is None
    assert chosen(0, [80], active=0) == 0


@pytest.mark.parametrize(
    "text",
    [
        "What is a good name for it?",
        "Wie lange brauche ich dafür?",
        "Where do people buy these?",
        "它多少钱一个？",
    ],
)
def test_a_short_question_that_points_back_stays(text):
    assert chosen(0, [89, 90], active=0, text=text) == 0


def test_a_long_message_that_says_it_all_does_not_point_back():
    text = "It is time to do my taxes for last year and I do not know where to begin with them."
    assert chosen(0, [89, 90], active=0, text=text) is None


def test_another_topic_must_be_clearly_nearer_than_the_active_one():
    assert chosen(0, [73, 70], active=0) == 0
    assert chosen(0, [78, 70], active=0) == 1


def test_an_embedder_that_nobody_measured_keeps_the_seeds_threshold():
    assert chosen(0, [44], active=None, embedder="another") == 0
    assert chosen(0, [46], active=0, embedder="another") is None


@pytest.mark.parametrize(
    "text", ["ok thanks", "And the second one?", "Why?", "👍", "", "谢谢", "danke dir", "go on"]
)
def test_a_courtesy_stays_where_it_is(text):
    assert is_short(text)
    assert chosen(0, [90, 0], active=0, text=text) == 0


def test_a_sentence_is_no_courtesy_in_any_script():
    assert not is_short(QUESTION)
    assert not is_short("番茄的叶子变黄了应该怎么办呢")
    assert not is_short("Как сохранить корочку хлеба хрустящей до утра?")


def test_after_a_greeting_the_topic_is_what_comes_next():
    greeted = [Candidate(0, None, frozenset())]
    assert choose(QUESTION, at(0)[0], MINILM, greeted, 0) == 0


def test_without_vectors_shared_words_decide():
    bread = words("My sourdough bread is flat. The dough should rest in the fridge overnight, then the oven.")
    boats = words("The engine of my sailing boat does not start. Check the fuel filter and the battery.")
    topics = [Candidate("bread", None, bread), Candidate("boats", None, boats)]
    back = "Can the dough stay in the fridge for two nights before the oven?"
    new = "Which expenses can freelancers deduct when they file their first return?"
    assert choose(back, None, "", topics, "boats") == "bread"
    assert choose(new, None, "", topics, "boats") is None
    assert choose("What should happen before that?", None, "", topics, "boats") == "boats"


def test_words_meet_across_endings_and_in_chinese():
    assert words("Tomaten gießen") & words("die Tomate")
    assert words("番茄的叶子变黄了") & words("番茄怎么种")
    assert not words("the a of it is")


def test_a_topics_vector_is_the_mean_of_its_last_messages():
    [east, north] = at(0, 90)
    assert moved(None, east, 0) is east
    assert moved(east, north, 1) == pytest.approx([0.5, 0.5], abs=1e-6)
    vector = east
    for seen in range(1, 200):
        vector = moved(vector, north, seen)
    assert cosine(vector, north) > 0.99
    assert moved(east, north, 10_000)[1] == pytest.approx(1 / REMEMBERED)


@pytest.mark.model
def test_real_vectors_tell_a_new_subject_from_the_old_one():
    entry = needed(MINILM)
    embedder = Embedder(*(weights.path_of(entry, file) for file in entry.files))
    bread = [
        "My sourdough bread comes out flat and dense. What am I doing wrong?",
        "How do I know that the starter is active enough?",
        "Should the dough rest in the fridge overnight?",
    ]
    again = "What temperature should the oven have for the crust of the bread?"
    other = "My Kubernetes pod keeps restarting with CrashLoopBackOff. How do I find out why?"
    vectors = embedder.embed([*bread, again, other])
    topic = vectors[0]
    for seen in (1, 2):
        topic = moved(topic, vectors[seen], seen)
    topics = [Candidate("bread", topic, frozenset())]
    assert choose(again, vectors[3], MINILM, topics, "bread") == "bread"
    assert choose(other, vectors[4], MINILM, topics, "bread") is None
    both = [*topics, Candidate("pods", vectors[4], frozenset())]
    assert choose(again, vectors[3], MINILM, both, "pods") == "bread"
