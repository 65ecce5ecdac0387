"""The topics page of a conversation in a browser."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from chat.models import Topic

from .page_actions import accessibility_violations, each_width

pytestmark = pytest.mark.browser


@pytest.fixture
def chat(open_page, add_exchange):
    """Return a function that opens the topics page of a chat with three topics, one of them retired."""

    def make(**options):
        conversation = add_exchange("How do I keep the crust of a loaf crisp overnight?").pk
        now = timezone.now()
        Topic.objects.get_or_create(conversation_id=conversation, title="How do I keep the crust crisp?")
        for title, retired in (("Boats", None), ("Taxes " * 13, now)):
            Topic.objects.create(
                conversation_id=conversation,
                title=title,
                retired_at=retired,
                last_active_at=now - timedelta(days=2),
            )
        return open_page(f"/c/{conversation}/topics/", **options)

    return make


def test_axe_finds_no_violation_and_nothing_overflows(chat):
    page = chat()
    expect(page.get_by_role("heading", name="Retired")).to_be_attached()
    for width in each_width(page):
        assert accessibility_violations(page) == [], width
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator(".sections").evaluate("e => e.scrollWidth <= e.clientWidth")


def test_importance_changes_in_place_and_keeps_the_focus(chat):
    page = chat()
    group = page.get_by_role("group", name="Importance of “Boats”")
    low = group.get_by_role("button", name="Low")
    low.focus()
    page.keyboard.press("Enter")
    expect(low).to_have_attribute("aria-pressed", "true")
    expect(low).to_be_focused()
    assert Topic.objects.get(title="Boats").importance == 0.25


def test_topics_can_be_changed_without_javascript(chat):
    medium = (
        chat(java_script_enabled=False)
        .get_by_role("group", name="Importance of “Boats”")
        .get_by_role("button", name="Medium")
    )
    medium.click()
    expect(medium).to_have_attribute("aria-pressed", "true")


def test_the_menu_links_to_the_topics_and_the_page_links_back(chat):
    page = chat()
    page.get_by_role("link", name="Back to the chat").click()
    page.get_by_role("button", name="This chat").click()
    page.get_by_role("link", name="Topics").click()
    expect(page).to_have_url(re.compile("/topics/$"))
    expect(page.get_by_role("heading", name="Topics", exact=True)).to_be_visible()
