"""A server that is killed and comes back finds its pages open, and keeps what it has promised."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.page_client import ROOT, serve
from tests.waiting import until

from .hands import card, open_panel, pill

pytestmark = [pytest.mark.browser, pytest.mark.slow]


class Server:
    """The real server on a data folder of its own, without a model; it can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        hidden = ("DJANGO_SETTINGS_MODULE", "MODEL_PATH", "MODEL")
        self.env = {k: v for k, v in os.environ.items() if k not in hidden}
        self.env |= {"DATA_DIR": str(folder), "MODEL_DIR": str(folder / "models")}
        self.database = folder / "memoryapp.sqlite3"
        self.process: subprocess.Popen[bytes] | None = None
        self.base = ""
        for command in (["migrate", "-v0"], ["collectstatic", "--noinput", "-v0"]):
            subprocess.run([sys.executable, "manage.py", *command], cwd=ROOT, env=self.env, check=True)

    def start(self) -> None:
        port = urlsplit(self.base).port
        self.process, self.base = serve(self.env, "manage.py", "serve", "--no-browser", "--port", port=port)

    def kill(self) -> None:
        if self.process:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(10)

    def sql(self, query: str) -> list[tuple[object, ...]]:
        """Look at the database, or change it, as another program would."""
        with sqlite3.connect(self.database, timeout=20) as connection:
            return connection.execute(query).fetchall()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "data")
    server.start()
    yield server
    server.kill()


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    """A tab with an open panel in which two memories were written."""
    context = browser.new_context(base_url=server.base, viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.set_default_timeout(15_000)
    page.goto("/")
    sheet = open_panel(page)
    for text in ("I like chess", "I like tea"):
        sheet.get_by_role("textbox", name="Remember something").fill(text)
        page.keyboard.press("Enter")
        expect(card(sheet, text)).to_be_visible()
    yield page
    context.close()


def forget(page: Page, text: str) -> None:
    """Press the bin of a card in the open panel."""
    card(page, text).hover()
    card(page, text).get_by_role("button", name="Forget").click()
    expect(card(page, text)).to_have_count(0)


def test_an_open_tab_comes_back_and_what_ran_out_meanwhile_is_finished(server, page):
    forget(page, "chess")
    page.keyboard.press("Escape")
    page.get_by_role("textbox", name="Message", exact=True).fill("Half a sentence")
    server.kill()
    expect(page.get_by_text("Reconnecting…")).to_be_visible()
    server.start()
    expect(page.get_by_text("Reconnecting…")).to_be_hidden(timeout=30_000)
    until(lambda: server.sql("SELECT count(*) FROM chat_fact") == [(1,)], 20)
    expect(page.get_by_role("textbox", name="Message", exact=True)).to_have_value("Half a sentence")
    sheet = open_panel(page)
    expect(sheet.locator("article.card")).to_have_count(1)
    expect(card(sheet, "tea")).to_be_visible()
    forget(page, "tea")
    expect(pill(page, 0)).to_have_count(1)


def test_a_deletion_is_still_undone_with_the_tab_closed_and_the_server_started_anew(server, page):
    forget(page, "chess")
    server.kill()
    # What starts is slower than four seconds where other programs want the processor as well.
    server.sql("UPDATE chat_deletion SET expires_at = datetime('now', '+60 seconds')")
    page.goto("about:blank")
    server.start()
    page.goto("/memory/")
    expect(card(page, "tea")).to_be_visible()
    expect(card(page, "chess")).to_have_count(0)
    page.locator(".toast").filter(has_text="chess").get_by_role("button", name="Undo").click()
    expect(card(page, "chess")).to_be_visible()
    assert server.sql("SELECT count(*) FROM chat_fact WHERE deletion_id IS NULL") == [(2,)]
    assert server.sql("SELECT state FROM chat_deletion") == [("undone",)]
