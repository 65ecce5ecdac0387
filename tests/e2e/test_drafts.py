"""A draft survives a reload, another conversation and a refused message."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .page_actions import last_reply, send_message

pytestmark = pytest.mark.browser


def box(page):
    """Return the message box."""
    return page.get_by_role("textbox", name="Message", exact=True)


def test_each_conversation_keeps_its_own_draft(open_page, add_exchange):
    page = open_page(f"/c/{add_exchange('A conversation about birds').pk}/")
    box(page).fill("And what about owls")
    page.get_by_role("link", name="New chat").click()
    expect(box(page)).to_have_value("")
    box(page).fill("Something else")
    page.get_by_role("link", name="A conversation about birds").click()
    expect(box(page)).to_have_value("And what about owls")
    page.reload()
    expect(box(page)).to_have_value("And what about owls")


def test_a_sent_message_is_no_longer_a_draft(open_page, scripted):
    page = open_page()
    send_message(page, "Hello")
    expect(last_reply(page)).to_be_visible()
    expect(box(page)).to_have_value("")
    page.get_by_role("link", name="New chat").click()
    expect(box(page)).to_have_value("")


def test_shift_enter_adds_a_line_and_enter_sends(open_page, scripted):
    page = open_page()
    box(page).press_sequentially("one")
    box(page).press("Shift+Enter")
    box(page).press_sequentially("two")
    expect(box(page)).to_have_value("one\ntwo")
    box(page).press("Enter")
    expect(page.locator("[data-role=user]")).to_contain_text("two")


@pytest.mark.parametrize("width", [1280, 390])
def test_the_box_grows_to_eight_lines_and_then_scrolls(open_page, width):
    page = open_page(width=width)
    high = "e => e.clientHeight - parseFloat(getComputedStyle(e).paddingBlock) * 2"
    line = box(page).evaluate(high)
    for lines in (2, 5, 8, 12):
        box(page).fill("\n".join(["a line"] * lines))
        assert box(page).evaluate(high) == pytest.approx(min(lines, 8) * line, abs=5)
    assert box(page).evaluate("e => e.scrollHeight > e.clientHeight")
    expect(page.get_by_role("button", name="Send")).to_be_in_viewport(ratio=1)
    box(page).fill("")
    assert box(page).evaluate(high) == pytest.approx(line, abs=1)


def test_the_next_message_can_be_sent_right_after_stop(open_page, scripted, gate):
    scripted.replies.extend(["One two three", "A second answer."])
    page = open_page()
    send_message(page, "Hi")
    page.wait_for_url("**/c/**")
    gate.release(1)
    expect(last_reply(page, "streaming")).to_contain_text("One")
    box(page).fill("Next")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Send").click()
    gate.release(100)
    expect(last_reply(page)).to_contain_text("A second answer.")
    expect(page.locator("[data-state=stopped]")).to_contain_text("One")
