"""Managing memories in a browser: checkboxes and actions, by mouse, keyboard and without JavaScript."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from chat.models import Fact

from .page_actions import accessibility_violations, fact_card, open_panel

pytestmark = pytest.mark.browser

PLACES = ("Aarhus", "Bergen", "Cork", "Dover", "Essen")


@pytest.fixture
def five(make_fact):
    """Five memories, the last one first in the list."""
    return [make_fact(f"User likes {place}") for place in reversed(PLACES)]


@pytest.fixture
def managed(open_page, five):
    """The open panel with its cards shown as checkboxes."""
    sheet = open_panel(open_page())
    sheet.get_by_role("link", name="Manage").click()
    expect(sheet.get_by_role("checkbox")).to_have_count(5)
    return sheet


def box(place, name):
    """Return the checkbox of a memory."""
    return place.get_by_role("checkbox", name=name)


def test_shift_click_selects_a_range_and_the_bar_counts(managed):
    box(managed, "Aarhus").click()
    expect(managed.get_by_role("status").filter(has_text="1 selected")).to_be_visible()
    box(managed, "Dover").click(modifiers=["Shift"])
    expect(managed.locator("#selected-count")).to_have_text("4 selected")
    expect(box(managed, "Essen")).not_to_be_checked()
    box(managed, "Cork").click(modifiers=["Shift"])
    expect(managed.locator("#selected-count")).to_have_text("2 selected")


def test_several_memories_are_forgotten_at_once_and_one_undo_restores_them(managed):
    box(managed, "Aarhus").check()
    box(managed, "Cork").check()
    box(managed, "Essen").check()
    managed.get_by_role("button", name="Delete").click()
    toast = managed.locator(".toast").filter(has_text="Forgot 3 memories")
    expect(managed.get_by_role("checkbox")).to_have_count(2)
    toast.get_by_role("button", name="Undo").click()
    expect(managed.get_by_role("checkbox")).to_have_count(5)


def test_several_memories_are_pinned_and_moved(managed):
    box(managed, "Aarhus").check()
    box(managed, "Bergen").check()
    managed.get_by_role("button", name="Pin").click()
    expect(managed.locator(".toast")).to_contain_text("Pinned 2 memories.")
    expect(box(managed, "Aarhus")).to_be_checked()
    managed.get_by_role("button", name="Change category").click()
    managed.get_by_role("dialog", name="Change category").get_by_role("button", name="Identity").click()
    expect(managed.locator(".toast").filter(has_text="Moved 2 memories to Identity.")).to_be_visible()
    managed.get_by_role("link", name="Done").click()
    expect(managed.get_by_role("region", name="Identity").locator("article.card")).to_have_count(2)
    assert Fact.objects.filter(pinned=True, category="identity").count() == 2


def test_the_selection_stays_when_memory_changes_in_another_tab(managed, make_fact, open_page):
    box(managed, "Cork").check()
    other = open_page("/memory/")
    fact_card(other, "Essen").hover()
    fact_card(other, "Essen").get_by_role("button", name="Forget").click()
    expect(managed.get_by_role("checkbox")).to_have_count(4)
    expect(box(managed, "Cork")).to_be_checked()
    expect(managed.locator("#selected-count")).to_have_text("1 selected")


def test_managing_works_by_keyboard_alone_and_escape_ends_it(open_page, five):
    page = open_page()
    sheet = open_panel(page)
    sheet.get_by_role("link", name="Manage").press("Enter")
    expect(box(sheet, "Aarhus")).to_be_focused()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Space")
    expect(sheet.locator("#selected-count")).to_have_text("3 selected")
    page.keyboard.press("Control+A")
    expect(sheet.locator("#selected-count")).to_have_text("5 selected")
    page.keyboard.press("Escape")
    expect(sheet.get_by_role("link", name="Manage")).to_be_focused()
    expect(sheet.locator("article.card")).to_have_count(5)
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()


def test_ctrl_a_in_the_search_box_selects_its_text(managed):
    managed.get_by_role("searchbox").fill("Cork")
    expect(managed.get_by_role("checkbox")).to_have_count(1)
    managed.get_by_role("searchbox").press("Control+A")
    expect(box(managed, "Cork")).not_to_be_checked()


def test_axe_finds_no_serious_violation_while_managing_on_a_phone(open_page, five):
    page = open_page(width=390)
    sheet = open_panel(page)
    sheet.get_by_role("link", name="Manage").click()
    box(sheet, "Cork").check()
    assert accessibility_violations(page) == [], "one chosen"
    sheet.get_by_role("button", name="Change category").click()
    expect(sheet.get_by_role("dialog", name="Change category")).to_be_in_viewport(ratio=1)
    assert accessibility_violations(page) == [], "choosing a category"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_managing_works_without_javascript(open_page, five):
    page = open_page("/memory/", java_script_enabled=False)
    page.get_by_role("link", name="Manage").click()
    box(page, "Cork").check()
    box(page, "Dover").check()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Forgot 2 memories")).to_be_visible()
    expect(page.get_by_role("checkbox")).to_have_count(3)
    page.get_by_role("link", name="Done").click()
    expect(page.locator("article.card")).to_have_count(3)
