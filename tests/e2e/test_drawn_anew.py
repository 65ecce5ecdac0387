"""What is drawn anew while somebody reads, chooses or types takes none of that away."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from chat.actions import facts
from chat.models import OwnerSettings

from .hands import card, open_panel, reader, reply, say

pytestmark = pytest.mark.browser

SELECT = """(block) => {
  const text = document.createTreeWalker(block, NodeFilter.SHOW_TEXT).nextNode();
  getSelection().setBaseAndExtent(text, 0, text, 3);
}"""
SELECTED = "String(getSelection())"


def test_words_chosen_in_a_growing_reply_stay_chosen_to_its_end(open_page, scripted, gate):
    scripted.replies.append("One two three four five six seven.")
    page = open_page()
    say(page, "Count")
    page.wait_for_url("**/c/**")
    gate.release(2)
    expect(reply(page, "streaming")).to_contain_text("One two")
    reply(page, "streaming").locator(".block").evaluate(SELECT)
    gate.release(3)
    expect(reply(page, "streaming")).to_contain_text("One two three four five")
    assert page.evaluate(SELECTED) == "One"
    gate.release(100)
    expect(reply(page)).to_contain_text("seven.")
    assert page.evaluate(SELECTED) == "One"


def test_a_card_that_is_edited_outlives_what_is_learned_meanwhile(open_page, owner, live):
    facts.add_fact(owner, "I like jazz")
    sheet = open_panel(open_page())
    card(sheet, "jazz").hover()
    card(sheet, "jazz").get_by_role("link", name="Edit").click()
    text = sheet.get_by_role("textbox", name="Memory", exact=True)
    text.fill("I like half a ")
    facts.add_fact(owner, "I like tea")
    expect(card(sheet, "tea")).to_be_visible()
    expect(text).to_be_focused()
    text.press_sequentially("tone")
    text.press("Enter")
    expect(sheet.get_by_role("link", name="I like half a tone")).to_be_focused()


def test_what_is_forgotten_leaves_the_reply_that_told_of_it_in_every_tab(open_page, scripted, owner):
    OwnerSettings.objects.filter(owner=owner).update(look_after=0)
    scripted.completions.extend([reader({"Lyon": "home: User lives in Lyon"})] * 3)
    page = open_page()
    say(page, "I live in Lyon.")
    line = page.get_by_role("list", name="Remembered from this exchange")
    expect(line).to_be_visible()
    other = open_page(page.url)
    elsewhere = other.get_by_role("list", name="Remembered from this exchange")
    expect(elsewhere).to_be_visible()
    sheet = open_panel(page)
    card(sheet, "Lyon").hover()
    card(sheet, "Lyon").get_by_role("button", name="Forget").click()
    expect(elsewhere).to_have_count(0)
    sheet.locator(".toast").get_by_role("button", name="Undo").click()
    expect(elsewhere).to_be_visible()
    page.keyboard.press("Escape")
    expect(line).to_be_visible()
