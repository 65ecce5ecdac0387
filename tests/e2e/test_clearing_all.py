"""Clear all: asked in place, gone at once, back for eight seconds, whatever becomes of the tab."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from chat.actions import facts
from chat.models import Deletion, Fact
from tests.waiting import until

from .hands import card, open_panel, pill, reader, say

pytestmark = pytest.mark.browser


@pytest.fixture
def three(owner, live):
    """Three memories with a history."""
    for text in ("I like chess", "I like tea", "I like rain"):
        facts.add_fact(owner, text)


def clear(place):
    """Press "Clear all memory" and confirm; returns the bar that tells of it."""
    place.get_by_role("link", name="Clear all memory").click()
    expect(place.get_by_role("alert")).to_have_text("This will remove all 3 facts")
    place.get_by_role("button", name="Clear", exact=True).click()
    return place.locator(".toast").filter(has_text="Memory cleared")


def test_the_question_can_be_answered_with_keep(open_page, three):
    sheet = open_panel(open_page())
    sheet.get_by_role("link", name="Clear all memory").click()
    expect(sheet.get_by_role("link", name="Keep")).to_be_focused()
    sheet.get_by_role("link", name="Keep").press("Enter")
    expect(sheet.get_by_role("link", name="Clear all memory")).to_be_visible()
    expect(sheet.locator("article.card")).to_have_count(3)


def test_the_cards_leave_at_once_and_undo_brings_all_back(open_page, three):
    page = open_page()
    sheet = open_panel(page)
    bar = clear(sheet)
    expect(sheet.get_by_text("No memories yet.")).to_be_visible()
    expect(pill(page, 0)).to_have_count(1)
    bar.get_by_role("button", name="Undo").click()
    expect(sheet.locator("article.card")).to_have_count(3)
    expect(sheet.get_by_role("link", name="Clear all memory")).to_be_visible()
    assert Deletion.objects.get().state == "undone"


def test_after_a_reload_the_bar_is_there_again_and_undo_still_works(open_page, three):
    page = open_page("/memory/")
    expect(clear(page)).to_be_visible()
    page.reload()
    bar = page.locator(".toast.wide").filter(has_text="Memory cleared")
    bar.get_by_role("button", name="Undo").click()
    expect(card(page, "chess")).to_be_visible()
    assert Fact.objects.live().count() == 3


def test_a_closed_tab_does_not_lose_it_and_what_is_added_after_the_press_stays(open_page, three):
    page = open_page()
    sheet = open_panel(page)
    expect(clear(sheet)).to_be_visible()
    sheet.get_by_role("textbox", name="Remember something").fill("I like snow")
    page.keyboard.press("Enter")
    expect(card(sheet, "snow")).to_be_visible()
    page.close()
    until(lambda: Fact.objects.count() == 1, 20)
    assert Fact.objects.get().text == "I like snow"


def test_what_is_said_after_the_press_is_learned_and_stays(open_page, three, scripted):
    page = open_page()
    sheet = open_panel(page)
    expect(clear(sheet)).to_be_visible()
    page.keyboard.press("Escape")
    scripted.completions.extend([reader({"Copenhagen": "home: User lives in Copenhagen"})] * 4)
    say(page, "I live in Copenhagen")
    page.wait_for_url("**/c/**")
    expect(pill(page, 1)).to_be_visible()
    until(lambda: Deletion.objects.get().state == "done", 20)
    assert [fact.text for fact in Fact.objects.all()] == ["User lives in Copenhagen"]
    expect(card(open_panel(page), "Lives in Copenhagen")).to_be_visible()


def test_several_batches_are_undone_one_by_one(open_page, three):
    page = open_page()
    sheet = open_panel(page)
    sheet.get_by_role("textbox", name="Remember something").fill("I like snow")
    page.keyboard.press("Enter")
    card(sheet, "snow").hover()
    card(sheet, "snow").get_by_role("button", name="Forget").click()
    expect(card(sheet, "snow")).to_have_count(0)
    bar = clear(sheet)
    sheet.locator(".toast").filter(has_text="snow").get_by_role("button", name="Undo").click()
    expect(card(sheet, "snow")).to_be_visible()
    expect(sheet.locator("article.card")).to_have_count(1)
    bar.get_by_role("button", name="Undo").click()
    expect(sheet.locator("article.card")).to_have_count(4)


def test_it_works_without_javascript(open_page, three):
    page = open_page("/memory/", java_script_enabled=False)
    clear(page).get_by_role("button", name="Undo").click()
    expect(card(page, "chess")).to_be_visible()


def test_an_undo_that_does_not_bring_it_back_as_it_was_says_so(open_page, owner, live):
    facts.add_fact(owner, "I live in Oslo")
    page = open_page()
    sheet = open_panel(page)
    card(sheet, "Oslo").hover()
    card(sheet, "Oslo").get_by_role("button", name="Forget").click()
    expect(card(sheet, "Oslo")).to_have_count(0)
    facts.add_fact(owner, "I live in Bergen")
    sheet.locator(".toast").get_by_role("button", name="Undo").click()
    expect(sheet.locator("[data-toasts]")).to_contain_text("replaced by something newer")
    expect(card(sheet, "Bergen")).to_be_visible()
