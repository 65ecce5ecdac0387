"""Locators and actions in the list of conversations."""

from __future__ import annotations

from playwright.sync_api import Locator, Page


def conversation_row(page: Page, title: str) -> Locator:
    """Return the row with this title."""
    return page.locator("#conversation-list .conversation-row").filter(
        has=page.get_by_role("link", name=title, exact=True)
    )


def open_menu(page: Page, title: str) -> Locator:
    """Open the menu of a row with the mouse and return it."""
    conversation_row(page, title).hover()
    conversation_row(page, title).get_by_role("button", name=f"Menu of “{title}”").click()
    opened = page.get_by_role("dialog", name="Conversation", exact=True)
    opened.locator("button, summary").filter(has_text="Delete").first.wait_for()
    return opened


def listed_titles(page: Page) -> Locator:
    """Return the titles in the list, from top to bottom."""
    return page.locator("#conversation-list .conversation-link")
