"""A conversation that is deleted is gone at once and comes back for eight seconds, whatever the tab does."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from chat.models import Conversation, Deletion, Fact
from tests.waiting import until

from .hands import findings
from .rooms import menu, row

pytestmark = pytest.mark.browser


def delete(page, title):
    """Delete a conversation by its row's menu and return the toast that tells of it."""
    menu(page, title).get_by_role("button", name="Delete").click()
    return page.locator(".toast").filter(has_text=f"Deleted “{title}”")


def test_undo_shows_it_in_the_list_of_every_tab_again(open_page, made):
    made("Boats", "Trains")
    page, other = open_page(), open_page()
    toast = delete(page, "Boats")
    expect(row(page, "Boats")).to_have_count(0)
    expect(row(other, "Boats")).to_have_count(0)
    toast.get_by_role("button", name="Undo").click()
    expect(row(page, "Boats")).to_be_visible()
    expect(row(other, "Boats")).to_be_visible()
    expect(toast).to_have_count(0)


def test_every_page_of_it_is_led_to_a_new_chat_where_undo_is(open_page, made):
    [boats] = made("Boats")
    page, other = open_page(f"/c/{boats.pk}/"), open_page(f"/c/{boats.pk}/")
    # The server speaks to what is connected.
    for tab in (page, other):
        expect(tab.locator("#away")).to_be_hidden()
    toast = delete(page, "Boats")
    for tab in (page, other):
        tab.wait_for_url("**/", wait_until="commit")
        expect(tab.get_by_role("heading", level=1)).to_have_text("New chat")
    toast.get_by_role("button", name="Undo").click()
    row(page, "Boats").get_by_role("link").click()
    expect(page.get_by_role("article").first).to_contain_text("Boats")


def test_undo_outlives_a_reload(open_page, made):
    made("Boats")
    page = open_page()
    delete(page, "Boats").wait_for()
    page.reload()
    expect(row(page, "Boats")).to_have_count(0)
    page.locator(".toast").filter(has_text="Deleted “Boats”").get_by_role("button", name="Undo").click()
    expect(row(page, "Boats")).to_be_visible()


def test_of_two_in_one_window_the_one_that_was_not_undone_goes_with_the_tab_closed(open_page, made):
    made("Boats", "Trains")
    page = open_page()
    first = delete(page, "Boats")
    delete(page, "Trains").wait_for()
    first.get_by_role("button", name="Undo").click()
    expect(row(page, "Boats")).to_be_visible()
    page.close()
    until(lambda: Conversation.objects.count() == 1, 20)
    assert Conversation.objects.get().title == "Boats"
    assert sorted(Deletion.objects.values_list("state", flat=True)) == ["done", "undone"]


def test_what_was_learned_goes_only_with_the_tick(open_page, made, make_fact):
    [boats] = made("Boats")
    make_fact("User likes boats", source_conversation=boats)
    page = open_page()
    opened = menu(page, "Boats")
    opened.get_by_text("Delete…").click()
    opened.get_by_role("checkbox", name="also forget 1 memory learned here").check()
    opened.get_by_role("button", name="Delete").click()
    toast = page.locator(".toast").filter(has_text="Deleted “Boats” and 1 memory")
    expect(page.get_by_role("link", name="0 memories")).to_be_visible()
    toast.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("link", name="1 memory")).to_be_visible()
    assert Fact.objects.live().count() == 1


def test_it_works_by_keyboard_alone(open_page, made):
    made("Boats")
    page = open_page()
    page.get_by_role("button", name="Menu of “Boats”").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Rename")).to_be_focused()
    page.get_by_role("dialog").get_by_role("button", name="Delete").focus()
    page.keyboard.press("Enter")
    expect(row(page, "Boats")).to_have_count(0)
    page.locator("body").press("Control+Z")
    expect(row(page, "Boats")).to_be_visible()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_serious_before_and_after(open_page, made, make_fact, dark):
    [boats] = made("Boats")
    make_fact("User likes boats", source_conversation=boats)
    page = open_page("/", dark=dark, width=390)
    page.get_by_role("button", name="Conversations").click()
    opened = menu(page, "Boats")
    opened.get_by_text("Delete…").click()
    expect(opened.get_by_role("checkbox")).to_be_in_viewport(ratio=1)
    assert findings(page) == [], "asking"
    opened.get_by_role("button", name="Delete").click()
    page.locator(".toast").filter(has_text="Deleted “Boats”").wait_for()
    assert findings(page) == [], "deleted"
