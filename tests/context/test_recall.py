"""What stands in the prompt for labelled messages, with and without an embedder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chat.llm import weights
from chat.llm.embedder import Embedder
from chat.llm.llama import LlamaProvider
from chat.llm.registry import registry
from tests.context import recall
from tests.weights_here import needed, small_model

pytestmark = pytest.mark.django_db

OWN = recall.cases("own_recall")
# Only vectors tell that these belong together, and one not even they.
MISSED_BY_WORDS = {"b_running_shoes", "b_read_next"}
MISSED = {"b_read_next"}
# Written apart and run for a number: 42 of 50 by words, 45 with vectors. Then six of the failures became own
# cases and two showed mistakes that were mended, so what is left guards and no longer measures.
SET_APART_AT_LEAST = 0.95


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    """The real embedder; skipped only where its files are missing."""
    entry = needed("minilm-l6-int8")
    return Embedder(*(weights.path_of(entry, file) for file in entry.files))


@pytest.fixture(scope="session")
def tokenizer() -> Iterator[LlamaProvider]:
    """A real tokenizer and template; skipped only where the file is missing."""
    with small_model(4096) as provider:
        yield provider


@pytest.mark.parametrize("case", OWN, ids=[c["id"] for c in OWN])
def test_what_is_needed_stands_in_the_prompt_and_nothing_else(owner, scripted, case):
    outcome = recall.run(owner, case, scripted, None)
    assert outcome.intruding == []
    assert bool(outcome.missing) is (case["id"] in MISSED_BY_WORDS)


@pytest.mark.model
def test_vectors_and_a_real_tokenizer_change_none_of_it(owner, tokenizer, embedder):
    registry.use(tokenizer, embedder=embedder)
    outcomes = [recall.run(owner, case, tokenizer, embedder) for case in OWN]
    assert {o.case for o in outcomes if not o.correct} == MISSED
    for outcome in outcomes:
        assert (
            tokenizer.count_text(outcome.prompt.block.text) + tokenizer.count_text(outcome.prompt.note) <= 500
        )


def test_cases_that_were_set_apart_still_come_out_right(owner, scripted):
    outcomes = [recall.run(owner, case, scripted, None) for case in recall.cases("held_out_recall")]
    assert sum(o.correct for o in outcomes) / len(outcomes) >= SET_APART_AT_LEAST
