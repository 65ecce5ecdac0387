"""The quotations of a prompt fit their room, differ, and are written with their days."""

from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from chat.past_chats.quotations import QuotedSentence, choose_quotations, render_quotations
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


def test_one_sentence_of_each_exchange_comes_before_a_second_of_the_best():
    ranked = [quoted("A1", 1, 1), quoted("A2", 1, 1), quoted("A3", 1, 2, is_user=False), quoted("B", 2, 1)]
    both = len(render_quotations([ranked[0], ranked[3]], date.isoformat))
    assert {one.text for one in choose(ranked, both)} == {"A1", "B"}


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
