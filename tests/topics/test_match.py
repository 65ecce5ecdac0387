"""A message stays in the active topic unless it clearly belongs to another one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from chat.topics.match import (
    MEAN_WINDOW,
    TopicCandidate,
    choose_topic,
    compute_cosine,
    extract_match_terms,
    is_too_short,
    update_topic_vector,
)
from tests.small_model import load_real_embedder

MINILM = "minilm-l6-int8"
QUESTION = "How do I keep the crust of a loaf crisp overnight?"


def make_vectors(*degrees: float):
    """Return vectors of a plane by their angles in degrees."""
    return [np.array([np.cos(np.radians(d)), np.sin(np.radians(d))], dtype=np.float32) for d in degrees]


def choose_with(own, others, *, active=None, embedder=MINILM, text=QUESTION):
    [vector] = make_vectors(own)
    topics = [TopicCandidate(i, v, frozenset()) for i, v in enumerate(make_vectors(*others))]
    return choose_topic(text, vector, embedder, topics, active)


def test_the_first_message_opens_a_topic():
    assert choose_topic(QUESTION, None, "", [], None) is None


def test_a_message_joins_the_nearest_topic_above_the_threshold():
    assert choose_with(0, [60, 10, 30]) == 1


def test_a_message_similar_to_no_topic_opens_one():
    assert choose_with(0, [89, 90], active=0) is None


def test_a_follow_up_stays_at_a_similarity_that_is_too_low_to_join():
    assert choose_with(0, [80], active=None) is None
    assert choose_with(0, [80], active=0) == 0


@pytest.mark.parametrize(
    "text",
    [
        "What is a good name for it?",
        "Wie lange brauche ich dafür?",
        "Where do people buy these?",
        "它多少钱一个？",
    ],
)
def test_a_short_question_with_a_pronoun_stays(text):
    assert choose_with(0, [89, 90], active=0, text=text) == 0


def test_a_long_message_does_not_refer_back():
    text = "It is time to do my taxes for last year and I do not know where to begin with them."
    assert choose_with(0, [89, 90], active=0, text=text) is None


def test_another_topic_must_be_clearly_nearer_than_the_active_one():
    assert choose_with(0, [73, 70], active=0) == 0
    assert choose_with(0, [78, 70], active=0) == 1


def test_an_embedder_without_measurements_has_the_default_threshold():
    assert choose_with(0, [44], active=None, embedder="another") == 0
    assert choose_with(0, [46], active=0, embedder="another") is None


@pytest.mark.parametrize(
    "text", ["ok thanks", "And the second one?", "Why?", "👍", "", "谢谢", "danke dir", "go on"]
)
def test_a_courtesy_stays_in_the_active_topic(text):
    assert is_too_short(text)
    assert choose_with(0, [90, 0], active=0, text=text) == 0


def test_a_sentence_is_no_courtesy_in_any_script():
    assert not is_too_short(QUESTION)
    assert not is_too_short("番茄的叶子变黄了应该怎么办呢")
    assert not is_too_short("Как сохранить корочку хлеба хрустящей до утра?")


def test_after_a_greeting_the_topic_is_what_comes_next():
    greeted = [TopicCandidate(0, None, frozenset())]
    assert choose_topic(QUESTION, make_vectors(0)[0], MINILM, greeted, 0) == 0


def test_without_vectors_shared_words_decide():
    bread = extract_match_terms(
        "My sourdough bread is flat. The dough should rest in the fridge overnight, then the oven."
    )
    boats = extract_match_terms(
        "The engine of my sailing boat does not start. Check the fuel filter and the battery."
    )
    topics = [TopicCandidate("bread", None, bread), TopicCandidate("boats", None, boats)]
    back = "Can the dough stay in the fridge for two nights before the oven?"
    new = "Which expenses can freelancers deduct when they file their first return?"
    assert choose_topic(back, None, "", topics, "boats") == "bread"
    assert choose_topic(new, None, "", topics, "boats") is None
    assert choose_topic("What should happen before that?", None, "", topics, "boats") == "boats"


def test_match_terms_ignore_endings_and_cover_chinese():
    assert extract_match_terms("Tomaten gießen") & extract_match_terms("die Tomate")
    assert extract_match_terms("番茄的叶子变黄了") & extract_match_terms("番茄怎么种")
    assert not extract_match_terms("the a of it is")


COMPONENTS = st.floats(-100, 100, width=32).filter(lambda x: not x or abs(x) > 0.01)


@given(arrays(np.float32, 5, elements=COMPONENTS), arrays(np.float32, 5, elements=COMPONENTS))
def test_the_cosine_is_the_product_of_the_normalised_vectors(a, b):
    lengths = np.linalg.norm(a.astype(np.float64)) * np.linalg.norm(b.astype(np.float64))
    expected = a.astype(np.float64) @ b.astype(np.float64) / lengths if lengths else 0.0
    assert compute_cosine(a, b) == pytest.approx(expected, abs=1e-5)
    assert compute_cosine(a, b[:4]) == 0.0


def test_a_topics_vector_is_the_mean_of_its_last_messages():
    [east, north] = make_vectors(0, 90)
    assert update_topic_vector(None, east, 0) is east
    assert update_topic_vector(east, north, 1) == pytest.approx([0.5, 0.5], abs=1e-6)
    vector = east
    for seen in range(1, 200):
        vector = update_topic_vector(vector, north, seen)
    assert compute_cosine(vector, north) > 0.99
    assert update_topic_vector(east, north, 10_000)[1] == pytest.approx(1 / MEAN_WINDOW)


@pytest.mark.model
def test_real_vectors_distinguish_a_new_subject_from_the_old_one():
    embedder = load_real_embedder()
    bread = [
        "My sourdough bread comes out flat and dense. What am I doing wrong?",
        "How do I know that the starter is active enough?",
        "Should the dough rest in the fridge overnight?",
    ]
    again = "What temperature should the oven have for the crust of the bread?"
    other = "Which expenses can I deduct in my first tax return as a freelancer?"
    vectors = embedder.embed([*bread, again, other])
    topic = vectors[0]
    for seen in (1, 2):
        topic = update_topic_vector(topic, vectors[seen], seen)
    topics = [TopicCandidate("bread", topic, frozenset())]
    assert choose_topic(again, vectors[3], embedder.name, topics, "bread") == "bread"
    assert choose_topic(other, vectors[4], embedder.name, topics, "bread") is None
    both = [*topics, TopicCandidate("taxes", vectors[4], frozenset())]
    assert choose_topic(again, vectors[3], embedder.name, both, "taxes") == "bread"
