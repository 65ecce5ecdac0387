"""The tokens section and the API reference in a browser: both widths and themes, and without JavaScript."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from chat.actions.api_tokens import create_token

from .page_actions import accessibility_violations, each_width

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_axe_finds_no_serious_violation_in_tokens_and_reference(open_page, owner):
    create_token(owner, "Terminal")
    page = open_page("/settings/")
    page.get_by_role("textbox", name="A token for another program").fill("Backup")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_text("Copy it now")).to_be_visible()
    page.locator("summary", has_text="Revoke").first.click()
    page.locator("summary", has_text="Allow less").first.click()
    for width in each_width(page):
        assert accessibility_violations(page) == [], width
    page.goto("/api/docs#add_fact")
    expect(page.locator("#add_fact dl")).to_be_visible()
    for width in each_width(page):
        assert accessibility_violations(page) == [], width
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scripts", [True, False])
def test_a_token_is_created_and_revoked_with_and_without_javascript(open_page, owner, scripts):
    page = open_page("/settings/", java_script_enabled=scripts)
    page.get_by_role("textbox", name="A token for another program").fill("Terminal")
    page.get_by_role("button", name="Create").click()
    shown = page.locator("#tokens [role=status] code")
    expect(shown).to_have_text(re.compile(r"^mem_.{43}$"))
    page.locator("summary", has_text="Revoke").click()
    page.get_by_role("button", name="Revoke “Terminal” for good").click()
    expect(page.get_by_text("“Terminal” is revoked.")).to_be_visible()
    expect(page.locator("#tokens li")).to_have_count(0)


def test_a_token_is_narrowed_by_keyboard(open_page, owner):
    create_token(owner, "Terminal", ["chat", "memory:read"])
    page = open_page("/settings/")
    page.get_by_text("Allow less").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.get_by_role("button", name="Save what “Terminal” keeps").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("“Terminal” allows less now.")).to_be_visible()
    expect(page.locator("#tokens li")).to_contain_text("Read memories")
    expect(page.locator("#tokens li")).not_to_contain_text("Send messages")
