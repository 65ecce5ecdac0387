"""The memory panel in a browser: reading, editing, pinning, forgetting and undo."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from chat.models import Fact
from tests.waiting import wait_until

from .page_actions import fact_card, memory_pill, open_panel

pytestmark = pytest.mark.browser


@pytest.fixture
def three(make_fact):
    """Three memories, one of each category."""
    make_fact("User is building a synth", category="project", kind="building")
    make_fact("User likes jazz")
    make_fact("User lives in Lyon", category="identity", kind="home")


def test_the_pill_and_the_shortcut_open_the_panel_and_escape_returns_the_focus(open_page, three):
    page = open_page()
    memory_pill(page, 3).click()
    sheet = page.get_by_role("dialog", name="Memory")
    expect(fact_card(sheet, "jazz")).to_be_visible()
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    expect(memory_pill(page, 3)).to_be_focused()
    open_panel(page)
    page.keyboard.press("Control+Shift+M")
    expect(sheet).to_be_hidden()
    open_panel(page)
    page.mouse.click(20, 400)
    expect(sheet).to_be_hidden()


# A browser that does not know `closedby`, such as Safari.
WITHOUT_CLOSEDBY = """
delete HTMLDialogElement.prototype.closedBy;
new MutationObserver(() => {
  for (const dialog of document.querySelectorAll("dialog")) dialog.removeAttribute("closedby");
}).observe(document, { childList: true, subtree: true });
"""


@pytest.fixture
def sheet_without_closedby(open_page, three):
    """The open panel in a browser that does not know `closedby`."""
    page = open_page("/login/")
    page.add_init_script(WITHOUT_CLOSEDBY)
    page.goto("/")
    memory_pill(page, 3).click()
    sheet = page.get_by_role("dialog", name="Memory")
    expect(fact_card(sheet, "jazz")).to_be_visible()
    return sheet


def test_a_click_outside_closes_the_panel_in_a_browser_without_closedby(sheet_without_closedby):
    page = sheet_without_closedby.page
    assert page.locator("dialog[closedby]").count() == 0
    assert not page.evaluate("'closedBy' in HTMLDialogElement.prototype")
    sheet_without_closedby.get_by_role("heading", name="Memory", exact=True).click()
    expect(sheet_without_closedby).to_be_visible()
    page.mouse.click(20, 400)
    expect(sheet_without_closedby).to_be_hidden()
    expect(memory_pill(page, 3)).to_be_focused()


def test_text_selected_beyond_the_edge_does_not_close_the_panel(sheet_without_closedby):
    page = sheet_without_closedby.page
    place = fact_card(sheet_without_closedby, "jazz").locator("time").bounding_box()
    assert place is not None
    page.mouse.move(place["x"] + place["width"] - 1, place["y"] + place["height"] / 2)
    page.mouse.down()
    page.mouse.move(20, place["y"], steps=5)
    page.mouse.up()
    expect(sheet_without_closedby).to_be_visible()
    page.mouse.click(20, 400)
    expect(sheet_without_closedby).to_be_hidden()


def test_the_pill_shows_an_arrow_that_is_not_in_its_name(open_page, three):
    pill = open_page().locator("#pill")
    expect(pill).to_have_text("3 memories ↗")
    expect(pill).to_have_accessible_name("3 memories")


def test_escape_returns_the_focus_to_a_pill_whose_count_has_changed(open_page, scripted, three):
    page = open_page()
    memory_pill(page, 3).click()
    sheet = page.get_by_role("dialog", name="Memory")
    box = sheet.get_by_role("textbox", name="Remember something")
    box.fill("I prefer tea to coffee")
    box.press("Enter")
    expect(page.locator("#pill")).to_have_attribute("data-count", "4")
    page.keyboard.press("Escape")
    expect(memory_pill(page, 4)).to_be_focused()


def test_cards_are_grouped_by_category_in_a_fixed_order(open_page, three):
    sheet = open_panel(open_page())
    expect(sheet.locator("h3")).to_have_text(
        [re.compile("Project"), re.compile("Preference"), re.compile("Identity")]
    )


def test_a_click_edits_the_text_and_enter_saves_and_escape_cancels(open_page, three):
    sheet = open_panel(open_page())
    fact_card(sheet, "jazz").get_by_role("link", name="Likes jazz").click()
    line = sheet.get_by_role("textbox", name="Memory", exact=True)
    line.fill("User likes bebop")
    line.press("Escape")
    expect(fact_card(sheet, "Likes jazz")).to_be_visible()
    fact_card(sheet, "jazz").get_by_role("link", name="Likes jazz").click()
    line.fill("User likes bebop")
    line.press("Enter")
    expect(fact_card(sheet, "Likes bebop")).to_be_visible()
    assert Fact.objects.filter(text="User likes bebop", version=2).exists()


def test_the_full_form_moves_a_card_to_another_category(open_page, three):
    sheet = open_panel(open_page())
    fact_card(sheet, "jazz").hover()
    fact_card(sheet, "jazz").get_by_role("link", name="Edit").click()
    sheet.get_by_role("combobox", name="Category").select_option("identity")
    sheet.get_by_role("button", name="Save").click()
    expect(fact_card(sheet, "jazz")).to_have_attribute("data-category", "identity")


def test_the_eleventh_pin_offers_to_unpin_the_oldest(open_page, make_fact):
    for i in range(10):
        make_fact(f"User likes colour {i}", pinned=True)
    make_fact("User likes jazz")
    sheet = open_panel(open_page())
    fact_card(sheet, "jazz").hover()
    fact_card(sheet, "jazz").get_by_role("button", name="Pin").click()
    offer = fact_card(sheet, "jazz").get_by_role("alert")
    expect(offer).to_contain_text("Unpin the oldest, “Likes colour 0”?")
    expect(fact_card(sheet, "jazz").get_by_role("button", name="Unpin it and pin this")).to_be_in_viewport(
        ratio=1
    )
    fact_card(sheet, "jazz").get_by_role("link", name="Leave it").click()
    expect(fact_card(sheet, "jazz").get_by_role("alert")).to_have_count(0)
    fact_card(sheet, "jazz").hover()
    fact_card(sheet, "jazz").get_by_role("button", name="Pin").click()
    fact_card(sheet, "jazz").get_by_role("button", name="Unpin it and pin this").click()
    pin = fact_card(sheet, "jazz").get_by_role("button", name="Pin", exact=True)
    expect(pin).to_have_attribute("aria-pressed", "true")
    assert Fact.objects.filter(pinned=True).count() == 10


def test_a_fact_written_by_hand_appears_as_a_card_at_once(open_page, scripted):
    sheet = open_panel(open_page())
    expect(sheet).to_contain_text("No memories yet. I'll learn as we talk.")
    box = sheet.get_by_role("textbox", name="Remember something")
    box.fill("I prefer tea to coffee")
    box.press("Enter")
    expect(fact_card(sheet, "I prefer tea to coffee")).to_be_visible()


def forget(sheet, text):
    """Forget the fact on a card."""
    fact_card(sheet, text).hover()
    fact_card(sheet, text).get_by_role("button", name="Forget").click()
    expect(fact_card(sheet, text)).to_have_count(0)


def test_two_deletions_are_undone_one_by_one(open_page, three):
    sheet = open_panel(open_page())
    forget(sheet, "jazz")
    forget(sheet, "Lyon")
    toast = sheet.locator(".toast").filter(has_text="jazz")
    toast.get_by_role("button", name="Undo").click()
    expect(fact_card(sheet, "jazz")).to_be_visible()
    expect(fact_card(sheet, "Lyon")).to_have_count(0)


def test_a_closed_tab_does_not_cancel_the_deletion(open_page, three):
    page = open_page()
    forget(open_panel(page), "jazz")
    page.close()
    page = open_page("/memory/")
    expect(page.locator(".toast")).to_contain_text("Forgot")
    expect(page.locator(".toast")).to_have_count(0, timeout=10_000)
    wait_until(lambda: not Fact.objects.filter(text="User likes jazz").exists())


def test_two_open_tabs_show_the_same_facts(open_page, three):
    first, second = open_page(), open_page()
    sheet = open_panel(second)
    forget(open_panel(first), "jazz")
    expect(fact_card(sheet, "jazz")).to_have_count(0)
    expect(memory_pill(second, 2)).to_have_count(1)


def test_the_selected_tab_keeps_its_style_under_the_pointer(open_page, three):
    sheet = open_panel(open_page())
    chosen = sheet.get_by_role("tab", name="Project")
    colour = "e => getComputedStyle(e).backgroundColor"
    before = sheet.get_by_role("tab", name="All").evaluate(colour)
    chosen.click()
    expect(chosen).to_have_attribute("aria-selected", "true")
    chosen.hover()
    expect(chosen).to_have_css("background-color", before)


def test_a_tab_uses_the_present_text_of_the_search_box(open_page, three):
    page = open_page()
    sheet = open_panel(page)
    sheet.get_by_role("searchbox").fill("lyon")
    expect(sheet.locator("article.card")).to_have_count(1)
    # Empty the search box without an event, so the page has not requested the list for the empty search.
    sheet.get_by_role("searchbox").evaluate("box => { box.value = '' }")
    sheet.get_by_role("tab", name="Project").click()
    expect(fact_card(sheet, "synth")).to_be_visible()


def test_search_and_tabs_filter_the_list(open_page, three):
    sheet = open_panel(open_page())
    sheet.get_by_role("searchbox").fill("lyon")
    expect(sheet.locator("article.card")).to_have_count(1)
    sheet.get_by_role("searchbox").fill("")
    sheet.get_by_role("tab", name="Project").click()
    expect(sheet.locator("article.card")).to_have_count(1)
    expect(fact_card(sheet, "synth")).to_be_visible()
