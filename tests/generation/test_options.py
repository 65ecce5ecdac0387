"""A reply ends before the first of its stops, however the text comes in pieces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chat.generation.options import UntilStop

LETTERS = st.text("abc", max_size=12)


@given(st.lists(LETTERS, max_size=8), st.lists(st.text("abc", min_size=1, max_size=4), max_size=3))
def test_what_comes_is_the_text_before_the_first_stop(pieces, stops):
    whole = "".join(pieces)
    places = [whole.find(stop) for stop in stops if stop in whole]
    cut = UntilStop(pieces, tuple(stops))
    given_on = "".join(cut)
    assert given_on == (whole[: min(places)] if places else whole)
    assert cut.met == bool(places)


@given(st.lists(LETTERS, max_size=8))
def test_without_stops_each_piece_goes_on_at_once(pieces):
    assert list(UntilStop(pieces, ())) == [piece for piece in pieces if piece]


def test_only_what_may_begin_a_stop_is_held_back():
    pieces = iter(["one ", "two ST", "ILL"])
    cut = iter(UntilStop(pieces, ("STOP",)))
    assert next(cut) == "one "
    assert next(cut) == "two "
    assert next(cut) == "STILL"
