"""What a person does in the list of conversations."""

from __future__ import annotations

from playwright.sync_api import Locator, Page


def row(page: Page, title: str) -> Locator:
    """Return the row of the list that shows this title."""
    return page.locator("#rooms .room").filter(has=page.get_by_role("link", name=title, exact=True))


def menu(page: Page, title: str) -> Locator:
    """Open a row's menu with the mouse and return it."""
    row(page, title).hover()
    row(page, title).get_by_role("button", name=f"Menu of “{title}”").click()
    opened = page.get_by_role("dialog", name="Conversation", exact=True)
    opened.locator("button, summary").filter(has_text="Delete").first.wait_for()
    return opened


def titles(page: Page) -> Locator:
    """Return what the list shows, from above."""
    return page.locator("#rooms .conv")
