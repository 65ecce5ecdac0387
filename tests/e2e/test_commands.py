"""Typing a slash offers commands; arrow keys, Enter, Tab and Escape work as in any listbox."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from .page_actions import accessibility_violations, fact_card, send_message

pytestmark = pytest.mark.browser


@pytest.fixture
def page(open_page, add_exchange):
    """A chat with one exchange."""
    return open_page(f"/c/{add_exchange('Hello').pk}/")


def box(page):
    return page.get_by_role("textbox", name="Message", exact=True)


def options(page):
    return page.get_by_role("listbox", name="Commands").get_by_role("option")


def test_a_slash_opens_the_list_and_letters_filter_it(page):
    box(page).press_sequentially("/")
    expect(options(page).filter(visible=True)).to_have_count(options(page).count())
    box(page).press_sequentially("rem")
    expect(options(page).filter(visible=True)).to_have_text([re.compile("/remember")])
    assert accessibility_violations(page) == []


def test_arrow_keys_wrap_around_and_announce_the_active_option(page):
    box(page).press_sequentially("/")
    expect(box(page)).to_have_attribute("aria-activedescendant", "command-new")
    box(page).press("ArrowDown")
    expect(box(page)).to_have_attribute("aria-activedescendant", "command-temporary")
    box(page).press("ArrowUp")
    box(page).press("ArrowUp")
    expect(options(page).last).to_have_attribute("aria-selected", "true")
    box(page).press("ArrowDown")
    expect(options(page).first).to_have_attribute("aria-selected", "true")


def test_a_resting_pointer_highlights_no_second_option(open_page, scripted):
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


def test_a_path_is_sent_as_a_message(page):
    box(page).press_sequentially("/etc/hosts what is this")
    expect(page.get_by_role("listbox")).to_have_count(0)
    box(page).press("Enter")
    expect(page.locator("[data-role=user]").last).to_contain_text("/etc/hosts")


def test_an_unknown_command_is_reported_and_stays_in_the_box(page):
    send_message(page, "/nonsense")
    expect(page.locator("[data-toasts]").first).to_contain_text("no command /nonsense")
    expect(box(page)).to_have_value("/nonsense")


def test_remember_offers_undo(page):
    send_message(page, "/remember I live in Oslo")
    toast = page.locator(".toast").filter(has_text="Remembered “I live in Oslo”")
    expect(page.get_by_role("link", name="1 memory")).to_be_visible()
    expect(box(page)).to_have_value("")
    toast.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("link", name="0 memories")).to_be_visible()


def test_unlearn_forgets_and_offers_undo(page, make_fact):
    make_fact("User likes chess")
    send_message(page, "/unlearn chess")
    toast = page.locator(".toast").filter(has_text="Forgot “Likes chess”")
    toast.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("link", name="1 memory")).to_be_visible()


def test_memories_opens_the_panel(page, make_fact):
    make_fact("User likes chess")
    send_message(page, "/memories")
    expect(fact_card(page.get_by_role("dialog", name="Memory"), "chess")).to_be_visible()


def test_help_lists_the_shortcuts(page):
    box(page).press_sequentially("/he")
    box(page).press("Enter")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()


def test_clear_shows_a_line_in_every_tab_and_restore_removes_it(page, open_page):
    second = open_page(page.evaluate("location.pathname"))
    send_message(page, "/clear")
    for tab in (page, second):
        expect(tab.get_by_text("Cleared here: the model no longer sees the messages above")).to_be_visible()
    send_message(page, "/restore")
    for tab in (page, second):
        expect(tab.get_by_text("Cleared here")).to_have_count(0)


def test_the_button_at_the_line_shows_the_messages_to_the_model_again(page):
    send_message(page, "/clear")
    expect(page.locator(".toast").filter(has_text="/restore brings it back")).to_be_visible()
    assert accessibility_violations(page) == []
    page.get_by_role("button", name="Bring them back").click()
    expect(page.get_by_text("Cleared here")).to_have_count(0)
    expect(page.locator(".toast").filter(has_text="The model sees everything")).to_be_visible()


def test_history_shows_the_first_message_and_keeps_the_line(open_page, add_exchange):
    conversation = add_exchange("Hello")
    for n in range(12):
        add_exchange(f"Message {n} " + "word " * 60, conversation)
    page = open_page(f"/c/{conversation.pk}/")
    send_message(page, "/clear")
    expect(page.get_by_text("Cleared here")).to_be_visible()
    first = page.locator("[data-role=user]").first
    expect(first).not_to_be_in_viewport()
    send_message(page, "/history")
    page.wait_for_url("**?m=**")
    expect(first).to_be_in_viewport()
    expect(page.get_by_text("Cleared here")).to_have_count(1)
    page.wait_for_timeout(500)
    expect(page.get_by_role("button", name="New text")).to_be_hidden()


def test_new_opens_an_empty_chat_without_a_draft(page):
    send_message(page, "/new")
    # Closing a page while it navigates can hang Chromium, so the end of the navigation is awaited.
    page.wait_for_url(lambda url: "/c/" not in url)
    expect(page.get_by_role("heading", level=1)).to_have_text("New chat")
    expect(box(page)).to_have_value("")


@pytest.mark.parametrize("width", [1280, 390])
def test_sessions_moves_the_focus_to_the_list_of_chats(page, open_page, width):
    tab = open_page(page.evaluate("location.pathname"), width=width)
    send_message(tab, "/sessions")
    expect(tab.get_by_role("navigation", name="Conversations")).to_be_visible()
    expect(tab.locator("#side :focus")).to_be_visible()
