"""Settings in a browser: each choice is saved at once and confirmed, with and without JavaScript."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from chat.actions.messages import finish_reply
from chat.actions.owners import default_app, settings_of

from .page_actions import last_reply, memory_pill

pytestmark = pytest.mark.browser

BACKGROUND = {"light": "rgb(252, 251, 249)", "dark": "rgb(24, 24, 26)"}


def background_colour(page) -> str:
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_the_theme_changes_at_once_and_is_kept(open_page):
    page = open_page("/settings/", dark=True)
    assert background_colour(page) == BACKGROUND["dark"]
    themes = page.get_by_role("group", name="Theme")
    themes.get_by_role("button", name="Light").click()
    expect(themes.get_by_role("button", name="Light")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("status").filter(has_text="Saved.")).to_be_visible()
    page.wait_for_function("getComputedStyle(document.body).backgroundColor === 'rgb(252, 251, 249)'")
    expect(page.get_by_role("button", name="Theme: light")).to_be_visible()
    page.goto("/")
    assert background_colour(page) == BACKGROUND["light"]
    page.get_by_role("button", name="Theme: light").click()
    expect(page.get_by_role("button", name="Theme: dark")).to_be_focused()
    page.wait_for_function("getComputedStyle(document.body).backgroundColor === 'rgb(24, 24, 26)'")
    assert page.locator("#tint-light").get_attribute("media") == "not all"


def test_invalid_input_is_reported_and_stays_in_the_field(open_page, owner):
    page = open_page("/settings/")
    seconds = page.get_by_label("Seconds without a new message before memory reads")
    page.locator("#set-look_after").evaluate("form => form.noValidate = true")
    seconds.fill("1000")
    seconds.press("Enter")
    expect(page.locator(".toast")).to_contain_text("Choose between 2 and 600 seconds.")
    expect(seconds).to_have_value("1000")
    assert settings_of(owner.pk).look_after == 2
    seconds.fill("20")
    seconds.press("Enter")
    expect(page.locator(".toast").filter(has_text="Saved.")).to_be_visible()
    assert settings_of(owner.pk).look_after == 20


def test_a_persona_is_saved_and_reset_to_the_default(open_page, owner):
    page = open_page(default_app(owner).get_absolute_url())
    persona = page.get_by_role("textbox", name="Persona")
    default = persona.input_value()
    persona.fill("You are a pirate.")
    page.locator("#set-persona").get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Back to the default").click()
    expect(page.get_by_role("textbox", name="Persona")).to_have_value(default)
    expect(page.get_by_role("button", name="Back to the default")).to_have_count(0)
    assert default_app(owner).persona == ""


def test_after_choosing_german_every_page_is_german(open_page, scripted):
    page = open_page("/settings/")
    page.get_by_label("Language").select_option("de")
    expect(page.get_by_role("heading", name="Einstellungen", exact=True)).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="Gespeichert.")).to_be_visible()
    page.goto("/")
    page.get_by_role("textbox", name="Nachricht", exact=True).fill("Hallo")
    page.keyboard.press("Enter")
    page.wait_for_url("**/c/**")
    expect(last_reply(page)).to_be_visible()
    expect(last_reply(page).locator("time")).to_contain_text("heute")


def test_a_choice_can_be_made_by_keyboard_alone(open_page, owner):
    page = open_page(default_app(owner).get_absolute_url())
    page.get_by_role("radio", name="By topic").focus()
    page.keyboard.press("ArrowUp")
    expect(page.locator(".toast").filter(has_text="Saved.")).to_be_visible()
    expect(page.get_by_role("radio", name="Newest messages only")).to_be_focused()
    assert default_app(owner).strategy == "simple"


def test_without_javascript_settings_are_saved_by_buttons(open_page, owner):
    page = open_page("/settings/", java_script_enabled=False)
    page.get_by_role("group", name="Theme").get_by_role("button", name="Dark").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    assert page.locator("html").get_attribute("data-theme") == "dark"
    assert colour_scheme(page) == "dark"
    page.get_by_label("Time zone").select_option("Asia/Tokyo")
    page.locator("#set-time_zone").get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Theme: dark").click()
    page.wait_for_url("**/settings/")
    chosen = settings_of(owner.pk)
    assert (chosen.theme, chosen.time_zone) == ("", "Asia/Tokyo")
    page.goto(default_app(owner).get_absolute_url())
    page.get_by_role("radio", name="By topic").check()
    page.locator("#set-strategy").get_by_role("button", name="Save").click()
    expect(page.get_by_role("radio", name="By topic")).to_be_checked()
    assert default_app(owner).strategy == "topics"


def colour_scheme(page) -> str:
    return page.locator("#scheme").get_attribute("content")


def test_a_user_who_was_logged_out_is_led_to_the_login_and_back(
    open_page, live, server_mode, other, make_fact
):
    make_fact("User likes jazz", owner=other)
    other.set_password("a-long-enough-one")
    other.save()
    page = open_page("/memory/")
    page.get_by_label("Name").fill(other.username)
    page.get_by_label("Password").fill("a-long-enough-one")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Memory", exact=True)).to_be_visible()
    page.wait_for_load_state("networkidle")
    page.context.clear_cookies(name="sessionid")
    page.get_by_role("searchbox", name="Search memories").fill("jazz")
    page.wait_for_url("**/login/?next=%2Fmemory%2F")
    page.get_by_label("Name").fill(other.username)
    page.get_by_label("Password").fill("a-long-enough-one")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Memory", exact=True)).to_be_visible()


def test_everything_is_deleted_by_a_typed_word_and_restored_by_undo(open_page, talk, make_fact):
    asked, written = talk("The garden plan")
    finish_reply(written, "Good.", "complete")
    make_fact("User likes jazz")
    page = open_page("/settings/")
    page.get_by_label("Type “delete” to delete everything").fill("nonsense")
    page.get_by_role("button", name="Delete everything").click()
    expect(page.locator(".toast")).to_contain_text("Type “delete”")
    page.get_by_label("Type “delete” to delete everything").fill("delete")
    page.get_by_role("button", name="Delete everything").click()
    expect(page.get_by_role("heading", name="Hello. Tell me something about you.")).to_be_visible()
    bar = page.locator(".toast.wide")
    expect(bar).to_contain_text("Everything is deleted")
    bar.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("link", name="The garden plan")).to_be_visible()
    page.goto(f"/c/{asked.conversation_id}/")
    expect(last_reply(page)).to_contain_text("Good.")
    expect(memory_pill(page, 1)).to_be_visible()
