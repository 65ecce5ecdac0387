"""A real server that is switched off in the middle, and on again."""

from __future__ import annotations

import pytest

from chat.llm.registry import Registry
from chat.llm.remote import troubles
from chat.llm.remote.address import parse
from chat.llm.remote.provider import RemoteProvider
from chat.llm.state import ModelState
from chat.llm.types import ModelNotReady, ProviderError, Turn
from tests.waiting import until

pytestmark = pytest.mark.model
ASK = [Turn("system", "You tell stories."), Turn("user", "Tell a long story of a fox.")]


def test_switched_off_it_is_away_and_switched_on_it_answers_again(served, remote):
    registry = Registry()
    registry.connect(RemoteProvider(parse(served.url)))
    try:
        assert registry.wait_ready(30)
        pieces = iter(registry.provider().stream(ASK, slot="story", max_tokens=700))
        assert next(pieces)
        served.kill()
        with pytest.raises(ProviderError) as problem:
            list(pieces)
        assert str(problem.value) == troubles.BROKEN_OFF
        with pytest.raises(ModelNotReady, match="Your message is saved"):
            list(registry.provider().stream(ASK, slot="story", max_tokens=8))
        until(lambda: registry.status().state is ModelState.AWAY)
        served.start()
        registry.nudge()
        until(lambda: registry.status().state is ModelState.READY)
        assert registry.provider().complete(ASK, slot="story", max_tokens=4).text
    finally:
        registry.close()
        if served.process is None:
            served.start()
