"""A real server in a thread and a real Chromium; the model is scripted, so that each reply can be held back.

Runs as a process of its own with DJANGO_ALLOW_ASYNC_UNSAFE: Playwright's sync API keeps an event loop in the
main thread, which Django takes for asynchronous code (traps C24).
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.management import call_command
from playwright.sync_api import Browser, BrowserContext, Page, expect

from chat.actions.messages import finish_reply
from chat.llm.scripted import ScriptedProvider
from chat.models import Conversation
from tests.serving import served

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
PROVOKED = (
    "the server responded with a status of 4",
    "net::ERR_INTERNET_DISCONNECTED",
    # htmx says so of what could not be asked while the line was cut.
    "htmx:afterRequest",
    "htmx:sendError",
)

# Five seconds are too few where other programs want the processor as well.
expect.set_options(timeout=15_000)


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, Any]:
    """Use the system's Chromium: Playwright's own cannot be fetched everywhere."""
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.fail("There is no Chromium. `python3 manage.py test` installs it, or name one with CHROMIUM.")
    return {"executable_path": program, "args": FLAGS, "headless": True}


@pytest.fixture(scope="session")
def static_files() -> None:
    """Gather what the server hands out, before the application looks for it."""
    call_command("collectstatic", interactive=False, verbosity=0)


@pytest.fixture
def live(static_files: None, transactional_db: None, scripted: ScriptedProvider) -> Iterator[str]:
    """The address of a running server, its job threads beside it."""
    with served() as address:
        yield address


@pytest.fixture
def gate(scripted: ScriptedProvider) -> Iterator[threading.Semaphore]:
    """Holds every word of a reply back until the test releases it."""
    scripted.gate = threading.Semaphore(0)
    yield scripted.gate
    scripted.gate.release(10_000)


@pytest.fixture
def open_page(browser: Browser, live: str) -> Iterator[Callable[..., Page]]:
    """Returns an opener of pages, each in a window of its own; fails the test on any error in the console."""
    contexts: list[BrowserContext] = []
    errors: list[str] = []

    def open_at(path: str = "/", *, width: int = 1280, dark: bool = False, **options: Any) -> Page:
        context = browser.new_context(
            base_url=live,
            viewport={"width": width, "height": 800},
            color_scheme="dark" if dark else "light",
            **options,
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
        page.goto(path)
        return page

    yield open_at
    for context in contexts:
        context.close()
    # Refused requests and cut lines show up in the console as well; tests that provoke them look at the page.
    assert [e for e in errors if not any(known in e for known in PROVOKED)] == []


@pytest.fixture
def made(talk: Any) -> Callable[..., list[Conversation]]:
    """Returns a maker of conversations that were answered; the last one made is the newest."""

    def make(*titles: str) -> list[Conversation]:
        found = []
        for title in titles:
            asked, answer = talk(title)
            finish_reply(answer, "All right.", "complete")
            found.append(asked.conversation)
        return found

    return make
