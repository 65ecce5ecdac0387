"""States of the memory panel: full, with an offer, with a pending deletion; and focus inside the panel."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from chat.actions import deletions
from chat.models import Deletion

from .page_actions import accessibility_violations, fact_card, open_panel

pytestmark = pytest.mark.browser


@pytest.fixture
def many(make_fact):
    """A full memory with ten pinned facts."""
    for n in range(150):
        make_fact(f"User likes colour {n}", pinned=n < 10)


@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_no_serious_violation_in_a_full_panel_with_an_offer(open_page, many, width):
    page = open_page(width=width)
    sheet = open_panel(page)
    expect(sheet.locator("article.card")).to_have_count(150)
    pin = fact_card(sheet, "colour 149").get_by_role("button", name="Pin")
    pin.focus()
    pin.press("Enter")
    expect(sheet.get_by_role("button", name="Unpin it and pin this")).to_be_visible()
    assert accessibility_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_closed_panel_is_loaded_and_follows_changes(open_page, make_fact, owner):
    fact = make_fact("User likes jazz")
    make_fact("User likes tea")
    page = open_page()
    hidden = page.locator("#sheet article.card")
    expect(hidden).to_have_count(2)
    other = open_page("/memory/")
    fact_card(other, "jazz").hover()
    fact_card(other, "jazz").get_by_role("button", name="Forget").click()
    expect(hidden).to_have_count(1)
    sheet = open_panel(page)
    expect(sheet.locator(f"#fact-{fact.pk}")).to_have_count(0)
    deletions.undo_deletion(Deletion.objects.get())
    expect(fact_card(sheet, "jazz")).to_be_visible()


def test_a_page_opened_later_shows_the_remaining_time_to_undo(open_page, make_fact, owner):
    make_fact("User likes jazz")
    deletion = deletions.clear_memory(owner)
    now = timezone.now()
    Deletion.objects.update(pressed_at=now - timedelta(seconds=5), expires_at=now + timedelta(seconds=60))
    page = open_page("/memory/")
    bar = page.locator(f".toast[data-deletion='{deletion.pk}']")
    expect(bar).to_have_attribute("data-elapsed", re.compile("^([5-9]|1.)$"))
    bar.get_by_role("button", name="Undo").click()
    expect(fact_card(page, "jazz")).to_be_visible()


def test_focus_stays_in_the_open_panel_and_then_returns(open_page, make_fact):
    make_fact("User likes jazz")
    page = open_page()
    box = page.get_by_role("textbox", name="Message", exact=True)
    box.focus()
    sheet = open_panel(page)
    outside = "document.activeElement.closest('.page-main, .side') !== null"
    for _ in range(25):
        page.keyboard.press("Tab")
        assert not page.evaluate(outside)
    page.keyboard.press("Control+Shift+M")
    expect(sheet).to_be_hidden()
    expect(box).to_be_focused()
