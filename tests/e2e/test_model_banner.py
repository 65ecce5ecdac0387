"""An open page follows the model's state: loading, ready, failed with the command that mends it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from chat.llm.registry import registry
from chat.llm.state import ModelState, Status
from chat.management.commands import serve

from .hands import reply, say

pytestmark = pytest.mark.browser

LOADING = Status(ModelState.LOADING, "m", "Model", "The model is loading. You can write already.")
FAILED = Status(ModelState.FAILED, "m", "Model", "The model could not be loaded.", "python3 manage.py doctor")
MISSING = Status(
    ModelState.MISSING, "m", "Model", "The weights are missing.", "python3 manage.py weights fetch"
)


@pytest.fixture
def announced():
    """The pages hear of the model as they do from `manage.py serve`."""
    registry.on_change(serve._announce)
    yield
    registry.off_change(serve._announce)


def test_a_message_written_while_the_model_loads_is_answered_when_it_is_there(open_page, scripted, announced):
    ready = registry.status()
    registry._set(LOADING)
    page = open_page()
    banner = page.locator("#model")
    expect(banner).to_contain_text("You can write already.")
    expect(banner.get_by_role("progressbar", name="Loading the model")).to_be_visible()
    say(page, "Are you there?")
    expect(reply(page, "streaming")).to_contain_text("Reading your message…")
    registry._set(ready)
    expect(reply(page)).to_contain_text("Understood.")
    expect(banner).to_be_hidden()


@pytest.mark.parametrize("status", [MISSING, FAILED], ids=lambda status: status.state.value)
def test_an_open_page_is_told_when_the_model_is_gone_and_what_mends_it(open_page, announced, status):
    page = open_page("/")
    banner = page.locator("#model")
    expect(banner).to_be_hidden()
    # Only once its socket is open can the page hear anything.
    with page.expect_websocket() as opened:
        page.reload()
    opened.value.wait_for_event("framesent")
    registry._set(status)
    expect(banner).to_contain_text(status.sentence)
    expect(banner.get_by_text(status.command)).to_be_visible()
    expect(banner.get_by_role("progressbar")).to_be_hidden()


def test_without_a_model_the_message_is_kept_and_the_reply_says_why(open_page):
    registry._set(MISSING)
    page = open_page()
    say(page, "Hello?")
    expect(reply(page, "failed")).to_contain_text("The weights are missing.")
    expect(page.locator("[data-role=user]")).to_contain_text("Hello?")
    expect(reply(page, "failed").get_by_role("button", name="Retry")).to_be_visible()
