"""The list of conversations: renaming in place, pinning and moving, by mouse, keyboard and touch."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from chat.actions.owners import default_app
from chat.models import App, Conversation

from .conversation_list import conversation_row, listed_titles, open_menu
from .page_actions import accessibility_violations, last_reply, send_message

pytestmark = pytest.mark.browser


def test_a_title_is_changed_in_its_row_and_updated_in_two_tabs(open_page, make_conversations):
    [boats] = make_conversations("Boats")
    page, other = open_page(f"/c/{boats.pk}/"), open_page(f"/c/{boats.pk}/")
    open_menu(page, "Boats").get_by_role("link", name="Rename").click()
    line = page.get_by_role("textbox", name="Title")
    expect(line).to_be_focused()
    expect(page.get_by_role("dialog", name="Conversation", exact=True)).to_be_hidden()
    page.keyboard.type("Sailing in May")
    page.keyboard.press("Enter")
    for tab in (page, other):
        expect(conversation_row(tab, "Sailing in May")).to_be_visible()
        expect(tab.get_by_role("heading", level=1)).to_have_text("Sailing in May")
        expect(tab).to_have_title("Sailing in May · memoryapp")
    expect(page.get_by_role("button", name="Menu of “Sailing in May”")).to_be_focused()
    boats.refresh_from_db()
    assert (boats.title, boats.titled_by) == ("Sailing in May", "user")


def test_escape_cancels_renaming(open_page, make_conversations):
    [boats] = make_conversations("Boats")
    page = open_page(f"/c/{boats.pk}/")
    open_menu(page, "Boats").get_by_role("link", name="Rename").click()
    expect(page.get_by_role("textbox", name="Title")).to_be_focused()
    page.keyboard.type("Something else")
    page.keyboard.press("Escape")
    expect(conversation_row(page, "Boats")).to_be_visible()
    expect(page.get_by_role("button", name="Menu of “Boats”")).to_be_focused()
    boats.refresh_from_db()
    assert (boats.title, boats.titled_by) == ("Boats", "opening")


def test_a_click_on_the_title_in_the_header_renames_the_conversation(open_page, make_conversations):
    [boats] = make_conversations("Boats")
    page = open_page(f"/c/{boats.pk}/")
    page.get_by_role("heading", level=1).get_by_role("link").click()
    expect(page.get_by_role("textbox", name="Title")).to_be_focused()
    page.keyboard.type("Harbours")
    # Leaving the field saves, as in the memory panel.
    page.get_by_role("textbox", name="Message", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Harbours")
    expect(conversation_row(page, "Harbours")).to_be_visible()


def test_the_header_is_not_redrawn_under_a_click_on_its_title(open_page, make_conversations):
    boats, _ = make_conversations("Boats", "Trains")
    page, other = open_page(f"/c/{boats.pk}/"), open_page("/")
    held = []
    page.route("**/rename/", lambda route: held.append(route), times=1)
    page.wait_for_load_state("networkidle")
    page.get_by_role("heading", level=1).get_by_role("link").click()
    with page.expect_response("**/search/*"):
        open_menu(other, "Trains").get_by_role("button", name="Pin").click()
    page.wait_for_timeout(200)
    held[0].continue_()
    expect(page.get_by_role("textbox", name="Title")).to_be_focused()
    page.keyboard.type("Harbours")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Harbours")
    expect(listed_titles(page)).to_have_text(["Pinned: Trains", "Harbours"])


def test_a_title_being_typed_survives_changes_in_another_tab(open_page, make_conversations):
    boats, _ = make_conversations("Boats", "Trains")
    page, other = open_page(f"/c/{boats.pk}/"), open_page("/")
    open_menu(page, "Boats").get_by_role("link", name="Rename").click()
    expect(page.get_by_role("textbox", name="Title")).to_be_focused()
    page.keyboard.type("Half a ti")
    open_menu(other, "Trains").get_by_role("button", name="Pin").click()
    expect(listed_titles(other).first).to_contain_text("Trains")
    page.keyboard.type("tle")
    page.keyboard.press("Enter")
    expect(conversation_row(page, "Half a title")).to_be_visible()


def test_a_pinned_conversation_comes_first_and_can_be_unpinned(open_page, make_conversations):
    make_conversations("Boats", "Trains")
    page = open_page()
    expect(listed_titles(page)).to_have_text(["Trains", "Boats"])
    open_menu(page, "Boats").get_by_role("button", name="Pin").click()
    expect(listed_titles(page)).to_have_text(["Pinned: Boats", "Trains"])
    pinned = page.get_by_role("link", name="Pinned: Boats").locator("..")
    pinned.hover()
    pinned.get_by_role("button").click()
    page.get_by_role("button", name="Unpin").click()
    expect(listed_titles(page)).to_have_text(["Trains", "Boats"])


def test_a_conversation_can_be_moved_to_another_app(open_page, make_conversations, owner):
    make_conversations("Boats", "Trains")
    page = open_page()
    expect(open_menu(page, "Boats").get_by_text("Move to…")).to_have_count(0)
    default_app(owner)
    App.objects.create(owner=owner, slug="work", name="Work")
    page.reload()
    opened = open_menu(page, "Boats")
    opened.get_by_text("Move to…").click()
    opened.get_by_role("button", name="Work").click()
    expect(page.get_by_role("region", name="Work").get_by_role("link", name="Boats")).to_be_visible()
    assert Conversation.objects.get(title="Boats").app.name == "Work"


def test_a_new_message_moves_its_conversation_to_the_top(open_page, make_conversations, scripted):
    boats, _ = make_conversations("Boats", "Trains")
    page = open_page(f"/c/{boats.pk}/")
    expect(listed_titles(page)).to_have_text(["Trains", "Boats"])
    send_message(page, "Another one")
    expect(last_reply(page)).to_be_visible()
    expect(listed_titles(page)).to_have_text(["Boats", "Trains"])
    expect(conversation_row(page, "Boats").get_by_role("link")).to_have_attribute("aria-current", "page")


def test_the_menu_works_by_keyboard_alone(open_page, make_conversations):
    make_conversations("Boats")
    page = open_page()
    page.get_by_role("button", name="Menu of “Boats”").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Rename")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Menu of “Boats”")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Rename")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Title")).to_be_focused()
    page.keyboard.type("Ships")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Menu of “Ships”")).to_be_focused()


def test_on_a_phone_the_menu_opens_over_the_sidebar(open_page, make_conversations):
    make_conversations("Boats")
    page = open_page("/", width=390, has_touch=True)
    page.get_by_role("button", name="Conversations").tap()
    page.get_by_role("button", name="Menu of “Boats”").tap()
    page.get_by_role("link", name="Rename").tap()
    expect(page.get_by_role("textbox", name="Title")).to_be_in_viewport(ratio=1)
    page.get_by_role("textbox", name="Title").fill("Ships")
    page.keyboard.press("Enter")
    expect(conversation_row(page, "Ships")).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_without_javascript_the_menu_is_a_page_that_renames_and_pins(open_page, make_conversations):
    [boats] = make_conversations("Boats")
    page = open_page(f"/c/{boats.pk}/", java_script_enabled=False)
    page.get_by_role("link", name="Menu of “Boats”").click()
    page.get_by_role("textbox", name="Title").fill("Ships")
    page.get_by_role("button", name="Rename").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Ships")
    page.get_by_role("link", name="Menu of “Ships”").click()
    page.get_by_role("button", name="Pin").click()
    expect(page.get_by_role("link", name="Pinned: Ships")).to_be_visible()


def test_axe_finds_no_serious_violation_in_the_list_and_its_menu(open_page, make_conversations, owner):
    [boats] = make_conversations("Boats")
    App.objects.create(owner=owner, slug="work", name="Work")
    Conversation.objects.update(pinned=True)
    page = open_page(f"/c/{boats.pk}/")
    page.get_by_role("link", name="Pinned: Boats").hover()
    page.get_by_role("button", name="Menu of “Boats”").click()
    page.get_by_text("Move to…").click()
    assert accessibility_violations(page) == [], "menu"
    page.get_by_role("link", name="Rename").click()
    expect(page.get_by_role("textbox", name="Title")).to_be_focused()
    assert accessibility_violations(page) == [], "renaming"
    page.goto(f"/c/{boats.pk}/menu/")
    assert accessibility_violations(page) == [], "menu as a page"
