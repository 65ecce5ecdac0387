"""The confidence of a fact: initial values and boosts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.memory.confidence import get_initial_confidence, raise_confidence


@pytest.mark.parametrize(
    ("origin", "start", "after"),
    [("extracted", 0.75, 0.9), ("told", 0.75, 0.9), ("manual", 0.6, 0.85), ("highlight", 0.6, 0.85)],
)
def test_initial_confidence_and_boost_depend_on_the_origin(origin: str, start: float, after: float) -> None:
    assert get_initial_confidence(origin) == start
    assert raise_confidence(start, origin) == after


@given(st.floats(0, 1), st.sampled_from(["extracted", "told", "manual", "highlight"]), st.integers(1, 20))
def test_a_repetition_never_lowers_confidence_nor_raises_it_above_one(
    confidence: float, origin: str, times: int
) -> None:
    for _ in range(times):
        after = raise_confidence(confidence, origin)
        assert min(confidence, 1.0) <= after + 1e-6
        assert after <= 1.0
        confidence = after
