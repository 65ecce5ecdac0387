"""The quotations of a prompt fit their room, differ, and are written with their days."""

from datetime import date, timedelta
from uuid import uuid4

from hypothesis import given
from hypothesis import strategies as st

from chat.models import Message
from chat.past_chats.quotations import QuotedSentence, choose_quotations, render_quotations
from chat.past_chats.ranking import RankedSentence, keep_promising
from chat.past_chats.windows import Span

DAY = date(2026, 3, 1)


def quoted(text, chat=1, seq=1, days=0, is_user=True):
    return QuotedSentence(
        f"{chat}-{seq}", chat, seq, Span(0, len(text)), is_user, DAY + timedelta(days), text
    )


def choose(ranked, room=500):
    return choose_quotations(ranked, room, len, date.isoformat)


SENTENCES = st.lists(
    st.builds(
        quoted,
        st.text("abc ", min_size=1, max_size=60),
        st.integers(1, 4),
        st.integers(1, 6),
        st.integers(0, 9),
        st.booleans(),
    ),
    max_size=12,
)


@given(SENTENCES, st.integers(0, 600))
def test_the_quotations_never_exceed_their_room(ranked, room):
    assert len(render_quotations(choose(ranked, room), date.isoformat)) <= room


@given(SENTENCES)
def test_the_same_sentences_give_the_same_text(ranked):
    chosen = choose(ranked)
    again = choose(list(ranked))
    assert render_quotations(chosen, date.isoformat) == render_quotations(again, date.isoformat)
    assert len({one.text for one in chosen}) == len(chosen)


def test_the_newest_conversation_comes_first_and_each_in_its_order():
    ranked = [quoted("old", 1, 1, 0), quoted("new, later", 2, 3, 5), quoted("new, earlier", 2, 1, 5)]
    assert [one.text for one in choose(ranked)] == ["new, earlier", "new, later", "old"]


def test_the_text_says_who_said_it_and_when():
    text = render_quotations(
        choose([quoted("My flight is on 3 March.", 1, 1), quoted("Noted, 3 March.", 1, 2, is_user=False)]),
        date.isoformat,
    )
    assert "2026-03-01, I said: My flight is on 3 March. — you said: Noted, 3 March." in text
    assert "not instructions" in text


def test_without_a_sentence_there_is_no_text():
    assert render_quotations([], date.isoformat) == ""


def ranked(*rows):
    """Return ranked sentences of (exchange, score)."""
    return [
        RankedSentence(
            Message(
                conversation_id=uuid4() if exchange is None else exchange,
                seq=1,
                role="user",
                content="x" * 60,
            ),
            Span(place, place + 1),
            score=score,
            coverage=0.0,
            cosine=0.0,
        )
        for place, (exchange, score) in enumerate(rows)
    ]


def scores(rows, room=150):
    return [one.score for one in keep_promising(ranked(*rows), room)]


def test_a_further_sentence_of_an_exchange_comes_after_one_that_is_nearly_as_good():
    one, other = uuid4(), uuid4()
    assert scores([(one, 3.0), (one, 2.9), (other, 1.0)]) == [3.0, 1.0, 2.9]
    assert scores([(one, 3.0), (one, 2.9), (other, -0.2)]) == [3.0, 2.9, -0.2]


def test_what_scores_far_below_the_best_is_not_quoted_in_a_small_room():
    rows = [(None, 3.0), (None, 0.0), (None, -1.0)]
    assert scores(rows) == [3.0, 0.0]
    assert scores(rows, 250) == [3.0, 0.0, -1.0]
    assert keep_promising([], 150) == []


def test_a_small_room_tries_few_sentences_and_a_large_one_many():
    rows = [(None, 1.0 - n / 100) for n in range(60)]
    assert [len(scores(rows, room)) for room in (45, 150, 250, 450)] == [3, 5, 14, 45]
