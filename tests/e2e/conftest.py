"""A real server in a thread, a real Chromium, and a scripted model whose replies a test can hold back.

These tests run in a process of their own with DJANGO_ALLOW_ASYNC_UNSAFE: Playwright's sync API keeps an
event loop in the main thread, so Django takes the test's code for asynchronous code.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.management import call_command
from playwright.sync_api import Browser, BrowserContext, Page, expect
from playwright.sync_api import Error as PlaywrightError

from chat.actions.messages import finish_reply
from chat.llm.scripted import ScriptedProvider
from chat.models import Conversation
from tests.live_server import run_server

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
PROVOKED = (
    "net::ERR_FAILED",
    "the server responded with a status of 4",
    "net::ERR_INTERNET_DISCONNECTED",
    # A proxy that passes no WebSocket.
    "Error during WebSocket handshake",
    # htmx logs these for requests that fail while the connection is cut.
    "htmx:afterRequest",
    "htmx:sendError",
)

# The default of 5 s is too short on a busy machine.
expect.set_options(timeout=15_000)


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, Any]:
    """Use the system's Chromium, because Playwright's own cannot be downloaded everywhere."""
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.fail("There is no Chromium. `python3 manage.py test` installs it, or name one with CHROMIUM.")
    return {"executable_path": program, "args": FLAGS, "headless": True}


@pytest.fixture(scope="session")
def static_files() -> None:
    """Collect the static files before the application is imported: it lists them on import."""
    call_command("collectstatic", interactive=False, verbosity=0)


@pytest.fixture
def live(static_files: None, transactional_db: None, scripted: ScriptedProvider) -> Iterator[str]:
    """The URL of a running server with its job threads and static files."""
    with run_server() as address:
        yield address


def _leave(page: Page) -> None:
    """Show an empty page instead of this one: Chromium sometimes never closes a page that loads another."""
    try:
        page.goto("about:blank")
    except PlaywrightError:
        # The page was loading another address, so the browser refused this one. Wait until that is loaded.
        page.wait_for_load_state()


@pytest.fixture
def open_page(browser: Browser, live: str) -> Iterator[Callable[..., Page]]:
    """Return a function that opens a page in a browser context of its own.

    Errors in the browser console fail the test, except those in PROVOKED.
    """
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
        for page in context.pages:
            _leave(page)
        context.close()
    # PROVOKED errors come from refused requests and cut connections, whose effect the tests check.
    assert [e for e in errors if not any(known in e for known in PROVOKED)] == []


@pytest.fixture
def make_conversations(talk: Any) -> Callable[..., list[Conversation]]:
    """Return a function that makes conversations with a complete reply; the last title is the newest."""

    def make(*titles: str) -> list[Conversation]:
        found = []
        for title in titles:
            asked, answer = talk(title)
            finish_reply(answer, "All right.", "complete")
            found.append(asked.conversation)
        return found

    return make
