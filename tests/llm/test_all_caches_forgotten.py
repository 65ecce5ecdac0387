"""A process that missed which texts were deleted removes the prefixes of all conversations."""

from __future__ import annotations

from unittest.mock import MagicMock

import numpy as np
import pytest

from chat.llm.engine import Engine
from chat.llm.prefix_cache import PrefixCache
from chat.llm.remote.slots import SlotPool
from chat.llm.state_cache import DiskCache, SavedState, StateCache
from tests.waiting import wait_until


def make_native() -> MagicMock:
    native = MagicMock(sequences=4, cells=1000)
    native.sibling.return_value = MagicMock(sequences=4, cells=1000)
    return native


@pytest.fixture
def engine(tmp_path):
    """An engine whose caches hold texts: in the context, in memory, on disk and of a background prompt."""
    saved = StateCache(10, DiskCache(tmp_path / "parked", 100))
    for name in ("on disk", "in memory"):
        saved.put(name, SavedState([1, 2, 3], np.zeros(9, np.uint8), "ann"))
    made = Engine(make_native, background_cells=1000, state_cache=saved, on_error=pytest.fail)
    made.start()
    assert made.ready.wait(10)
    for background, name in ((False, "in the context"), (False, "ahead"), (True, "notes")):
        slot = next(slot for slot in made._caches[background].table if slot.name is None)
        slot.name, slot.tokens = name, [1, 2, 3, 4]
    yield made
    made.close()


def read_prefixes(engine: Engine) -> dict[str, int]:
    """Return for each slot how many tokens it holds."""
    conversations, background = engine._caches[False], engine._caches[True]
    lengths = {slot.name: len(slot.tokens) for slot in (*conversations.table, *background.table) if slot.name}
    return lengths | dict.fromkeys(engine._state_cache.list_names(), 3)


def test_the_prefixes_of_all_conversations_go_and_fixed_prompts_stay(engine, tmp_path):
    everything = {"on disk", "in memory", "in the context", "ahead", "notes"}
    # The engine thread moves a state to disk: it belongs to no place until its file is written.
    wait_until(lambda: read_prefixes(engine).keys() == everything)
    assert len(list((tmp_path / "parked").glob("*"))) == 1
    engine.forget(None, {"notes": [1, 2]})
    wait_until(lambda: read_prefixes(engine) == {"notes": 2})
    assert list((tmp_path / "parked").glob("*")) == []


def test_a_cache_without_saved_states_lists_its_slots():
    cache = PrefixCache(make_native())
    next(iter(cache.table)).name = "chat"
    assert cache.list_names() == {"chat"}


def test_all_slots_of_a_model_server_are_freed():
    pool = SlotPool()
    pool.reset(3)
    for name in ("one", "two"):
        pool.give_back(pool.take(name, "ann", background=False))
    pool.forget(None)
    assert {slot.name for slot in pool._slots} == {None}
