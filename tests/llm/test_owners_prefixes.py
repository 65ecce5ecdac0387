"""The model's caches never use what one owner wrote for the prompt of another owner."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.llm.state_cache import StateCache, WantedPrefix, common_prefix
from chat.llm.types import GenerationOptions, Turn
from tests.small_model import load_small_model

PERSONA = "You are a careful assistant. " + "You like long and thorough instructions. " * 8
FIXED = [Turn("system", PERSONA), Turn("user", "")]
SECRET = [Turn("system", PERSONA), Turn("user", "My therapist is called Rosalind Achterberg. " * 6)]
tokens = st.lists(st.integers(0, 2), max_size=30)


@given(tokens, tokens, tokens)
def test_of_another_owners_prefix_only_the_public_beginning_is_usable(held, asked, fixed):
    public = common_prefix(fixed, asked)
    wanted = WantedPrefix(asked, owner="b", public=public)
    assert wanted.count_usable(held, "b") == common_prefix(held, asked)
    assert wanted.count_usable(held, "a") == min(common_prefix(held, asked), public)


@pytest.fixture(scope="module")
def shared():
    """A model in this process that several owners use."""
    with load_small_model(1024, state_cache=StateCache(64 * 1024**2)) as provider:
        provider.prefill_fixed(FIXED, slot="persona")
        provider.prefill_fixed(FIXED, slot="notes", background=True)
        yield provider


def ask(llama, owner: str, slot: str, turns=SECRET) -> int:
    """Send the prompt as this owner, and return how many of its tokens came from the cache."""
    stream = llama.stream(turns, GenerationOptions.for_reply(slot, max_tokens=2, owner=owner))
    assert list(stream)
    return stream.usage.cached_tokens


def count_public(llama) -> int:
    template = llama._loaded()[1]
    return common_prefix(template.tokens(FIXED), template.tokens(SECRET))


@pytest.mark.model
def test_a_guess_of_another_owners_words_reads_as_many_tokens_as_any_other_prompt(shared):
    public = count_public(shared)
    assert public > 40
    assert ask(shared, "gus", "chat of gus") == public
    # In the context.
    assert ask(shared, "bob", "chat of bob") == public
    # As a saved state.
    assert ask(shared, "bob", "visitor", [Turn("user", "Quite another matter.")]) < 8
    assert ask(shared, "carl", "chat of carl") == public
    shared.prefill(SECRET, slot="ahead", owner="gus")
    assert ask(shared, "dora", "chat of dora") == public


@pytest.mark.model
def test_an_owner_reuses_prefixes_of_their_own_conversations(shared):
    ask(shared, "ann", "first of ann")
    assert ask(shared, "ann", "second of ann") > count_public(shared) + 20


@pytest.mark.model
def test_a_background_prompt_reuses_what_the_last_owner_wrote_for_that_owner_only(shared):
    def note(owner: str) -> int:
        options = GenerationOptions(slot="notes", max_tokens=2, owner=owner)
        return shared.complete(SECRET, options).usage.cached_tokens

    public = count_public(shared)
    assert note("ann") == public
    assert note("ann") > public + 20
    assert note("bob") == public


@pytest.mark.model
def test_a_conversation_continues_unchanged_from_the_public_beginning_of_another_owner(shared):
    def read(slot: str, owner: str) -> np.ndarray:
        shared.prefill(SECRET, slot=slot, owner=owner)
        return shared.engine._caches[False].native.last_logits().copy()

    first, second = read("one", "eva"), read("two", "finn")
    assert first.argmax() == second.argmax()
    assert np.abs(first - second).mean() < 0.15 * first.std()
