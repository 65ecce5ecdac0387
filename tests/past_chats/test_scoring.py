"""The sentences of past conversations are scored by words, meaning and what stands beside them."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from chat.past_chats.reranker import Weights, score_again
from chat.past_chats.scoring import WEIGHTS, Evidence, build_inputs, score_sentences

SHARES = st.floats(0, 1)
PLAIN = Evidence("a", 3, 80, True, False, False, 0.2, 0.3)
EVIDENCE = st.builds(
    Evidence,
    conversation=st.sampled_from("abc"),
    seq=st.integers(1, 9),
    length=st.integers(12, 200),
    is_user=st.booleans(),
    is_question=st.booleans(),
    has_digit=st.booleans(),
    coverage=SHARES,
    cosine=st.floats(-1, 1),
)


def score(*sentences):
    return score_sentences(build_inputs(sentences)).tolist()


@given(st.lists(EVIDENCE, min_size=1, max_size=12))
def test_each_sentence_gets_a_finite_score(sentences):
    scores = score(*sentences)
    assert len(scores) == len(sentences)
    assert np.isfinite(scores).all()


@given(st.lists(EVIDENCE, min_size=1, max_size=12))
def test_the_order_of_the_sentences_changes_no_score(sentences):
    np.testing.assert_allclose(score(*sentences), score(*reversed(sentences))[::-1], rtol=1e-4, atol=1e-4)


@given(EVIDENCE, st.floats(0.01, 1))
def test_more_of_the_words_never_score_less(evidence, more):
    poor, rich = score(evidence, replace(evidence, coverage=evidence.coverage + more))
    assert rich >= poor


def test_what_the_user_said_comes_before_the_same_words_of_a_reply():
    user, reply = score(PLAIN, replace(PLAIN, conversation="b", is_user=False))
    assert user > reply


def test_a_question_comes_after_a_statement_with_the_same_words():
    statement, question = score(PLAIN, replace(PLAIN, conversation="b", is_question=True))
    assert statement > question


def test_a_reply_that_repeats_past_chats_comes_after_the_same_words_of_another():
    reply = replace(PLAIN, is_user=False)
    first_hand, second_hand = score(reply, replace(reply, conversation="b", is_second_hand=True))
    assert first_hand > second_hand


def test_what_follows_a_near_message_comes_before_the_same_elsewhere():
    near = replace(PLAIN, cosine=0.9)
    answer = replace(PLAIN, seq=4, coverage=0.0, cosine=0.0)
    _, follows, elsewhere = score(near, answer, replace(answer, conversation="b"))
    assert follows > elsewhere


VECTORS = arrays(np.float32, (3, 4), elements=st.floats(-1, 1, width=32))


@given(VECTORS)
def test_without_bilinear_weights_the_question_counts_by_its_cosine_only(vectors):
    weights = Weights(
        np.eye(1, len(WEIGHTS) + 1, len(WEIGHTS), dtype=np.float32)[0],
        np.zeros(4, np.float32),
        np.eye(4, 2, dtype=np.float32),
        np.zeros(2, np.float32),
        np.zeros((2, 2), np.float32),
    )
    scores = score_again(np.ones((3, len(WEIGHTS)), np.float32), vectors, vectors[0], weights)
    np.testing.assert_allclose(scores, vectors @ vectors[0], atol=1e-5)


def test_the_bilinear_weights_find_what_answers_the_kind_of_question():
    one, other = np.eye(2, dtype=np.float32)
    weights = Weights(
        np.zeros(len(WEIGHTS) + 1, np.float32),
        np.zeros(2, np.float32),
        np.eye(2, dtype=np.float32),
        np.zeros(2, np.float32),
        np.array([[0, 1], [1, 0]], np.float32),
    )
    inputs = np.zeros((2, len(WEIGHTS)), np.float32)
    same, answering = score_again(inputs, np.stack([one, other]), one, weights)
    assert answering > same
