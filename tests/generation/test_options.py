"""A reply ends before its first stop text, regardless of how the text is split into pieces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chat.generation.options import StopTextFilter

LETTERS = st.text("abc", max_size=12)


@given(st.lists(LETTERS, max_size=8), st.lists(st.text("abc", min_size=1, max_size=4), max_size=3))
def test_the_output_is_the_text_before_the_first_stop(pieces, stops):
    whole = "".join(pieces)
    places = [whole.find(stop) for stop in stops if stop in whole]
    cut = StopTextFilter(pieces, tuple(stops))
    output = "".join(cut)
    assert output == (whole[: min(places)] if places else whole)
    assert cut.stop_found == bool(places)


@given(st.lists(LETTERS, max_size=8))
def test_without_stops_each_piece_is_passed_on_unchanged(pieces):
    assert list(StopTextFilter(pieces, ())) == [piece for piece in pieces if piece]


def test_only_a_possible_start_of_a_stop_is_held_back():
    pieces = iter(["one ", "two ST", "ILL"])
    cut = iter(StopTextFilter(pieces, ("STOP",)))
    assert next(cut) == "one "
    assert next(cut) == "two "
    assert next(cut) == "STILL"
