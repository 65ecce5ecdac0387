"""A real server is killed during a reply and restarted."""

from __future__ import annotations

import pytest

from chat.errors import ModelNotReady, ProviderError
from chat.llm.model_status import ModelState
from chat.llm.registry import Registry
from chat.llm.remote.address import parse_address
from chat.llm.remote.provider import RemoteProvider
from chat.llm.types import GenerationOptions, Turn
from tests.waiting import wait_until

pytestmark = pytest.mark.model
ASK = [Turn("system", "You tell stories."), Turn("user", "Tell a long story of a fox.")]


def test_a_killed_server_is_reported_and_used_again_after_its_restart(served, remote):
    registry = Registry()
    registry.connect(RemoteProvider(parse_address(served.url)))
    try:
        assert registry.wait_ready(30)
        pieces = iter(registry.provider().stream(ASK, GenerationOptions.for_reply("story", max_tokens=700)))
        assert next(pieces)
        served.kill()
        with pytest.raises(ProviderError) as problem:
            list(pieces)
        assert problem.value.code == "server-connection-lost"
        with pytest.raises(ModelNotReady, match="Your message is saved"):
            list(registry.provider().stream(ASK, GenerationOptions.for_reply("story", max_tokens=8)))
        wait_until(lambda: registry.status().state is ModelState.AWAY)
        served.start()
        registry.retry_connection()
        wait_until(lambda: registry.status().state is ModelState.READY)
        assert registry.provider().complete(ASK, GenerationOptions(slot="story", max_tokens=4)).text
    finally:
        registry.close()
        if served.process is None:
            served.start()
