"""What a person does on the page, for tests to read like sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page

from chat.llm.types import Turn

MAYA = (
    "Hi, I'm Maya, a React developer in Copenhagen. "
    "I'm building a local-first chat app and I prefer short answers."
)
NOTES = {
    "Maya": "name: User's name is Maya",
    "React": "job: User is a React developer",
    "Copenhagen": "home: User lives in Copenhagen",
    "local-first": "building: User is building a local-first chat app",
    "short answers": "reply_style: User prefers short answers",
}


def reader(notes: dict[str, str] = NOTES) -> Callable[[Sequence[Turn]], str]:
    """Return a scripted reader: for each portion of a message it notes what the portion says."""

    def read(turns: Sequence[Turn]) -> str:
        said = turns[-1].content
        return "\n".join(note for word, note in notes.items() if word in said) or "none"

    return read


def say(page: Page, text: str) -> None:
    """Type a message and send it with Enter."""
    page.get_by_role("textbox", name="Message", exact=True).fill(text)
    page.keyboard.press("Enter")


def reply(page: Page, state: str = "complete") -> Locator:
    """Return the last reply in this state."""
    return page.locator(f"[data-role=assistant][data-state={state}]").last


def pill(page: Page, count: int) -> Locator:
    """Return the memory pill when it shows this count."""
    return page.get_by_role("link", name=re.compile(rf"^{count} memor"))


def open_panel(page: Page) -> Locator:
    """Open the memory sheet by its shortcut and return it."""
    page.keyboard.press("Control+Shift+M")
    sheet = page.get_by_role("dialog", name="Memory")
    sheet.get_by_role("textbox", name="Remember something").wait_for()
    return sheet


def card(place: Page | Locator, text: str) -> Locator:
    """Return the card that says this."""
    return place.locator("article.card").filter(has_text=text)


def findings(page: Page) -> list[tuple[str, list[str]]]:
    """Return what axe finds that is serious or critical, once what fades in or out has come to rest."""
    page.wait_for_function(
        "() => document.getAnimations().every("
        "a => a.playState !== 'running' || a.effect.getComputedTiming().endTime > 1000)"
    )
    found = Axe().run(page).response["violations"]
    return [
        (v["id"], [n["html"][:90] for n in v["nodes"]])
        for v in found
        if v["impact"] in ("serious", "critical")
    ]
