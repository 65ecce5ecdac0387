"""Clearing memory in a browser: confirmation in place, immediate removal, eight seconds to undo."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from chat.actions import facts
from chat.models import Deletion, Fact
from tests.waiting import wait_until

from .page_actions import (
    end_time_to_undo,
    fact_card,
    memory_pill,
    open_panel,
    scripted_extractor,
    send_message,
)

pytestmark = pytest.mark.browser


@pytest.fixture
def three(owner, live):
    """Three memories with a history."""
    for text in ("I like chess", "I like tea", "I like rain"):
        facts.add_fact(owner, text)


def clear_memory(place):
    """Press "Clear all memory", confirm, and return the toast of the deletion."""
    place.get_by_role("link", name="Clear all memory").click()
    expect(place.get_by_role("alert")).to_have_text("This will remove all 3 facts")
    place.get_by_role("button", name="Clear", exact=True).click()
    return place.locator(".toast").filter(has_text="Memory cleared")


def test_the_confirmation_can_be_answered_with_keep(open_page, three):
    sheet = open_panel(open_page())
    sheet.get_by_role("link", name="Clear all memory").click()
    expect(sheet.get_by_role("link", name="Keep")).to_be_focused()
    sheet.get_by_role("link", name="Keep").press("Enter")
    expect(sheet.get_by_role("link", name="Clear all memory")).to_be_visible()
    expect(sheet.locator("article.card")).to_have_count(3)


def test_the_cards_disappear_at_once_and_undo_restores_all(open_page, three):
    page = open_page()
    sheet = open_panel(page)
    bar = clear_memory(sheet)
    expect(sheet.get_by_text("No memories yet.")).to_be_visible()
    expect(memory_pill(page, 0)).to_have_count(1)
    bar.get_by_role("button", name="Undo").click()
    expect(sheet.locator("article.card")).to_have_count(3)
    expect(sheet.get_by_role("link", name="Clear all memory")).to_be_visible()
    assert Deletion.objects.get().state == "undone"


def test_after_a_reload_the_toast_is_shown_again_and_undo_works(open_page, three):
    page = open_page("/memory/")
    expect(clear_memory(page)).to_be_visible()
    page.reload()
    bar = page.locator(".toast.wide").filter(has_text="Memory cleared")
    bar.get_by_role("button", name="Undo").click()
    expect(fact_card(page, "chess")).to_be_visible()
    assert Fact.objects.live().count() == 3


def test_a_closed_tab_does_not_cancel_the_deletion_and_later_facts_stay(open_page, three):
    page = open_page()
    sheet = open_panel(page)
    expect(clear_memory(sheet)).to_be_visible()
    sheet.get_by_role("textbox", name="Remember something").fill("I like snow")
    page.keyboard.press("Enter")
    expect(fact_card(sheet, "snow")).to_be_visible()
    page.close()
    end_time_to_undo()
    wait_until(lambda: Fact.objects.count() == 1, 20)
    assert Fact.objects.get().text == "I like snow"


def test_a_message_sent_after_clearing_is_extracted_and_its_fact_stays(open_page, three, scripted):
    page = open_page()
    sheet = open_panel(page)
    expect(clear_memory(sheet)).to_be_visible()
    page.keyboard.press("Escape")
    scripted.completions.extend([scripted_extractor({"Copenhagen": "home: User lives in Copenhagen"})] * 4)
    send_message(page, "I live in Copenhagen")
    page.wait_for_url("**/c/**")
    expect(memory_pill(page, 1)).to_be_visible()
    end_time_to_undo()
    wait_until(lambda: Deletion.objects.get().state == "done", 20)
    assert [fact.text for fact in Fact.objects.all()] == ["User lives in Copenhagen"]
    expect(fact_card(open_panel(page), "Lives in Copenhagen")).to_be_visible()


def test_several_deletions_are_undone_one_by_one(open_page, three):
    page = open_page()
    sheet = open_panel(page)
    sheet.get_by_role("textbox", name="Remember something").fill("I like snow")
    page.keyboard.press("Enter")
    fact_card(sheet, "snow").hover()
    fact_card(sheet, "snow").get_by_role("button", name="Forget").click()
    expect(fact_card(sheet, "snow")).to_have_count(0)
    bar = clear_memory(sheet)
    sheet.locator(".toast").filter(has_text="snow").get_by_role("button", name="Undo").click()
    expect(fact_card(sheet, "snow")).to_be_visible()
    expect(sheet.locator("article.card")).to_have_count(1)
    bar.get_by_role("button", name="Undo").click()
    expect(sheet.locator("article.card")).to_have_count(4)


def test_clearing_and_undo_work_without_javascript(open_page, three):
    page = open_page("/memory/", java_script_enabled=False)
    clear_memory(page).get_by_role("button", name="Undo").click()
    expect(fact_card(page, "chess")).to_be_visible()


def test_an_undo_that_cannot_restore_the_fact_says_so(open_page, owner, live):
    facts.add_fact(owner, "I live in Oslo")
    page = open_page()
    sheet = open_panel(page)
    fact_card(sheet, "Oslo").hover()
    fact_card(sheet, "Oslo").get_by_role("button", name="Forget").click()
    expect(fact_card(sheet, "Oslo")).to_have_count(0)
    facts.add_fact(owner, "I live in Bergen")
    sheet.locator(".toast").get_by_role("button", name="Undo").click()
    expect(sheet.locator("[data-toasts]")).to_contain_text("replaced by a newer memory")
    expect(fact_card(sheet, "Bergen")).to_be_visible()
