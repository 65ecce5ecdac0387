"""Apps are rooms: made, chatted in, remembered at the end of a chat, corrected, forgotten and put away."""

from __future__ import annotations

from datetime import timedelta

import pytest
from playwright.sync_api import expect

from chat.actions import app_memories
from chat.models import App, AppMemory, Conversation

from .hands import card, findings, open_panel, reply, say

pytestmark = pytest.mark.browser

TENT = "I need a tent for two for nine days in the fells in August, my brother Tom freezes."
NOTE = "The user needs a tent for two for nine days in the fells in August."


@pytest.fixture
def work(owner, live):
    """A second app that remembers two things."""
    app = App.objects.create(owner=owner, slug="work", name="Work")
    for text in ("The user writes reports.", "The user meets on Mondays."):
        AppMemory.objects.create(owner=owner, app=app, content=text)
    return app


def apps_tab(page):
    """Open the panel on what the apps remember and return it."""
    sheet = open_panel(page)
    sheet.get_by_role("tab", name="Apps").click()
    expect(sheet.get_by_role("tab", name="Apps")).to_have_attribute("aria-selected", "true")
    expect(sheet.get_by_role("tab", name="Apps")).to_be_in_viewport(ratio=0.95)
    return sheet


def test_an_app_is_made_and_a_chat_in_it_is_remembered_when_it_ends(open_page, scripted, monkeypatch):
    monkeypatch.setattr(app_memories, "_AFTER_END", timedelta())
    scripted.app_memories.append(NOTE)
    page = open_page()
    page.get_by_role("link", name="Apps", exact=True).click()
    page.get_by_role("textbox", name="Name").fill("Hikes")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Hikes")
    page.locator("#main").get_by_role("link", name="New chat", exact=True).click()
    expect(page.locator(".where")).to_contain_text("Hikes")
    say(page, TENT)
    page.wait_for_url("**/c/**")
    expect(reply(page)).to_be_visible()
    assert Conversation.objects.get().app.name == "Hikes"
    page.get_by_role("button", name="This chat").click()
    page.get_by_role("button", name="End this chat").click()
    sheet = open_panel(page)
    sheet.get_by_role("tab", name="Apps").click()
    expect(card(sheet, NOTE)).to_be_visible()


def test_a_card_is_corrected_forgotten_and_brought_back(open_page, work):
    page = open_page()
    sheet = apps_tab(page)
    card(sheet, "reports").get_by_role("link", name="The user writes reports.").click()
    line = sheet.get_by_role("textbox", name="Memory", exact=True)
    expect(line).to_be_focused()
    line.fill("The user writes reports on Fridays.")
    line.press("Enter")
    expect(card(sheet, "on Fridays")).to_be_visible()
    card(sheet, "Mondays").hover()
    card(sheet, "Mondays").get_by_role("button", name="Forget").click()
    expect(card(sheet, "Mondays")).to_have_count(0)
    expect(sheet.locator(".toast")).to_contain_text("Forgot “The user meets on Mondays.”")
    sheet.locator(".toast").get_by_role("button", name="Undo").click()
    expect(card(sheet, "Mondays")).to_be_visible()
    assert AppMemory.objects.live().count() == 2


def test_all_that_an_app_remembers_is_cleared_with_undo(open_page, work):
    page = open_page()
    sheet = apps_tab(page)
    sheet.get_by_role("button", name="Clear what Work remembers").click()
    expect(sheet.locator("article.card")).to_have_count(0)
    sheet.locator(".toast").get_by_role("button", name="Undo").click()
    expect(sheet.locator("article.card")).to_have_count(2)


def test_esc_leaves_a_card_as_it_was_and_the_panel_open(open_page, work):
    page = open_page()
    sheet = apps_tab(page)
    card(sheet, "reports").get_by_role("link", name="The user writes reports.").click()
    line = sheet.get_by_role("textbox", name="Memory", exact=True)
    line.fill("Something else")
    line.press("Escape")
    expect(card(sheet, "The user writes reports.")).to_be_visible()
    expect(sheet).to_be_visible()


def test_an_app_is_renamed_and_put_away_and_comes_back(open_page, work):
    page = open_page(work.get_absolute_url())
    page.get_by_role("textbox", name="Name").fill("Job")
    page.locator("#set-name").get_by_role("button", name="Save").click()
    expect(page.locator("#rooms").get_by_role("link", name="Job", exact=True)).to_be_visible()
    page.get_by_role("button", name="Put away").click()
    expect(page.get_by_text("“Job” is put away.")).to_be_visible()
    expect(page.locator("#rooms").get_by_role("link", name="Job", exact=True)).to_have_count(0)
    page.get_by_role("button", name="Bring back Job").click()
    expect(page.locator("#rooms").get_by_role("link", name="Job", exact=True)).to_be_visible()


def test_it_all_works_without_javascript(open_page, work):
    page = open_page("/memory/?tab=apps", java_script_enabled=False)
    page.get_by_role("link", name="The user writes reports.").click()
    page.get_by_role("textbox", name="Memory", exact=True).fill("The user writes no reports.")
    page.get_by_role("button", name="Save").click()
    expect(card(page, "no reports")).to_be_visible()
    card(page, "Mondays").get_by_role("button", name="Forget").click()
    page.get_by_role("button", name="Undo").click()
    page.goto("/memory/?tab=apps")
    expect(card(page, "Mondays")).to_be_visible()


@pytest.mark.parametrize(("dark", "width"), [(False, 1280), (True, 390)], ids=["light", "dark-phone"])
def test_axe_finds_nothing_serious_and_nothing_overflows(open_page, work, dark, width):
    page = open_page("/apps/", dark=dark, width=width)
    assert findings(page) == [], "list"
    page.goto(work.get_absolute_url())
    assert findings(page) == [], "app"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.goto("/")
    sheet = apps_tab(page)
    expect(card(sheet, "reports")).to_be_visible()
    assert findings(page) == [], "panel"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
