"""Deleting a conversation in a browser: immediate, with eight seconds to undo, also from other tabs."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from chat.models import Conversation, Deletion, Fact
from tests.waiting import wait_until

from .conversation_list import conversation_row, open_menu
from .page_actions import accessibility_violations, end_time_to_undo

pytestmark = pytest.mark.browser


def delete(page, title):
    """Delete a conversation with the menu of its row and return the toast of the deletion."""
    open_menu(page, title).get_by_role("button", name="Delete").click()
    return page.locator(".toast").filter(has_text=f"Deleted “{title}”")


def test_undo_shows_the_conversation_again_in_the_list_of_every_tab(open_page, make_conversations):
    make_conversations("Boats", "Trains")
    page, other = open_page(), open_page()
    toast = delete(page, "Boats")
    expect(conversation_row(page, "Boats")).to_have_count(0)
    expect(conversation_row(other, "Boats")).to_have_count(0)
    toast.get_by_role("button", name="Undo").click()
    expect(conversation_row(page, "Boats")).to_be_visible()
    expect(conversation_row(other, "Boats")).to_be_visible()
    expect(toast).to_have_count(0)


def test_every_open_page_of_a_deleted_conversation_is_led_to_a_new_chat(open_page, make_conversations):
    [boats] = make_conversations("Boats")
    page, other = open_page(f"/c/{boats.pk}/"), open_page(f"/c/{boats.pk}/")
    # The server can only tell pages that are connected.
    for tab in (page, other):
        expect(tab.locator("#reconnecting")).to_be_hidden()
    toast = delete(page, "Boats")
    for tab in (page, other):
        tab.wait_for_url("**/", wait_until="commit")
        expect(tab.get_by_role("heading", level=1)).to_have_text("New chat")
    toast.get_by_role("button", name="Undo").click()
    conversation_row(page, "Boats").get_by_role("link").click()
    expect(page.get_by_role("article").first).to_contain_text("Boats")


def test_undo_is_still_offered_after_a_reload(open_page, make_conversations):
    make_conversations("Boats")
    page = open_page()
    delete(page, "Boats").wait_for()
    page.reload()
    expect(conversation_row(page, "Boats")).to_have_count(0)
    page.locator(".toast").filter(has_text="Deleted “Boats”").get_by_role("button", name="Undo").click()
    expect(conversation_row(page, "Boats")).to_be_visible()


def test_a_deletion_that_was_not_undone_is_finished_after_the_tab_is_closed(open_page, make_conversations):
    make_conversations("Boats", "Trains")
    page = open_page()
    first = delete(page, "Boats")
    delete(page, "Trains").wait_for()
    first.get_by_role("button", name="Undo").click()
    expect(conversation_row(page, "Boats")).to_be_visible()
    page.close()
    end_time_to_undo()
    wait_until(lambda: Conversation.objects.count() == 1, 20)
    assert Conversation.objects.get().title == "Boats"
    assert sorted(Deletion.objects.values_list("state", flat=True)) == ["done", "undone"]


def test_facts_of_the_conversation_are_deleted_only_if_chosen(open_page, make_conversations, make_fact):
    [boats] = make_conversations("Boats")
    make_fact("User likes boats", source_conversation=boats)
    page = open_page()
    opened = open_menu(page, "Boats")
    opened.get_by_text("Delete…").click()
    opened.get_by_role("checkbox", name="also forget 1 memory learned here").check()
    opened.get_by_role("button", name="Delete").click()
    toast = page.locator(".toast").filter(has_text="Deleted “Boats” and 1 memory")
    expect(page.get_by_role("link", name="0 memories")).to_be_visible()
    toast.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("link", name="1 memory")).to_be_visible()
    assert Fact.objects.live().count() == 1


def test_deleting_and_undo_work_by_keyboard_alone(open_page, make_conversations):
    make_conversations("Boats")
    page = open_page()
    page.get_by_role("button", name="Menu of “Boats”").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Rename")).to_be_focused()
    page.get_by_role("dialog").get_by_role("button", name="Delete").focus()
    page.keyboard.press("Enter")
    expect(conversation_row(page, "Boats")).to_have_count(0)
    page.locator("body").press("Control+Z")
    expect(conversation_row(page, "Boats")).to_be_visible()


def test_axe_finds_no_serious_violation_before_and_after_deleting(open_page, make_conversations, make_fact):
    [boats] = make_conversations("Boats")
    make_fact("User likes boats", source_conversation=boats)
    page = open_page("/", width=390)
    page.get_by_role("button", name="Conversations").click()
    opened = open_menu(page, "Boats")
    opened.get_by_text("Delete…").click()
    expect(opened.get_by_role("checkbox")).to_be_in_viewport(ratio=1)
    assert accessibility_violations(page) == [], "asking"
    opened.get_by_role("button", name="Delete").click()
    page.locator(".toast").filter(has_text="Deleted “Boats”").wait_for()
    assert accessibility_violations(page) == [], "deleted"
