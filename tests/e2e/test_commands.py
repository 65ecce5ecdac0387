"""Typing a slash offers commands; arrow keys, Enter, Tab and Escape work as in any list."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from .hands import card, findings, reply, say

pytestmark = pytest.mark.browser


@pytest.fixture
def page(open_page, scripted):
    """A chat of one exchange."""
    page = open_page()
    say(page, "Hello")
    page.wait_for_url("**/c/**")
    expect(reply(page)).to_be_visible()
    return page


def box(page):
    return page.get_by_role("textbox", name="Message", exact=True)


def options(page):
    return page.get_by_role("listbox", name="Commands").get_by_role("option")


def test_a_slash_opens_the_list_and_letters_narrow_it(page):
    box(page).press_sequentially("/")
    expect(options(page).filter(visible=True)).to_have_count(options(page).count())
    box(page).press_sequentially("re")
    expect(options(page).filter(visible=True)).to_have_text([re.compile("/remember")])
    assert findings(page) == []


def test_arrow_keys_go_round_and_say_where_they_are(page):
    box(page).press_sequentially("/")
    expect(box(page)).to_have_attribute("aria-activedescendant", "command-new")
    box(page).press("ArrowDown")
    expect(box(page)).to_have_attribute("aria-activedescendant", "command-temporary")
    box(page).press("ArrowUp")
    box(page).press("ArrowUp")
    expect(options(page).last).to_have_attribute("aria-selected", "true")
    box(page).press("ArrowDown")
    expect(options(page).first).to_have_attribute("aria-selected", "true")


def test_a_pointer_that_rests_where_the_list_opens_marks_nothing_of_its_own(open_page, scripted):
    page = open_page()
    box = page.get_by_role("textbox", name="Message", exact=True)
    box.fill("/")
    page.get_by_role("option").nth(3).hover()
    box.press("ArrowDown")
    grey = "e => getComputedStyle(e).backgroundColor !== 'rgba(0, 0, 0, 0)'"
    page.wait_for_timeout(300)
    assert [o.evaluate(grey) for o in page.get_by_role("option").all()].count(True) == 1
    expect(page.get_by_role("option").nth(4)).to_have_attribute("aria-selected", "true")


def test_tab_completes_and_escape_closes(page):
    box(page).press_sequentially("/rem")
    box(page).press("Tab")
    expect(box(page)).to_have_value("/remember ")
    expect(box(page)).to_be_focused()
    box(page).fill("/c")
    expect(options(page).filter(visible=True)).to_have_count(1)
    box(page).press("Escape")
    expect(page.get_by_role("listbox")).to_have_count(0)
    expect(box(page)).to_have_value("/c")


def test_a_path_is_no_command(page):
    box(page).press_sequentially("/etc/hosts what is this")
    expect(page.get_by_role("listbox")).to_have_count(0)
    box(page).press("Enter")
    expect(page.locator("[data-role=user]").last).to_contain_text("/etc/hosts")


def test_an_unknown_command_is_kept_in_the_box(page):
    say(page, "/nonsense")
    expect(page.locator("[data-toasts]").first).to_contain_text("no command /nonsense")
    expect(box(page)).to_have_value("/nonsense")


def test_remember_is_undone_at_a_press(page):
    say(page, "/remember I live in Oslo")
    toast = page.locator(".toast").filter(has_text="Remembered “I live in Oslo”")
    expect(page.get_by_role("link", name="1 memory")).to_be_visible()
    expect(box(page)).to_have_value("")
    toast.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("link", name="0 memories")).to_be_visible()


def test_unlearn_forgets_with_undo(page, make_fact):
    make_fact("User likes chess")
    say(page, "/unlearn chess")
    toast = page.locator(".toast").filter(has_text="Forgot “Likes chess”")
    toast.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("link", name="1 memory")).to_be_visible()


def test_memories_opens_the_panel(page, make_fact):
    make_fact("User likes chess")
    say(page, "/memories")
    expect(card(page.get_by_role("dialog", name="Memory"), "chess")).to_be_visible()


def test_help_lists_the_shortcuts(page):
    box(page).press_sequentially("/he")
    box(page).press("Enter")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()


def test_clear_draws_a_line_in_every_tab_and_history_takes_it_away(page, open_page):
    second = open_page(page.evaluate("location.pathname"))
    say(page, "/clear")
    for tab in (page, second):
        expect(tab.get_by_text("Cleared here: the model no longer sees what is above")).to_be_visible()
    say(page, "/history")
    for tab in (page, second):
        expect(tab.get_by_text("Cleared here")).to_have_count(0)


def test_new_leads_to_an_empty_chat_without_a_draft(page):
    say(page, "/new")
    page.wait_for_url(re.compile(r"/$"))
    expect(box(page)).to_have_value("")


@pytest.mark.parametrize("width", [1280, 390])
def test_sessions_leads_into_the_list_of_chats(page, open_page, width):
    tab = open_page(page.evaluate("location.pathname"), width=width)
    say(tab, "/sessions")
    expect(tab.get_by_role("navigation", name="Conversations")).to_be_visible()
    expect(tab.locator("#side :focus")).to_be_visible()
