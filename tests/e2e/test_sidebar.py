"""The list of conversations: renamed in place, pinned, moved, by mouse, keyboard and finger."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from chat.actions.owners import default_app
from chat.models import App, Conversation

from .hands import findings, reply, say
from .rooms import menu, row, titles

pytestmark = pytest.mark.browser


def test_a_title_is_changed_in_its_row_and_shown_everywhere_in_two_tabs(open_page, made):
    [boats] = made("Boats")
    page, other = open_page(f"/c/{boats.pk}/"), open_page(f"/c/{boats.pk}/")
    menu(page, "Boats").get_by_role("link", name="Rename").click()
    line = page.get_by_role("textbox", name="Title")
    expect(line).to_be_focused()
    expect(page.get_by_role("dialog", name="Conversation", exact=True)).to_be_hidden()
    page.keyboard.type("Sailing in May")
    page.keyboard.press("Enter")
    for tab in (page, other):
        expect(row(tab, "Sailing in May")).to_be_visible()
        expect(tab.get_by_role("heading", level=1)).to_have_text("Sailing in May")
        expect(tab).to_have_title("Sailing in May · memoryapp")
    expect(page.get_by_role("button", name="Menu of “Sailing in May”")).to_be_focused()
    boats.refresh_from_db()
    assert (boats.title, boats.titled_by) == ("Sailing in May", "user")


def test_escape_leaves_the_title_as_it_was(open_page, made):
    [boats] = made("Boats")
    page = open_page(f"/c/{boats.pk}/")
    menu(page, "Boats").get_by_role("link", name="Rename").click()
    expect(page.get_by_role("textbox", name="Title")).to_be_focused()
    page.keyboard.type("Something else")
    page.keyboard.press("Escape")
    expect(row(page, "Boats")).to_be_visible()
    expect(page.get_by_role("button", name="Menu of “Boats”")).to_be_focused()
    boats.refresh_from_db()
    assert (boats.title, boats.titled_by) == ("Boats", "opening")


def test_a_click_on_the_title_in_the_header_renames_too(open_page, made):
    [boats] = made("Boats")
    page = open_page(f"/c/{boats.pk}/")
    page.get_by_role("heading", level=1).get_by_role("link").click()
    expect(page.get_by_role("textbox", name="Title")).to_be_focused()
    page.keyboard.type("Harbours")
    # Leaving the line saves, as in the memory panel.
    page.get_by_role("textbox", name="Message", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Harbours")
    expect(row(page, "Harbours")).to_be_visible()


def test_the_header_is_not_redrawn_under_a_click_on_its_title(open_page, made):
    boats, _ = made("Boats", "Trains")
    page, other = open_page(f"/c/{boats.pk}/"), open_page("/")
    held = []
    page.route("**/rename/", lambda route: held.append(route), times=1)
    page.wait_for_load_state("networkidle")
    page.get_by_role("heading", level=1).get_by_role("link").click()
    with page.expect_response("**/search/*"):
        menu(other, "Trains").get_by_role("button", name="Pin").click()
    page.wait_for_timeout(200)
    held[0].continue_()
    expect(page.get_by_role("textbox", name="Title")).to_be_focused()
    page.keyboard.type("Harbours")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Harbours")
    expect(titles(page)).to_have_text(["Pinned: Trains", "Harbours"])


def test_a_line_that_is_being_typed_outlives_what_happens_elsewhere(open_page, made):
    boats, _ = made("Boats", "Trains")
    page, other = open_page(f"/c/{boats.pk}/"), open_page("/")
    menu(page, "Boats").get_by_role("link", name="Rename").click()
    expect(page.get_by_role("textbox", name="Title")).to_be_focused()
    page.keyboard.type("Half a ti")
    menu(other, "Trains").get_by_role("button", name="Pin").click()
    expect(titles(other).first).to_contain_text("Trains")
    page.keyboard.type("tle")
    page.keyboard.press("Enter")
    expect(row(page, "Half a title")).to_be_visible()


def test_a_pinned_conversation_stands_first_and_is_unpinned_again(open_page, made):
    made("Boats", "Trains")
    page = open_page()
    expect(titles(page)).to_have_text(["Trains", "Boats"])
    menu(page, "Boats").get_by_role("button", name="Pin").click()
    expect(titles(page)).to_have_text(["Pinned: Boats", "Trains"])
    pinned = page.get_by_role("link", name="Pinned: Boats").locator("..")
    pinned.hover()
    pinned.get_by_role("button").click()
    page.get_by_role("button", name="Unpin").click()
    expect(titles(page)).to_have_text(["Trains", "Boats"])


def test_a_conversation_moves_to_another_app_where_there_is_one(open_page, made, owner):
    made("Boats", "Trains")
    page = open_page()
    expect(menu(page, "Boats").get_by_text("Move to…")).to_have_count(0)
    default_app(owner)
    App.objects.create(owner=owner, slug="work", name="Work")
    page.reload()
    opened = menu(page, "Boats")
    opened.get_by_text("Move to…").click()
    opened.get_by_role("button", name="Work").click()
    expect(page.get_by_role("region", name="Work").get_by_role("link", name="Boats")).to_be_visible()
    assert Conversation.objects.get(title="Boats").app.name == "Work"


def test_a_new_message_brings_its_conversation_to_the_top(open_page, made, scripted):
    boats, _ = made("Boats", "Trains")
    page = open_page(f"/c/{boats.pk}/")
    expect(titles(page)).to_have_text(["Trains", "Boats"])
    say(page, "Another one")
    expect(reply(page)).to_be_visible()
    expect(titles(page)).to_have_text(["Boats", "Trains"])
    expect(row(page, "Boats").get_by_role("link")).to_have_attribute("aria-current", "page")


def test_the_menu_works_by_keyboard_alone(open_page, made):
    made("Boats")
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


def test_on_a_phone_the_menu_opens_over_the_drawer(open_page, made):
    made("Boats")
    page = open_page("/", width=390, has_touch=True)
    page.get_by_role("button", name="Conversations").tap()
    page.get_by_role("button", name="Menu of “Boats”").tap()
    page.get_by_role("link", name="Rename").tap()
    expect(page.get_by_role("textbox", name="Title")).to_be_in_viewport(ratio=1)
    page.get_by_role("textbox", name="Title").fill("Ships")
    page.keyboard.press("Enter")
    expect(row(page, "Ships")).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_without_scripts_the_menu_is_a_page_that_renames_and_pins(open_page, made):
    [boats] = made("Boats")
    page = open_page(f"/c/{boats.pk}/", java_script_enabled=False)
    page.get_by_role("link", name="Menu of “Boats”").click()
    page.get_by_role("textbox", name="Title").fill("Ships")
    page.get_by_role("button", name="Rename").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Ships")
    page.get_by_role("link", name="Menu of “Ships”").click()
    page.get_by_role("button", name="Pin").click()
    expect(page.get_by_role("link", name="Pinned: Ships")).to_be_visible()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_serious_in_the_list_and_its_menu(open_page, made, owner, dark):
    [boats] = made("Boats")
    App.objects.create(owner=owner, slug="work", name="Work")
    Conversation.objects.update(pinned=True)
    page = open_page(f"/c/{boats.pk}/", dark=dark)
    page.get_by_role("link", name="Pinned: Boats").hover()
    page.get_by_role("button", name="Menu of “Boats”").click()
    page.get_by_text("Move to…").click()
    assert findings(page) == [], "menu"
    page.get_by_role("link", name="Rename").click()
    expect(page.get_by_role("textbox", name="Title")).to_be_focused()
    assert findings(page) == [], "renaming"
    page.goto(f"/c/{boats.pk}/menu/")
    assert findings(page) == [], "menu as a page"
