"""An edit takes back what the old wording taught: it is told under the reply, and can be undone there."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from chat.actions import extraction
from chat.memory.candidates import Extraction, FactCandidate
from chat.models import Message

from .page_actions import accessibility_violations, last_reply, memory_pill, send_message

pytestmark = pytest.mark.browser


@pytest.fixture
def page(open_page, scripted):
    """A chat in which a message taught a fact."""
    page = open_page()
    send_message(page, "I live in Oslo")
    expect(last_reply(page)).to_be_visible()
    message = Message.objects.select_related("conversation__owner").get(role="user")
    candidate = FactCandidate(
        "User lives in Oslo", "home", "identity", "", hedged=False, quote=message.content
    )
    extraction.record_extraction(message, Extraction([candidate]), [None], "", 0.1)
    expect(memory_pill(page, 1)).to_be_visible()
    return page


def test_the_line_under_the_reply_undoes_what_the_edit_took_back(page):
    page.locator("[data-role=user]").hover()
    page.locator("[data-role=user]").get_by_role("link", name="Edit").click()
    page.get_by_role("textbox", name="Your message").fill("Hello there")
    page.keyboard.press("Enter")
    line = last_reply(page).get_by_role("list", name="Changed in memory by your edit")
    expect(line).to_contain_text("Forgotten with the old wording: lives in Oslo", use_inner_text=True)
    assert accessibility_violations(page) == []
    line.get_by_role("button", name="Undo what the edit changed in memory: “lives in Oslo”").press("Enter")
    expect(memory_pill(page, 1)).to_be_visible()
    expect(line).to_have_count(0)
