"""Tokens and the reference in a browser: without a script, in both widths and themes, for everybody."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from chat.actions.tokens import create_token

from .hands import findings

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_the_two_pages_are_for_everybody(open_page, owner, width, dark):
    create_token(owner, "Terminal")
    page = open_page("/settings/", width=width, dark=dark)
    page.get_by_role("textbox", name="A token for another program").fill("Backup")
    page.get_by_role("button", name="Make it").click()
    expect(page.get_by_text("Copy it now")).to_be_visible()
    page.locator("summary", has_text="Revoke").first.click()
    assert findings(page) == []
    page.goto("/api/docs#add_fact")
    expect(page.locator("#add_fact dl")).to_be_visible()
    assert findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("scripts", [True, False])
def test_a_token_is_made_and_revoked_with_and_without_script(open_page, owner, scripts):
    page = open_page("/settings/", java_script_enabled=scripts)
    page.get_by_role("textbox", name="A token for another program").fill("Terminal")
    page.get_by_role("button", name="Make it").click()
    shown = page.locator("#tokens [role=status] code")
    expect(shown).to_have_text(re.compile(r"^mem_.{43}$"))
    page.locator("summary", has_text="Revoke").click()
    page.get_by_role("button", name="Revoke “Terminal” for good").click()
    expect(page.get_by_text("“Terminal” is revoked.")).to_be_visible()
    expect(page.locator("#tokens li")).to_have_count(0)
