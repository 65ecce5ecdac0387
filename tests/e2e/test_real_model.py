"""The page with a real model behind it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from chat.llm import weights
from chat.llm.llama import LlamaProvider, default_threads
from chat.llm.registry import registry
from chat.models import Message, OwnerSettings
from tests.weights_here import needed

from .hands import reply, say

pytestmark = [pytest.mark.browser, pytest.mark.model]


@pytest.fixture
def smollm(live, owner):
    """SmolLM2-135M behind the running server; what it would read for memory afterwards is left for later."""
    entry = needed("smollm2-135m")
    OwnerSettings.objects.filter(owner=owner).update(look_after=3600)
    errors = []
    path = weights.path_of(entry, entry.files[0])
    provider = LlamaProvider(entry.name, path, window=2048, threads=default_threads(), on_error=errors.append)
    provider.engine.start()
    assert provider.engine.ready.wait(120), errors
    registry.use(provider, label=entry.title)
    yield provider
    provider.close()


def test_a_reply_of_a_real_model_reaches_the_page_whole(open_page, smollm):
    page = open_page()
    say(page, "Say hello in one short sentence.")
    page.wait_for_url("**/c/**")
    expect(reply(page)).to_be_visible(timeout=120_000)
    saved = Message.objects.get(role="assistant")
    assert saved.state == "complete"
    assert saved.content.split()[0] in reply(page).locator("[data-blocks]").inner_text()
