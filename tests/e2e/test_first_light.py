"""The product's main job in a real browser: say something, see it remembered, find it again."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

MAYA = (
    "Hi, I'm Maya, a React developer in Copenhagen. I'm building a local-first chat app and I prefer short answers."
)
NOTES = "\n".join(
    [
        "name: User's name is Maya",
        "job: User is a React developer",
        "home: User lives in Copenhagen",
        "building: User is building a local-first chat app",
        "reply_style: User prefers short answers",
    ]
)


def say(page, text):
    """Type a message and send it with Enter."""
    page.get_by_role("textbox", name=re.compile("message", re.I)).fill(text)
    page.keyboard.press("Enter")


def test_a_reply_streams_as_markdown_while_it_is_written(open_page, scripted, gate):
    scripted.replies.append("Hello **Maya**, nice to meet you.\n\n- one\n- two")
    page = open_page()
    say(page, MAYA)
    page.wait_for_url("**/c/**")
    gate.release(2)
    expect(page.locator("[data-state=streaming] strong")).to_have_text("Maya")
    gate.release(100)
    reply = page.locator("[data-role=assistant][data-state=complete]")
    expect(reply.locator("li")).to_have_count(2)


def test_what_was_said_appears_in_the_pill_and_the_panel_without_being_asked(open_page, scripted):
    scripted.completions.append(NOTES)
    page = open_page()
    say(page, MAYA)
    pill = page.get_by_role("link", name=re.compile("5 memories"))
    expect(pill).to_be_visible(timeout=20_000)
    page.keyboard.press("Control+Shift+M")
    sheet = page.get_by_role("dialog", name="Memory")
    for text in ("User lives in Copenhagen", "User prefers short answers", "User is building a local-first chat app"):
        expect(sheet.get_by_text(text)).to_be_visible()


def test_a_new_conversation_is_given_what_is_known_and_says_so(open_page, scripted, make_fact):
    make_fact("User lives in Copenhagen", category="identity", kind="home")
    page = open_page()
    say(page, "What do you know about me?")
    expect(page.get_by_role("button", name="Used 1 memory")).to_be_visible(timeout=20_000)
    assert "User lives in Copenhagen" in scripted.calls[0].turns[-1].content
