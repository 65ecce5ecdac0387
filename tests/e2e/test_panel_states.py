"""Every state of the panel is calm and reachable: full, asking, offering; and windows keep their time."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from chat.actions import deletions
from chat.models import Deletion

from .hands import card, findings, open_panel

pytestmark = pytest.mark.browser


@pytest.fixture
def many(make_fact):
    """A full memory, ten of it pinned."""
    for n in range(150):
        make_fact(f"User likes colour {n}", pinned=n < 10)


@pytest.mark.parametrize(("dark", "width"), [(False, 1280), (True, 390)], ids=["light", "dark-phone"])
def test_axe_finds_nothing_serious_in_a_full_panel_with_an_offer(open_page, many, dark, width):
    page = open_page(dark=dark, width=width)
    sheet = open_panel(page)
    expect(sheet.locator("article.card")).to_have_count(150)
    pin = card(sheet, "colour 149").get_by_role("button", name="Pin")
    pin.focus()
    pin.press("Enter")
    expect(sheet.get_by_role("button", name="Unpin it and pin this")).to_be_visible()
    assert findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_panel_is_there_when_it_opens_and_follows_what_happens_while_it_is_closed(
    open_page, make_fact, owner
):
    fact = make_fact("User likes jazz")
    make_fact("User likes tea")
    page = open_page()
    hidden = page.locator("#sheet article.card")
    expect(hidden).to_have_count(2)
    other = open_page("/memory/")
    card(other, "jazz").hover()
    card(other, "jazz").get_by_role("button", name="Forget").click()
    expect(hidden).to_have_count(1)
    sheet = open_panel(page)
    expect(sheet.locator(f"#fact-{fact.pk}")).to_have_count(0)
    deletions.undo(Deletion.objects.get())
    expect(card(sheet, "jazz")).to_be_visible()


def test_a_page_that_is_opened_later_shows_the_time_that_is_left(open_page, make_fact, owner):
    make_fact("User likes jazz")
    deletion = deletions.clear_all(owner)
    now = timezone.now()
    Deletion.objects.update(pressed_at=now - timedelta(seconds=5), expires_at=now + timedelta(seconds=60))
    page = open_page("/memory/")
    bar = page.locator(f".toast[data-deletion='{deletion.pk}']")
    expect(bar).to_have_attribute("data-gone", re.compile("^([5-9]|1.)$"))
    bar.get_by_role("button", name="Undo").click()
    expect(card(page, "jazz")).to_be_visible()


def test_focus_stays_in_the_open_panel_and_goes_back_to_where_it_was(open_page, make_fact):
    make_fact("User likes jazz")
    page = open_page()
    box = page.get_by_role("textbox", name="Message", exact=True)
    box.focus()
    sheet = open_panel(page)
    outside = "document.activeElement.closest('.stage, .side') !== null"
    for _ in range(25):
        page.keyboard.press("Tab")
        assert not page.evaluate(outside)
    page.keyboard.press("Control+Shift+M")
    expect(sheet).to_be_hidden()
    expect(box).to_be_focused()
