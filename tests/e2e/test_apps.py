"""Apps in a browser: creating one, chatting in it, its memories, renaming and archiving."""

from __future__ import annotations

from datetime import timedelta

import pytest
from playwright.sync_api import expect

from chat.actions import app_memories
from chat.models import App, AppMemory, Conversation

from .page_actions import accessibility_violations, fact_card, last_reply, open_panel, send_message

pytestmark = pytest.mark.browser

TENT = "I need a tent for two for nine days in the fells in August, my brother Tom freezes."
NOTE = "The user needs a tent for two for nine days in the fells in August."


@pytest.fixture
def work(owner, live):
    """A second app with two memories."""
    app = App.objects.create(owner=owner, slug="work", name="Work")
    for text in ("The user writes reports.", "The user meets on Mondays."):
        AppMemory.objects.create(owner=owner, app=app, content=text)
    return app


def open_apps_tab(page):
    """Open the panel on its Apps tab and return it."""
    sheet = open_panel(page)
    sheet.get_by_role("tab", name="Apps").click()
    expect(sheet.get_by_role("tab", name="Apps")).to_have_attribute("aria-selected", "true")
    expect(sheet.get_by_role("tab", name="Apps")).to_be_in_viewport(ratio=0.95)
    return sheet


def test_a_chat_in_a_new_app_is_extracted_into_app_memories_when_it_ends(open_page, scripted, monkeypatch):
    monkeypatch.setattr(app_memories, "_AFTER_END", timedelta())
    scripted.app_memories.append(NOTE)
    page = open_page()
    page.get_by_role("link", name="Apps", exact=True).click()
    page.get_by_role("textbox", name="Name").fill("Hikes")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Hikes")
    page.locator("#main").get_by_role("link", name="New chat", exact=True).click()
    expect(page.locator(".subtitle")).to_contain_text("Hikes")
    send_message(page, TENT)
    page.wait_for_url("**/c/**")
    expect(last_reply(page)).to_be_visible()
    assert Conversation.objects.get().app.name == "Hikes"
    page.get_by_role("button", name="This chat").click()
    page.get_by_role("button", name="End this chat").click()
    sheet = open_panel(page)
    sheet.get_by_role("tab", name="Apps").click()
    expect(fact_card(sheet, NOTE)).to_be_visible()


def test_an_app_memory_is_edited_and_forgotten_and_restored(open_page, work):
    page = open_page()
    sheet = open_apps_tab(page)
    fact_card(sheet, "reports").get_by_role("link", name="The user writes reports.").click()
    line = sheet.get_by_role("textbox", name="Memory", exact=True)
    expect(line).to_be_focused()
    line.fill("The user writes reports on Fridays.")
    line.press("Enter")
    expect(fact_card(sheet, "on Fridays")).to_be_visible()
    fact_card(sheet, "Mondays").hover()
    fact_card(sheet, "Mondays").get_by_role("button", name="Forget").click()
    expect(fact_card(sheet, "Mondays")).to_have_count(0)
    expect(sheet.locator(".toast")).to_contain_text("Forgot “The user meets on Mondays.”")
    sheet.locator(".toast").get_by_role("button", name="Undo").click()
    expect(fact_card(sheet, "Mondays")).to_be_visible()
    assert AppMemory.objects.live().count() == 2


def test_the_memories_of_an_app_are_cleared_with_undo(open_page, work):
    page = open_page()
    sheet = open_apps_tab(page)
    sheet.get_by_role("button", name="Clear the memories of Work").click()
    expect(sheet.locator("article.card")).to_have_count(0)
    sheet.locator(".toast").get_by_role("button", name="Undo").click()
    expect(sheet.locator("article.card")).to_have_count(2)


def test_escape_cancels_the_edit_and_leaves_the_panel_open(open_page, work):
    page = open_page()
    sheet = open_apps_tab(page)
    fact_card(sheet, "reports").get_by_role("link", name="The user writes reports.").click()
    line = sheet.get_by_role("textbox", name="Memory", exact=True)
    line.fill("Something else")
    line.press("Escape")
    expect(fact_card(sheet, "The user writes reports.")).to_be_visible()
    expect(sheet).to_be_visible()


def test_an_app_is_renamed_and_archived_and_restored(open_page, work):
    page = open_page(work.get_absolute_url())
    page.get_by_role("textbox", name="Name").fill("Job")
    page.locator("#set-name").get_by_role("button", name="Save").click()
    expect(page.locator("#conversation-list").get_by_role("link", name="Job", exact=True)).to_be_visible()
    page.get_by_role("button", name="Archive").click()
    expect(page.get_by_text("“Job” is archived.")).to_be_visible()
    expect(page.locator("#conversation-list").get_by_role("link", name="Job", exact=True)).to_have_count(0)
    page.get_by_role("button", name="Bring back Job").click()
    expect(page.locator("#conversation-list").get_by_role("link", name="Job", exact=True)).to_be_visible()


def test_app_memories_can_be_edited_without_javascript(open_page, work):
    page = open_page("/memory/?tab=apps", java_script_enabled=False)
    page.get_by_role("link", name="The user writes reports.").click()
    page.get_by_role("textbox", name="Memory", exact=True).fill("The user writes no reports.")
    page.get_by_role("button", name="Save").click()
    expect(fact_card(page, "no reports")).to_be_visible()
    fact_card(page, "Mondays").get_by_role("button", name="Forget").click()
    page.get_by_role("button", name="Undo").click()
    page.goto("/memory/?tab=apps")
    expect(fact_card(page, "Mondays")).to_be_visible()


@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_no_serious_violation_and_nothing_overflows(open_page, work, width):
    page = open_page("/apps/", width=width)
    assert accessibility_violations(page) == [], "list"
    page.goto(work.get_absolute_url())
    assert accessibility_violations(page) == [], "app"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.goto("/")
    sheet = open_apps_tab(page)
    expect(fact_card(sheet, "reports")).to_be_visible()
    assert accessibility_violations(page) == [], "panel"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
