"""The page with a real model behind it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from chat.llm.registry import registry
from chat.models import Message, OwnerSettings
from tests.weights_here import small_model

from .hands import reply, say

pytestmark = [pytest.mark.browser, pytest.mark.model]


@pytest.fixture
def smollm(live, owner):
    """SmolLM2-135M behind the running server; what it would read for memory afterwards is left for later."""
    OwnerSettings.objects.filter(owner=owner).update(look_after=3600)
    with small_model(2048) as provider:
        registry.use(provider, label="SmolLM2 135M")
        yield provider


def test_a_reply_of_a_real_model_reaches_the_page_whole(open_page, smollm):
    page = open_page()
    say(page, "Say hello in one short sentence.")
    page.wait_for_url("**/c/**")
    expect(reply(page)).to_be_visible(timeout=120_000)
    saved = Message.objects.get(role="assistant")
    assert saved.state == "complete"
    assert saved.content.split()[0] in reply(page).locator("[data-blocks]").inner_text()
