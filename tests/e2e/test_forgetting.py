"""Forgetting can be taken back for four seconds, and then it has happened, whatever became of the tab."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from chat.models import Deletion, Fact
from tests.waiting import until

from .hands import card, open_panel, pill

pytestmark = pytest.mark.browser


@pytest.fixture
def two(make_fact):
    """Two memories."""
    make_fact("User likes jazz")
    make_fact("User lives in Lyon", category="identity", kind="home")


def forget(sheet, text):
    """Press a card's bin and return the toast that tells of it."""
    card(sheet, text).hover()
    card(sheet, text).get_by_role("button", name="Forget").click()
    return sheet.locator(".toast").filter(has_text=text)


def test_undoing_one_of_two_lets_the_other_go(open_page, two):
    page = open_page()
    sheet = open_panel(page)
    toast = forget(sheet, "jazz")
    other = forget(sheet, "Lyon")
    expect(pill(page, 0)).to_have_count(1)
    toast.get_by_role("button", name="Undo").click()
    expect(card(sheet, "jazz")).to_be_visible()
    expect(other).to_have_count(0)
    until(lambda: Fact.objects.count() == 1, 15)
    expect(card(sheet, "jazz")).to_be_visible()
    assert Fact.objects.get().text == "User likes jazz"
    assert sorted(Deletion.objects.values_list("state", flat=True)) == ["done", "undone"]


def test_a_reload_shows_what_can_still_be_undone_and_undoes_it(open_page, two):
    page = open_page("/memory/")
    card(page, "jazz").hover()
    card(page, "jazz").get_by_role("button", name="Forget").click()
    expect(card(page, "jazz")).to_have_count(0)
    page.reload()
    toast = page.locator(".toast").filter(has_text="Forgot “Likes jazz”")
    toast.get_by_role("button", name="Undo").click()
    expect(card(page, "jazz")).to_be_visible()
    assert Fact.objects.live().count() == 2


def test_the_shortcut_takes_the_last_one_back(open_page, two):
    page = open_page()
    sheet = open_panel(page)
    forget(sheet, "jazz")
    expect(card(sheet, "jazz")).to_have_count(0)
    page.keyboard.press("Control+Z")
    expect(card(sheet, "jazz")).to_be_visible()


def test_another_tab_sees_it_go_and_come_back(open_page, two):
    first, second = open_page(), open_page("/memory/")
    sheet = open_panel(first)
    toast = forget(sheet, "jazz")
    expect(card(second, "jazz")).to_have_count(0)
    expect(pill(second, 1)).to_be_visible()
    toast.get_by_role("button", name="Undo").click()
    expect(card(second, "jazz")).to_be_visible()
    expect(pill(second, 2)).to_be_visible()
