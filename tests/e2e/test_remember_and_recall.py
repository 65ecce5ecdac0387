"""The main task in a real browser: a fact is learned from a message and used in another conversation."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .page_actions import (
    MAYA_MESSAGE,
    fact_card,
    last_reply,
    memory_pill,
    open_panel,
    scripted_extractor,
    send_message,
)

pytestmark = pytest.mark.browser


def test_facts_from_a_message_appear_in_the_pill_and_the_panel(open_page, scripted):
    scripted.completions.extend([scripted_extractor()] * 8)
    page = open_page()
    send_message(page, MAYA_MESSAGE)
    expect(memory_pill(page, 5)).to_be_visible(timeout=20_000)
    sheet = open_panel(page)
    for text in ("lives in Copenhagen", "prefers short answers", "building a local-first chat app"):
        expect(fact_card(sheet, text)).to_be_visible()


def test_learned_facts_are_listed_under_the_reply_and_can_be_undone(open_page, scripted):
    scripted.completions.extend([scripted_extractor()] * 8)
    page = open_page()
    send_message(page, "I live in Copenhagen.")
    learned = last_reply(page).get_by_role("list", name="Remembered from this exchange")
    expect(learned).to_contain_text("lives in Copenhagen", timeout=20_000)
    learned.get_by_role("button", name="Undo").click()
    expect(memory_pill(page, 0)).to_be_visible()


def test_a_new_conversation_uses_known_facts_and_lists_them(open_page, scripted, make_fact):
    make_fact("User lives in Copenhagen", category="identity", kind="home")
    page = open_page()
    send_message(page, "What do you know about me?")
    used = page.get_by_role("button", name="Used 1 memory")
    used.click(timeout=20_000)
    assert "User lives in Copenhagen" in scripted.calls[0].turns[-1].content
    page.get_by_role("dialog", name="Memories used").get_by_text("Lives in Copenhagen").click()
    expect(fact_card(page.get_by_role("dialog", name="Memory", exact=True), "Copenhagen")).to_be_visible()
