"""An open page shows the model's state: loading, ready, or failed with a command that helps."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from chat.errors import Reason
from chat.llm.model_status import ModelState, ModelStatus
from chat.llm.registry import registry
from chat.management.commands import serve

from .page_actions import last_reply, send_message

pytestmark = pytest.mark.browser

LOADING = ModelStatus(ModelState.LOADING, "m", "Model", Reason("model-loading"))
FAILED = ModelStatus(
    ModelState.FAILED,
    "m",
    "Model",
    Reason("verbatim", {"sentence": "The model could not be loaded."}),
    "python3 manage.py doctor",
)
MISSING = ModelStatus(
    ModelState.MISSING,
    "m",
    "Model",
    Reason("verbatim", {"sentence": "The weights are missing."}),
    "python3 manage.py weights fetch",
)


@pytest.fixture
def announced():
    """Announce the state of the model to pages as `manage.py serve` does."""
    registry.add_listener(serve._announce_model)
    yield
    registry.remove_listener(serve._announce_model)


def test_a_message_sent_while_the_model_loads_is_answered_when_it_is_ready(open_page, scripted, announced):
    ready = registry.status()
    registry.set_status(LOADING)
    page = open_page()
    banner = page.locator("#model")
    expect(banner).to_contain_text("You can write already.")
    expect(banner.get_by_role("progressbar", name="Loading the model")).to_be_visible()
    send_message(page, "Are you there?")
    expect(last_reply(page, "streaming")).to_contain_text("Reading your message…")
    registry.set_status(ready)
    expect(last_reply(page)).to_contain_text("Understood.")
    expect(banner).to_be_hidden()


@pytest.mark.parametrize("status", [MISSING, FAILED], ids=lambda status: status.state.value)
def test_an_open_page_shows_that_the_model_failed_and_which_command_helps(open_page, announced, status):
    page = open_page("/")
    banner = page.locator("#model")
    expect(banner).to_be_hidden()
    # The page gets the state through its socket, so wait until that is open.
    with page.expect_websocket() as opened:
        page.reload()
    opened.value.wait_for_event("framesent")
    registry.set_status(status)
    expect(banner).to_contain_text(status.sentence)
    expect(banner.get_by_text(status.command)).to_be_visible()
    expect(banner.get_by_role("progressbar")).to_be_hidden()


def test_without_a_model_the_message_is_saved_and_the_reply_says_why(open_page):
    registry.set_status(MISSING)
    page = open_page()
    send_message(page, "Hello?")
    expect(last_reply(page, "failed")).to_contain_text("The weights are missing.")
    expect(page.locator("[data-role=user]")).to_contain_text("Hello?")
    expect(last_reply(page, "failed").get_by_role("button", name="Retry")).to_be_visible()
