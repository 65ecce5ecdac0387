"""The frame of every page: landmarks, heading order, skip link, and no serious axe violation."""

from __future__ import annotations

from itertools import pairwise

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from chat.actions.facts import add_fact
from chat.actions.messages import finish_reply
from chat.actions.topics import assign_topic
from chat.models import Fact, PromptReport

from .page_actions import accessibility_violations, each_width

pytestmark = pytest.mark.browser

PAGES = {
    "first run": "/",
    "chat": "/c/{chat}/",
    "memory": "/memory/",
    "graph": "/memory/graph/",
    "edit": "/memory/{fact}/edit/",
    "topics": "/c/{chat}/topics/",
    "prompt report": "/m/{reply}/prompt/",
    "settings": "/settings/",
    "search": "/search/?q=shade",
    "login": "/login/",
    "404": "/nowhere/",
}


@pytest.fixture
def address_of_page(owner, talk, make_fact):
    """Return a function that makes data for a page and returns its address."""

    def of(name: str) -> str:
        if name == "first run":
            return PAGES[name]
        asked, written = talk("What shall I plant in the shade?")
        assign_topic(asked, None, "Shade")
        finish_reply(written, "Ferns.\n\n- hostas\n\n| a | b |\n|--|--|\n| 1 | 2 |", "complete")
        PromptReport.objects.create(reply=written, window=2048, prompt_tokens=700, sections={"history": 600})
        fact = add_fact(owner, "I live in Lyon")
        Fact.objects.filter(pk=fact.pk).update(pinned=True)
        make_fact("User likes tea", archived_at=timezone.now())
        return PAGES[name].format(chat=asked.conversation_id, reply=written.pk, fact=fact.pk)

    return of


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_a_complete_frame_and_no_serious_violation(open_page, address_of_page, name):
    # One test for all checks of a page, since opening it takes longer than they do.
    page = open_page(address_of_page(name))
    check_headings(page)
    for width in each_width(page):
        assert accessibility_violations(page) == [], width
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    if name not in ("login", "404"):
        page.set_viewport_size({"width": 1280, "height": 800})
        check_that_the_first_tab_stop_skips_the_sidebar(page)
        check_that_ids_are_unique_also_with_the_panel_open(page)


def check_headings(page):
    """Assert that the page has one main, one title, and headings in order."""
    assert page.get_by_role("main").count() == 1
    levels = page.locator("h1:visible, h2:visible, h3:visible, h4:visible").evaluate_all(
        # The list may be redrawn between the two calls: detached elements do not count.
        "all => all.filter(e => e.isConnected && !e.closest('dialog, [popover], nav, .prose'))"
        ".map(e => Number(e.tagName[1]))"
    )
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert page.title().endswith("memoryapp")


def check_that_the_first_tab_stop_skips_the_sidebar(page):
    """Assert that the page begins with a link to its content."""
    skip = page.get_by_role("link", name="Skip to the content")
    first = "document.querySelector('a[href], button, input, textarea, select, [tabindex=\"0\"]')"
    assert skip.evaluate(f"e => e === {first}")
    skip.focus()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()


def check_that_ids_are_unique_also_with_the_panel_open(page):
    """Assert that no two elements have the same id; the panel stays open."""
    if page.locator("#sheet").count():
        page.keyboard.press("Control+Shift+M")
        expect(page.locator("#sheet #memory-list")).to_be_visible()
    named = page.locator("[id]").evaluate_all("all => all.map(element => element.id)")
    assert sorted(named) == sorted(set(named))


def test_every_icon_button_has_a_name_and_a_tooltip(open_page, address_of_page):
    page = open_page(address_of_page("chat"))
    for path in (None, "/memory/", "/settings/"):
        if path:
            page.goto(path)
        nameless = page.locator(
            "button:has(> svg:only-child):visible, a:has(> svg:only-child):visible"
        ).evaluate_all(
            "all => all.filter(e => !e.textContent.trim() && !(e.ariaLabel && e.title)).map(e => e.outerHTML)"
        )
        assert nameless == []
