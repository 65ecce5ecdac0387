"""Forgetting can be undone for four seconds; then the fact is deleted, also if the tab was closed."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from chat.models import Deletion, Fact
from tests.waiting import wait_until

from .page_actions import fact_card, memory_pill, open_panel

pytestmark = pytest.mark.browser


@pytest.fixture
def two(make_fact):
    """Two memories."""
    make_fact("User likes jazz")
    make_fact("User lives in Lyon", category="identity", kind="home")


def forget(sheet, text):
    """Forget the fact on a card and return the toast of the deletion."""
    fact_card(sheet, text).hover()
    fact_card(sheet, text).get_by_role("button", name="Forget").click()
    return sheet.locator(".toast").filter(has_text=text)


def test_undoing_one_of_two_deletions_lets_the_other_finish(open_page, two):
    page = open_page()
    sheet = open_panel(page)
    toast = forget(sheet, "jazz")
    other = forget(sheet, "Lyon")
    expect(memory_pill(page, 0)).to_have_count(1)
    toast.get_by_role("button", name="Undo").click()
    expect(fact_card(sheet, "jazz")).to_be_visible()
    expect(other).to_have_count(0)
    wait_until(lambda: Fact.objects.count() == 1, 15)
    expect(fact_card(sheet, "jazz")).to_be_visible()
    assert Fact.objects.get().text == "User likes jazz"
    assert sorted(Deletion.objects.values_list("state", flat=True)) == ["done", "undone"]


def test_a_reload_offers_undo_again(open_page, two):
    page = open_page("/memory/")
    fact_card(page, "jazz").hover()
    fact_card(page, "jazz").get_by_role("button", name="Forget").click()
    expect(fact_card(page, "jazz")).to_have_count(0)
    page.reload()
    toast = page.locator(".toast").filter(has_text="Forgot “Likes jazz”")
    toast.get_by_role("button", name="Undo").click()
    expect(fact_card(page, "jazz")).to_be_visible()
    assert Fact.objects.live().count() == 2


def test_the_shortcut_undoes_the_last_deletion(open_page, two):
    page = open_page()
    sheet = open_panel(page)
    forget(sheet, "jazz")
    expect(fact_card(sheet, "jazz")).to_have_count(0)
    page.keyboard.press("Control+Z")
    expect(fact_card(sheet, "jazz")).to_be_visible()


def test_another_tab_shows_the_deletion_and_the_undo(open_page, two):
    first, second = open_page(), open_page("/memory/")
    sheet = open_panel(first)
    toast = forget(sheet, "jazz")
    expect(fact_card(second, "jazz")).to_have_count(0)
    expect(memory_pill(second, 1)).to_be_visible()
    toast.get_by_role("button", name="Undo").click()
    expect(fact_card(second, "jazz")).to_be_visible()
    expect(memory_pill(second, 2)).to_be_visible()
