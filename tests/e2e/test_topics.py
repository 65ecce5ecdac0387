"""The topics of a chat, in a real browser."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from chat.models import Topic

from .hands import findings, reply, say

pytestmark = pytest.mark.browser


@pytest.fixture
def chat(open_page):
    """A page with one exchange, its topic and two older ones, one of them retired."""

    def make(**options):
        page = open_page("/", **options)
        say(page, "How do I keep the crust of a loaf crisp overnight?")
        expect(reply(page)).to_be_visible()
        now = timezone.now()
        conversation = page.url.split("/")[4]
        Topic.objects.get_or_create(conversation_id=conversation, title="How do I keep the crust crisp?")
        for title, retired in (("Boats", None), ("Taxes " * 13, now)):
            Topic.objects.create(
                conversation_id=conversation,
                title=title,
                retired_at=retired,
                last_active_at=now - timedelta(days=2),
            )
        page.goto(f"/c/{conversation}/topics/")
        return page

    return make


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_and_nothing_overflows(chat, width, dark):
    page = chat(width=width, dark=dark)
    expect(page.get_by_role("heading", name="Retired")).to_be_attached()
    assert findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".chapters").evaluate("e => e.scrollWidth <= e.clientWidth")


def test_importance_changes_in_place_and_keeps_the_focus(chat):
    page = chat()
    group = page.get_by_role("group", name="Importance of “Boats”")
    low = group.get_by_role("button", name="Low")
    low.focus()
    page.keyboard.press("Enter")
    expect(low).to_have_attribute("aria-pressed", "true")
    expect(low).to_be_focused()
    assert Topic.objects.get(title="Boats").importance == 0.25


def test_it_works_without_javascript(chat):
    page = chat()
    url = page.url
    plain = page.context.browser.new_context(java_script_enabled=False, base_url=url)
    try:
        tab = plain.new_page()
        tab.goto(url)
        tab.get_by_role("group", name="Importance of “Boats”").get_by_role("button", name="Medium").click()
        expect(
            tab.get_by_role("group", name="Importance of “Boats”").get_by_role("button", name="Medium")
        ).to_have_attribute("aria-pressed", "true")
    finally:
        plain.close()


def test_the_menu_leads_there_and_the_arrow_back(chat):
    page = chat()
    page.get_by_role("link", name="Back to the chat").click()
    page.get_by_role("button", name="This chat").click()
    page.get_by_role("link", name="Topics").click()
    expect(page).to_have_url(re.compile("/topics/$"))
    expect(page.get_by_role("heading", name="Topics", exact=True)).to_be_visible()
