"""How sure memory is: the seed's numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.memory.confidence import baseline, reinforced


@pytest.mark.parametrize(
    ("origin", "start", "after"),
    [("extracted", 0.75, 0.9), ("told", 0.75, 0.9), ("manual", 0.6, 0.85), ("highlight", 0.6, 0.85)],
)
def test_facts_start_and_grow_by_their_origin(origin: str, start: float, after: float) -> None:
    assert baseline(origin) == start
    assert reinforced(start, origin) == after


@given(st.floats(0, 1), st.sampled_from(["extracted", "told", "manual", "highlight"]), st.integers(1, 20))
def test_repeating_never_lowers_confidence_nor_lifts_it_above_one(
    confidence: float, origin: str, times: int
) -> None:
    for _ in range(times):
        after = reinforced(confidence, origin)
        assert min(confidence, 1.0) <= after + 1e-6
        assert after <= 1.0
        confidence = after
