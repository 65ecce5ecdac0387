"""The sentences of past conversations are scored by words, meaning and what stands beside them."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from chat.past_chats.scoring import Evidence, add_own_cosines, score_sentences

SHARES = st.floats(0, 1)
PLAIN = Evidence("a", 1, 80, True, False, 0.2, 1.0, 0.3)
EVIDENCE = st.builds(
    Evidence,
    conversation=st.sampled_from("abc"),
    seq=st.integers(1, 9),
    length=st.integers(12, 200),
    is_user=st.booleans(),
    is_question=st.booleans(),
    coverage=SHARES,
    message_words=st.floats(0, 30),
    cosine=st.floats(-1, 1),
)


@given(st.lists(EVIDENCE, max_size=12))
def test_each_sentence_gets_a_finite_score(sentences):
    scores = score_sentences(sentences)
    assert len(scores) == len(sentences)
    assert all(abs(score) < 10 for score in scores)


@given(EVIDENCE, st.floats(0.01, 1))
def test_more_of_the_words_never_score_less(evidence, more):
    richer = replace(evidence, coverage=evidence.coverage + more)
    poor, rich = score_sentences([evidence, richer])
    assert rich >= poor


def test_what_the_user_said_comes_before_the_same_words_of_a_reply():
    user, reply = score_sentences([PLAIN, replace(PLAIN, conversation="b", is_user=False)])
    assert user > reply


def test_a_question_comes_after_a_statement_with_the_same_words():
    statement, question = score_sentences([PLAIN, replace(PLAIN, conversation="b", is_question=True)])
    assert statement > question


def test_what_follows_a_matching_message_comes_before_the_same_elsewhere():
    matching = replace(PLAIN, coverage=1.0, message_words=9.0)
    answer = replace(PLAIN, seq=2, coverage=0.0, message_words=0.0)
    _, follows, elsewhere = score_sentences([matching, answer, replace(answer, conversation="b")])
    assert follows > elsewhere


@given(st.lists(st.tuples(SHARES, SHARES), min_size=1, max_size=9))
def test_the_sentence_with_the_best_own_cosine_gains_most(pairs):
    scores, cosines = [a for a, _ in pairs], [b for _, b in pairs]
    gains = [new - old for new, old in zip(add_own_cosines(scores, cosines), scores, strict=True)]
    best = max(range(len(pairs)), key=lambda n: cosines[n])
    assert gains[best] >= max(gains) - 1e-9
    assert min(gains) >= 0
