"""Actions of a user on a page, and locators of its parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from django.utils import timezone
from playwright.sync_api import Locator, Page

from chat.actions.deletions import UNDO_GRACE
from chat.actions.jobs import enqueue
from chat.llm.types import Turn
from chat.models import Deletion

MAYA_MESSAGE = (
    "Hi, I'm Maya, a React developer in Copenhagen. "
    "I'm building a local-first chat app and I prefer short answers."
)
MAYA_FACTS = {
    "Maya": "name: User's name is Maya",
    "React": "job: User is a React developer",
    "Copenhagen": "home: User lives in Copenhagen",
    "local-first": "building: User is building a local-first chat app",
    "short answers": "reply_style: User prefers short answers",
}


def scripted_extractor(notes: dict[str, str] = MAYA_FACTS) -> Callable[[Sequence[Turn]], str]:
    """Return a function that answers an extraction prompt with the facts whose keyword is in the text."""

    def read(turns: Sequence[Turn]) -> str:
        said = turns[-1].content
        return "\n".join(note for word, note in notes.items() if word in said) or "none"

    return read


def send_message(page: Page, text: str) -> None:
    """Type a message and send it with Enter."""
    page.get_by_role("textbox", name="Message", exact=True).fill(text)
    page.keyboard.press("Enter")


def last_reply(page: Page, state: str = "complete") -> Locator:
    """Return the last reply whose `data-state` is `state`."""
    return page.locator(f"[data-role=assistant][data-state={state}]").last


def memory_pill(page: Page, count: int) -> Locator:
    """Return the link in the header that shows this count of memories."""
    return page.get_by_role("link", name=re.compile(rf"^{count} memor"))


def open_panel(page: Page) -> Locator:
    """Open the memory panel with its keyboard shortcut and return it."""
    page.keyboard.press("Control+Shift+M")
    sheet = page.get_by_role("dialog", name="Memory")
    sheet.get_by_role("textbox", name="Remember something").wait_for()
    return sheet


def fact_card(place: Page | Locator, text: str) -> Locator:
    """Return the card of the fact with this text."""
    return place.locator("article.card").filter(has_text=text)


def each_width(page: Page) -> Iterator[int]:
    """Show the page on a desktop and on a phone; yields the width in CSS pixels."""
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        yield width


def end_time_to_undo() -> None:
    """Let the time to undo all pending deletions end now, so that a test need not wait for it."""
    now = timezone.now()
    for deletion in Deletion.objects.pending():
        Deletion.objects.filter(pk=deletion.pk).update(expires_at=now - UNDO_GRACE)
        # A request for work wakes the job threads.
        enqueue("finish_deletion", {"deletion": str(deletion.pk)}, key=f"finish_deletion:{deletion.pk}")


def accessibility_violations(page: Page) -> list[tuple[str, list[str]]]:
    """Return axe's serious and critical violations: of its contrast rules in the dark theme, then of all its
    rules in the light theme, which remains.
    """
    page.emulate_media(color_scheme="dark")
    in_the_dark = _run_axe(page, runOnly={"type": "rule", "values": ["color-contrast"]})
    page.emulate_media(color_scheme="light")
    return in_the_dark + _run_axe(page)


# Without `preload` axe does not load all style sheets again, for rules about sound and turned screens only.
_AXE = {"resultTypes": ["violations"], "preload": False}


def _run_axe(page: Page, **options: Any) -> list[tuple[str, list[str]]]:
    """Return axe's serious and critical violations, after all short animations have ended."""
    page.wait_for_function(
        "() => document.getAnimations().every("
        "a => a.playState !== 'running' || a.effect.getComputedTiming().endTime > 1000)"
    )
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate("options => axe.run(options).then(results => results.violations)", _AXE | options)
    return [
        (v["id"], [n["html"][:90] for n in v["nodes"]])
        for v in found
        if v["impact"] in ("serious", "critical")
    ]


PASSWORD = "a-long-enough-one"


def log_in(page: Page, user: Any) -> None:
    """Log in as a user whose password is PASSWORD, on the page of the login."""
    page.get_by_label("Name").fill(user.username)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in", exact=True).click()
