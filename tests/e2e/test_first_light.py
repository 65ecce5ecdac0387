"""The product's main job in a real browser: say something, see it remembered, find it again."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .hands import MAYA, card, open_panel, pill, reader, reply, say

pytestmark = pytest.mark.browser


def test_what_was_said_appears_in_the_pill_and_the_panel_without_being_asked(open_page, scripted):
    scripted.completions.extend([reader()] * 8)
    page = open_page()
    say(page, MAYA)
    expect(pill(page, 5)).to_be_visible(timeout=20_000)
    sheet = open_panel(page)
    for text in ("lives in Copenhagen", "prefers short answers", "building a local-first chat app"):
        expect(card(sheet, text)).to_be_visible()


def test_what_was_learned_stands_under_the_reply_and_can_be_taken_back(open_page, scripted):
    scripted.completions.extend([reader()] * 8)
    page = open_page()
    say(page, "I live in Copenhagen.")
    learned = reply(page).get_by_role("list", name="Remembered from this exchange")
    expect(learned).to_contain_text("lives in Copenhagen", timeout=20_000)
    learned.get_by_role("button", name="Undo").click()
    expect(pill(page, 0)).to_be_visible()


def test_a_new_conversation_is_given_what_is_known_and_says_which(open_page, scripted, make_fact):
    make_fact("User lives in Copenhagen", category="identity", kind="home")
    page = open_page()
    say(page, "What do you know about me?")
    used = page.get_by_role("button", name="Used 1 memory")
    used.click(timeout=20_000)
    assert "User lives in Copenhagen" in scripted.calls[0].turns[-1].content
    page.get_by_role("dialog", name="Memories used").get_by_text("Lives in Copenhagen").click()
    expect(card(page.get_by_role("dialog", name="Memory", exact=True), "Copenhagen")).to_be_visible()
