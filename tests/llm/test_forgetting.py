"""What was forgotten leaves the model's caches: the context, the parked prefixes, the background prompts."""

from __future__ import annotations

import pytest

from chat.llm.types import Lane, StopFlag, Turn
from tests.waiting import until

pytestmark = pytest.mark.model


def conversation(secret: str) -> list[Turn]:
    return [Turn("system", f"{secret} is what the user likes best of all."), Turn("user", "Hello!")]


def cached(llama, slot: str, *, background: bool = False) -> list[int]:
    """Return the tokens that lie in the context or are parked under a name."""
    cache = llama.engine._caches[background]
    found = cache.table.get(slot)
    if found is not None:
        return list(found.tokens)
    parked = cache.lot._parked.get(slot) if cache.lot is not None else None
    return list(parked.tokens) if parked else []


def read(llama, slot: str, secret: str) -> int:
    """Read a conversation and return how many of its tokens were cached."""
    stream = llama.stream(conversation(secret), slot=slot, max_tokens=2)
    assert "".join(stream)
    return stream.usage.cached_tokens


def test_the_prefixes_of_a_conversation_are_dropped_wherever_they_lie(llama):
    read(llama, "parked", "Astronomy")
    read(llama, "open", "Bookbinding")
    assert "parked" in llama.engine._lot
    assert cached(llama, "open")
    llama.forget(["parked", "open"], keep={})
    until(lambda: not cached(llama, "open") and not cached(llama, "parked"))
    # Only the first words of the template are the same in other slots.
    assert read(llama, "open", "Bookbinding") < 8
    assert read(llama, "parked", "Astronomy") < 8


def test_other_conversations_keep_theirs(llama):
    read(llama, "other", "Cartography")
    read(llama, "gone", "Dressage")
    llama.forget(["gone"], keep={})
    until(lambda: not cached(llama, "gone"))
    assert read(llama, "other", "Cartography") > 8


def test_a_background_prompt_is_cut_back_to_what_is_always_the_same(llama):
    fixed = [Turn("system", "Take notes of what the user says. Write one line a fact."), Turn("user", "")]
    llama.complete([fixed[0], Turn("user", "I like Egyptology")], slot="notes", max_tokens=4)
    llama.complete(conversation("Fencing"), slot="other notes", max_tokens=4)
    shared = llama._loaded()[1].tokens(fixed)
    assert len(cached(llama, "notes", background=True)) > len(shared)
    llama.forget([], keep={"notes": fixed})
    until(lambda: not cached(llama, "other notes", background=True))
    left = cached(llama, "notes", background=True)
    assert left
    assert left == shared[: len(left)]


def test_what_is_being_written_is_dropped_when_it_has_come_to_its_end(llama):
    stop = StopFlag()
    stream = llama.stream(conversation("Gliding"), slot="writing", lane=Lane.CHAT, max_tokens=200, stop=stop)
    pieces = iter(stream)
    next(pieces)
    llama.forget(["writing"], keep={})
    assert next(pieces)
    stop.set()
    list(pieces)
    until(lambda: not cached(llama, "writing"))


def test_a_request_that_was_pushed_aside_goes_on_and_its_slot_is_dropped_after_it(llama):
    low = llama.stream(conversation("Heraldry"), slot="low", lane=Lane.BACKGROUND, max_tokens=40)
    pieces = iter(low)
    first = next(pieces)
    high = llama.stream(conversation("Italics"), slot="high", lane=Lane.CHAT, max_tokens=2)
    llama.forget(["low"], keep={})
    assert "".join(high)
    assert first + "".join(pieces)
    assert low.finish in ("stop", "length")
    until(lambda: not cached(llama, "low"))
