"""While a model reasons the page says so; afterwards the reasoning is folded above the reply."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from chat.models import Message

from .page_actions import accessibility_violations, last_reply, send_message

pytestmark = pytest.mark.browser
THOUGHT = "They mean the cello, so the A string is 220 Hz."


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_reasoning_is_announced_then_folded_and_opened_by_keyboard(open_page, scripted, gate, width, dark):
    scripted.can_reason, scripted.reasoning = True, THOUGHT
    page = open_page(width=width, dark=dark)
    gate.release(1)
    send_message(page, "Hi")
    page.wait_for_url("**/c/**")
    expect(last_reply(page)).to_contain_text("Understood.")
    page.locator("[popovertarget=header-menu]").click()
    page.locator("#reasoning-on").click()
    expect(page.locator("#reasoning-on")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Escape")
    send_message(page, "And the A string?")
    expect(last_reply(page, "streaming").locator("[data-place]")).to_have_text("Thinking…")
    gate.release(100)
    reply = last_reply(page)
    expect(reply).to_contain_text("Understood.")
    expect(reply.locator(".prose")).not_to_contain_text("cello")
    expect(reply.get_by_text(THOUGHT)).to_be_hidden()
    reply.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(reply.get_by_text(THOUGHT)).to_be_visible()
    assert accessibility_violations(page) == []


def test_a_reply_at_its_limit_goes_on_with_one_press(open_page, scripted):
    scripted.finish = "length"
    page = open_page()
    send_message(page, "Tell a long story.")
    page.wait_for_url("**/c/**")
    expect(page.get_by_text("This reply reached its greatest length.")).to_be_visible()
    assert accessibility_violations(page) == []
    scripted.finish = "stop"
    page.get_by_role("button", name="Go on").click()
    expect(page.locator(".from-user").last).to_contain_text("Go on.")
    expect(last_reply(page)).to_contain_text("Understood.")
    expect(page.get_by_role("button", name=re.compile("^Go on"))).to_be_hidden()
    assert Message.objects.filter(role="assistant").last().cut_off is False
