"""Redrawing a part of the page keeps the selection, the open edit and the focus."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from chat.actions import facts
from chat.models import OwnerSettings

from .page_actions import fact_card, last_reply, open_panel, scripted_extractor, send_message

pytestmark = pytest.mark.browser

SELECT = """(block) => {
  const text = document.createTreeWalker(block, NodeFilter.SHOW_TEXT).nextNode();
  getSelection().setBaseAndExtent(text, 0, text, 3);
}"""
SELECTED = "String(getSelection())"


def test_selected_words_in_a_growing_reply_stay_selected(open_page, scripted, gate):
    scripted.replies.append("One two three four five six seven.")
    page = open_page()
    send_message(page, "Count")
    page.wait_for_url("**/c/**")
    gate.release(2)
    expect(last_reply(page, "streaming")).to_contain_text("One two")
    last_reply(page, "streaming").locator(".block").evaluate(SELECT)
    gate.release(3)
    expect(last_reply(page, "streaming")).to_contain_text("One two three four five")
    assert page.evaluate(SELECTED) == "One"
    gate.release(100)
    expect(last_reply(page)).to_contain_text("seven.")
    assert page.evaluate(SELECTED) == "One"


def test_a_card_stays_in_edit_mode_while_other_facts_are_learned(open_page, owner, live):
    facts.add_fact(owner, "I like jazz")
    sheet = open_panel(open_page())
    fact_card(sheet, "jazz").hover()
    fact_card(sheet, "jazz").get_by_role("link", name="Edit").click()
    text = sheet.get_by_role("textbox", name="Memory", exact=True)
    text.fill("I like half a ")
    facts.add_fact(owner, "I like tea")
    expect(fact_card(sheet, "tea")).to_be_visible()
    expect(text).to_be_focused()
    text.press_sequentially("tone")
    text.press("Enter")
    expect(sheet.get_by_role("link", name="I like half a tone")).to_be_focused()


def test_a_forgotten_fact_disappears_from_the_reply_in_every_tab(open_page, scripted, owner):
    OwnerSettings.objects.filter(owner=owner).update(look_after=0)
    scripted.completions.extend([scripted_extractor({"Lyon": "home: User lives in Lyon"})] * 3)
    page = open_page()
    send_message(page, "I live in Lyon.")
    line = page.get_by_role("list", name="Remembered from this exchange")
    expect(line).to_be_visible()
    other = open_page(page.url)
    elsewhere = other.get_by_role("list", name="Remembered from this exchange")
    expect(elsewhere).to_be_visible()
    sheet = open_panel(page)
    fact_card(sheet, "Lyon").hover()
    fact_card(sheet, "Lyon").get_by_role("button", name="Forget").click()
    expect(elsewhere).to_have_count(0)
    sheet.locator(".toast").get_by_role("button", name="Undo").click()
    expect(elsewhere).to_be_visible()
    page.keyboard.press("Escape")
    expect(line).to_be_visible()
