"""Deleted text is removed from the model's caches: the context, saved states and background prompts."""

from __future__ import annotations

import pytest

from chat.llm.types import GenerationOptions, Lane, StopFlag, Turn
from tests.waiting import wait_until

pytestmark = pytest.mark.model


def conversation(secret: str) -> list[Turn]:
    return [Turn("system", f"{secret} is what the user likes best of all."), Turn("user", "Hello!")]


def cached(llama, slot: str, *, background: bool = False) -> list[int]:
    """Return the tokens of a name in the context or in a saved state."""
    cache = llama.engine._caches[background]
    found = cache.table.get(slot)
    if found is not None:
        return list(found.tokens)
    saved = cache.state_cache._in_memory.get(slot) if cache.state_cache is not None else None
    return list(saved.tokens) if saved else []


def read(llama, slot: str, secret: str) -> int:
    """Read a conversation and return how many of its tokens were cached."""
    stream = llama.stream(conversation(secret), GenerationOptions.for_reply(slot, max_tokens=2))
    assert "".join(stream)
    return stream.usage.cached_tokens


def test_the_prefixes_of_a_conversation_are_dropped_from_every_cache(llama):
    read(llama, "saved", "Astronomy")
    read(llama, "open", "Bookbinding")
    assert "saved" in llama.engine._state_cache
    assert cached(llama, "open")
    llama.forget(["saved", "open"], keep={})
    wait_until(lambda: not cached(llama, "open") and not cached(llama, "saved"))
    # Other slots share only the first words of the template.
    assert read(llama, "open", "Bookbinding") < 8
    assert read(llama, "saved", "Astronomy") < 8


def test_other_conversations_keep_their_prefixes(llama):
    read(llama, "other", "Cartography")
    read(llama, "gone", "Dressage")
    llama.forget(["gone"], keep={})
    wait_until(lambda: not cached(llama, "gone"))
    assert read(llama, "other", "Cartography") > 8


def test_a_background_prompt_is_cut_back_to_its_fixed_part(llama):
    fixed = [Turn("system", "Take notes of what the user says. Write one line a fact."), Turn("user", "")]
    llama.complete(
        [fixed[0], Turn("user", "I like Egyptology")], GenerationOptions(slot="notes", max_tokens=4)
    )
    llama.complete(conversation("Fencing"), GenerationOptions(slot="other notes", max_tokens=4))
    shared = llama._loaded()[1].tokens(fixed)
    assert len(cached(llama, "notes", background=True)) > len(shared)
    llama.forget([], keep={"notes": fixed})
    wait_until(lambda: not cached(llama, "other notes", background=True))
    left = cached(llama, "notes", background=True)
    assert left
    assert left == shared[: len(left)]


def test_the_cache_of_a_running_reply_is_dropped_when_it_ends(llama):
    stop = StopFlag()
    stream = llama.stream(
        conversation("Gliding"),
        GenerationOptions.for_reply("writing", lane=Lane.CHAT, max_tokens=200, stop=stop),
    )
    pieces = iter(stream)
    next(pieces)
    llama.forget(["writing"], keep={})
    assert next(pieces)
    stop.set()
    list(pieces)
    wait_until(lambda: not cached(llama, "writing"))


def test_a_preempted_request_continues_and_its_slot_is_dropped_after_it(llama):
    low = llama.stream(
        conversation("Heraldry"), GenerationOptions.for_reply("low", lane=Lane.BACKGROUND, max_tokens=40)
    )
    pieces = iter(low)
    first = next(pieces)
    high = llama.stream(
        conversation("Italics"), GenerationOptions.for_reply("high", lane=Lane.CHAT, max_tokens=2)
    )
    llama.forget(["low"], keep={})
    assert "".join(high)
    assert first + "".join(pieces)
    assert low.finish in ("stop", "length")
    wait_until(lambda: not cached(llama, "low"))
