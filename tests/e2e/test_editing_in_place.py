"""Editing a memory in place: leaving the line saves, a double click opens the full form."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from chat.models import Fact
from tests.waiting import wait_until

from .page_actions import fact_card, open_panel

pytestmark = pytest.mark.browser


@pytest.fixture
def sheet(open_page, make_fact):
    """The open panel with one memory."""
    make_fact("User likes jazz")
    return open_panel(open_page())


def edit_field(sheet):
    """Return the text field in which a memory is edited."""
    return sheet.get_by_role("textbox", name="Memory", exact=True)


def test_leaving_the_line_saves_the_change(sheet):
    sheet.get_by_role("link", name="Likes jazz").click()
    edit_field(sheet).fill("User likes bebop")
    sheet.get_by_role("searchbox").click()
    expect(sheet.get_by_role("link", name="Likes bebop")).to_be_visible()
    assert Fact.objects.get().text == "User likes bebop"


def test_leaving_an_unchanged_line_changes_nothing(sheet):
    sheet.get_by_role("link", name="Likes jazz").click()
    expect(edit_field(sheet)).to_be_focused()
    sheet.get_by_role("searchbox").click()
    expect(sheet.get_by_role("link", name="Likes jazz")).to_be_visible()
    assert Fact.objects.get().version == 1


def test_escape_cancels_the_edit_and_leaves_the_panel_open(sheet):
    sheet.get_by_role("link", name="Likes jazz").click()
    edit_field(sheet).fill("User likes nothing")
    edit_field(sheet).press("Escape")
    expect(sheet.get_by_role("link", name="Likes jazz")).to_be_focused()
    expect(sheet).to_be_visible()
    assert Fact.objects.get().version == 1


def test_a_double_click_opens_text_and_category(sheet):
    sheet.get_by_role("link", name="Likes jazz").dblclick()
    expect(sheet.get_by_role("combobox", name="Category")).to_be_visible()
    edit_field(sheet).fill("User is writing a jazz opera")
    sheet.get_by_role("combobox", name="Category").select_option("project")
    sheet.get_by_role("button", name="Save").click()
    expect(fact_card(sheet, "jazz opera")).to_have_attribute("data-category", "project")
    wait_until(lambda: Fact.objects.get().category == "project")


def test_an_empty_text_is_refused_and_the_old_one_stays(sheet):
    sheet.get_by_role("link", name="Likes jazz").dblclick()
    expect(sheet.get_by_role("combobox", name="Category")).to_be_visible()
    edit_field(sheet).fill("   ")
    sheet.get_by_role("button", name="Save").click()
    expect(sheet.get_by_role("alert")).to_have_text("Write what to remember.")
    assert Fact.objects.get().text == "User likes jazz"
