"""Everything that is known can be seen, corrected, pinned, forgotten and brought back."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from chat.models import Fact

from .hands import card, open_panel, pill

pytestmark = pytest.mark.browser


@pytest.fixture
def three(make_fact):
    """Three memories, one on each shelf."""
    make_fact("User is building a synth", category="project", kind="building")
    make_fact("User likes jazz")
    make_fact("User lives in Lyon", category="identity", kind="home")


def test_the_pill_and_the_shortcut_open_the_sheet_and_esc_gives_focus_back(open_page, three):
    page = open_page()
    pill(page, 3).click()
    sheet = page.get_by_role("dialog", name="Memory")
    expect(card(sheet, "jazz")).to_be_visible()
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    expect(pill(page, 3)).to_be_focused()
    open_panel(page)
    page.keyboard.press("Control+Shift+M")
    expect(sheet).to_be_hidden()
    open_panel(page)
    page.mouse.click(20, 400)
    expect(sheet).to_be_hidden()


def test_esc_gives_focus_back_to_a_pill_that_has_counted_on_meanwhile(open_page, scripted, three):
    page = open_page()
    pill(page, 3).click()
    sheet = page.get_by_role("dialog", name="Memory")
    box = sheet.get_by_role("textbox", name="Remember something")
    box.fill("I prefer tea to coffee")
    box.press("Enter")
    expect(page.locator("#pill")).to_have_attribute("data-count", "4")
    page.keyboard.press("Escape")
    expect(pill(page, 4)).to_be_focused()


def test_cards_stand_in_groups_in_the_order_project_preference_identity(open_page, three):
    sheet = open_panel(open_page())
    expect(sheet.locator("h3")).to_have_text(
        [re.compile("Project"), re.compile("Preference"), re.compile("Identity")]
    )


def test_a_click_on_the_text_corrects_it_with_enter_and_esc_leaves_it(open_page, three):
    sheet = open_panel(open_page())
    card(sheet, "jazz").get_by_role("link", name="Likes jazz").click()
    line = sheet.get_by_role("textbox", name="Memory", exact=True)
    line.fill("User likes bebop")
    line.press("Escape")
    expect(card(sheet, "Likes jazz")).to_be_visible()
    card(sheet, "jazz").get_by_role("link", name="Likes jazz").click()
    line.fill("User likes bebop")
    line.press("Enter")
    expect(card(sheet, "Likes bebop")).to_be_visible()
    assert Fact.objects.filter(text="User likes bebop", version=2).exists()


def test_the_full_edit_moves_a_card_to_another_shelf(open_page, three):
    sheet = open_panel(open_page())
    card(sheet, "jazz").hover()
    card(sheet, "jazz").get_by_role("link", name="Edit").click()
    sheet.get_by_role("combobox", name="Category").select_option("identity")
    sheet.get_by_role("button", name="Save").click()
    expect(card(sheet, "jazz")).to_have_attribute("data-category", "identity")


def test_the_eleventh_pin_offers_to_unpin_the_oldest(open_page, make_fact):
    for i in range(10):
        make_fact(f"User likes colour {i}", pinned=True)
    make_fact("User likes jazz")
    sheet = open_panel(open_page())
    card(sheet, "jazz").hover()
    card(sheet, "jazz").get_by_role("button", name="Pin").click()
    offer = card(sheet, "jazz").get_by_role("alert")
    expect(offer).to_contain_text("Unpin the oldest, “Likes colour 0”?")
    expect(card(sheet, "jazz").get_by_role("button", name="Unpin it and pin this")).to_be_in_viewport(ratio=1)
    card(sheet, "jazz").get_by_role("link", name="Leave it").click()
    expect(card(sheet, "jazz").get_by_role("alert")).to_have_count(0)
    card(sheet, "jazz").hover()
    card(sheet, "jazz").get_by_role("button", name="Pin").click()
    card(sheet, "jazz").get_by_role("button", name="Unpin it and pin this").click()
    pin = card(sheet, "jazz").get_by_role("button", name="Pin", exact=True)
    expect(pin).to_have_attribute("aria-pressed", "true")
    assert Fact.objects.filter(pinned=True).count() == 10


def test_what_is_written_by_hand_is_a_card_at_once(open_page, scripted):
    sheet = open_panel(open_page())
    expect(sheet).to_contain_text("No memories yet. I'll learn as we talk.")
    box = sheet.get_by_role("textbox", name="Remember something")
    box.fill("I prefer tea to coffee")
    box.press("Enter")
    expect(card(sheet, "I prefer tea to coffee")).to_be_visible()


def forget(sheet, text):
    """Press a card's bin."""
    card(sheet, text).hover()
    card(sheet, text).get_by_role("button", name="Forget").click()
    expect(card(sheet, text)).to_have_count(0)


def test_two_deletions_inside_one_window_are_undone_one_by_one(open_page, three):
    sheet = open_panel(open_page())
    forget(sheet, "jazz")
    forget(sheet, "Lyon")
    toast = sheet.locator(".toast").filter(has_text="jazz")
    toast.get_by_role("button", name="Undo").click()
    expect(card(sheet, "jazz")).to_be_visible()
    expect(card(sheet, "Lyon")).to_have_count(0)


def test_a_closed_tab_does_not_lose_the_deletion(open_page, three):
    page = open_page()
    forget(open_panel(page), "jazz")
    page.close()
    page = open_page("/memory/")
    expect(page.locator(".toast")).to_contain_text("Forgot")
    expect(page.locator(".toast")).to_have_count(0, timeout=10_000)
    for _ in range(100):
        if not Fact.objects.filter(text="User likes jazz").exists():
            break
        page.wait_for_timeout(100)
    assert not Fact.objects.filter(text="User likes jazz").exists()


def test_two_tabs_agree_while_both_are_open(open_page, three):
    first, second = open_page(), open_page()
    sheet = open_panel(second)
    forget(open_panel(first), "jazz")
    expect(card(sheet, "jazz")).to_have_count(0)
    expect(pill(second, 2)).to_have_count(1)


def test_the_chosen_tab_looks_so_also_under_the_pointer(open_page, three):
    sheet = open_panel(open_page())
    chosen = sheet.get_by_role("tab", name="Project")
    colour = "e => getComputedStyle(e).backgroundColor"
    before = sheet.get_by_role("tab", name="All").evaluate(colour)
    chosen.click()
    expect(chosen).to_have_attribute("aria-selected", "true")
    chosen.hover()
    expect(chosen).to_have_css("background-color", before)


def test_search_and_tabs_narrow_the_list(open_page, three):
    sheet = open_panel(open_page())
    sheet.get_by_role("searchbox").fill("lyon")
    expect(sheet.locator("article.card")).to_have_count(1)
    sheet.get_by_role("searchbox").fill("")
    sheet.get_by_role("tab", name="Project").click()
    expect(sheet.locator("article.card")).to_have_count(1)
    expect(card(sheet, "synth")).to_be_visible()
