"""The page with a real model."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from chat.llm.registry import registry
from chat.models import Message, OwnerSettings
from tests.small_model import load_small_model

from .page_actions import last_reply, send_message

pytestmark = [pytest.mark.browser, pytest.mark.model]


@pytest.fixture
def smollm(live, owner):
    """SmolLM2-135M behind the running server; extraction is delayed beyond the test."""
    OwnerSettings.objects.filter(owner=owner).update(look_after=3600)
    with load_small_model(2048) as provider:
        registry.use(provider, label="SmolLM2 135M")
        yield provider


def test_a_reply_of_a_real_model_is_shown_completely(open_page, smollm):
    page = open_page()
    send_message(page, "Say hello in one short sentence.")
    page.wait_for_url("**/c/**")
    expect(last_reply(page)).to_be_visible(timeout=120_000)
    saved = Message.objects.get(role="assistant")
    assert saved.state == "complete"
    assert saved.content.split()[0] in last_reply(page).locator("[data-blocks]").inner_text()
