"""A server that is killed and restarted: open pages reconnect and pending deletions stay correct."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.data_folder import build_environment, make_data_folder, query_database
from tests.page_client import PageClient, start_server_process
from tests.waiting import wait_until

from .page_actions import fact_card, memory_pill, open_panel

pytestmark = [pytest.mark.browser, pytest.mark.slow]


class Server:
    """The real server with a data folder of its own and no model; it can be killed and restarted."""

    def __init__(self, folder: Path) -> None:
        make_data_folder(folder)
        self.env = build_environment(folder, MODEL_DIR=str(folder / "models"))
        self.sql = partial(query_database, folder)
        self.process: subprocess.Popen[bytes] | None = None
        self.base = ""

    def start(self) -> None:
        port = urlsplit(self.base).port
        self.process, self.base = start_server_process(
            self.env, "manage.py", "serve", "--no-browser", "--port", port=port
        )

    def kill(self) -> None:
        if self.process:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(10)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "data")
    server.start()
    yield server
    server.kill()


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    """A tab with an open panel that shows two facts."""
    client = PageClient(server.base)
    for text in ("I like chess", "I like tea"):
        client.post("/memory/add/", text=text)
    context = browser.new_context(base_url=server.base, viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.set_default_timeout(15_000)
    page.goto("/")
    expect(open_panel(page).locator("article.card")).to_have_count(2)
    yield page
    context.close()


def forget(page: Page, text: str) -> None:
    """Forget the fact on a card of the open panel."""
    fact_card(page, text).hover()
    fact_card(page, text).get_by_role("button", name="Forget").click()
    expect(fact_card(page, text)).to_have_count(0)


def test_an_open_tab_reconnects_and_expired_deletions_are_finished(server, page):
    forget(page, "chess")
    page.keyboard.press("Escape")
    page.get_by_role("textbox", name="Message", exact=True).fill("Half a sentence")
    server.kill()
    expect(page.get_by_text("Reconnecting…")).to_be_visible()
    server.start()
    expect(page.get_by_text("Reconnecting…")).to_be_hidden(timeout=30_000)
    wait_until(lambda: server.sql("SELECT count(*) FROM chat_fact") == [(1,)], 20)
    expect(page.get_by_role("textbox", name="Message", exact=True)).to_have_value("Half a sentence")
    sheet = open_panel(page)
    expect(sheet.locator("article.card")).to_have_count(1)
    expect(fact_card(sheet, "tea")).to_be_visible()
    forget(page, "tea")
    expect(memory_pill(page, 0)).to_have_count(1)


def test_a_deletion_can_be_undone_after_the_server_was_restarted(server, page):
    forget(page, "chess")
    server.kill()
    # A start can take longer than the four seconds to undo on a busy machine.
    server.sql("UPDATE chat_deletion SET expires_at = datetime('now', '+60 seconds')")
    page.goto("about:blank")
    server.start()
    page.goto("/memory/")
    expect(fact_card(page, "tea")).to_be_visible()
    expect(fact_card(page, "chess")).to_have_count(0)
    page.locator(".toast").filter(has_text="chess").get_by_role("button", name="Undo").click()
    expect(fact_card(page, "chess")).to_be_visible()
    assert server.sql("SELECT count(*) FROM chat_fact WHERE deletion_id IS NULL") == [(2,)]
    assert server.sql("SELECT state FROM chat_deletion") == [("undone",)]
