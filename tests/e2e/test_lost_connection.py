"""A page whose connection breaks says so, comes back by itself, and has missed nothing."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from chat.models import Message

from .hands import card, open_panel, pill, reply, say

pytestmark = pytest.mark.browser

KEEP_SOCKETS = """
window.sockets = [];
window.WebSocket = class extends WebSocket {
  constructor(...address) { super(...address); window.sockets.push(this); }
};
"""
LATE_SOCKET = """
const Real = WebSocket;
window.WebSocket = class {
  static OPEN = 1;
  constructor(address) {
    window.openSocket = () => {
      this.real = new Real(address);
      for (const on of ["onopen", "onmessage", "onclose"]) this.real[on] = (event) => this[on]?.(event);
    };
  }
  get readyState() { return this.real?.readyState ?? 0; }
  send(data) { this.real.send(data); }
  close() { this.real?.close(); }
};
"""
CUT = "window.sockets.at(-1).close()"


@pytest.fixture
def streaming(open_page, scripted, gate):
    """A page on which a reply has begun, and whose sockets a test can cut."""
    page = open_page()
    page.context.add_init_script(KEEP_SOCKETS)
    scripted.replies.append("One two three four five six seven.\n\n**Eight** nine ten.")
    say(page, "Count")
    page.wait_for_url("**/c/**")
    gate.release(2)
    expect(reply(page, "streaming")).to_contain_text("One two")
    return page


def test_a_cut_socket_comes_back_and_the_text_goes_on(streaming, gate):
    streaming.evaluate(CUT)
    gate.release(3)
    expect(reply(streaming, "streaming")).to_contain_text("One two three four five")
    assert streaming.evaluate("window.sockets.length") >= 2
    gate.release(100)
    expect(reply(streaming)).to_contain_text("One two three four five six seven.")
    expect(reply(streaming).locator("strong")).to_have_text("Eight")


def test_a_reply_that_ended_while_the_line_was_down_is_whole_when_it_is_back(streaming, gate):
    away = streaming.get_by_text("Reconnecting…")
    streaming.context.set_offline(True)
    streaming.evaluate(CUT)
    expect(away).to_be_visible()
    gate.release(100)
    streaming.context.set_offline(False)
    expect(reply(streaming)).to_contain_text("nine ten.", timeout=20_000)
    expect(away).to_be_hidden()


def test_what_another_tab_said_while_the_line_was_down_is_there_when_it_is_back(open_page, scripted):
    page = open_page()
    page.context.add_init_script(KEEP_SOCKETS)
    say(page, "First")
    expect(reply(page)).to_contain_text("Understood.")
    other = open_page(page.url)
    page.context.set_offline(True)
    page.evaluate(CUT)
    expect(page.get_by_text("Reconnecting…")).to_be_visible()
    say(other, "Second, from elsewhere")
    expect(other.locator("[data-role=assistant][data-state=complete]")).to_have_count(2)
    page.context.set_offline(False)
    expect(page.get_by_text("Second, from elsewhere")).to_be_visible(timeout=20_000)
    expect(page.locator("[data-role=assistant][data-state=complete]")).to_have_count(2)


def test_a_tab_without_a_line_agrees_with_another_once_it_gets_the_focus(open_page, make_fact):
    make_fact("User likes jazz")
    make_fact("User likes tea")
    page = open_page()
    page.context.add_init_script(LATE_SOCKET)
    page.reload()
    sheet = open_panel(page)
    other = open_page("/memory/")
    card(other, "jazz").hover()
    card(other, "jazz").get_by_role("button", name="Forget").click()
    expect(pill(other, 1)).to_be_visible()
    expect(sheet.locator("article.card")).to_have_count(2)
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(sheet.locator("article.card")).to_have_count(1)
    expect(page.locator("#pill")).to_have_attribute("data-count", "1")


def test_what_was_learned_between_the_page_and_its_socket_is_shown(open_page, scripted, make_fact):
    page = open_page()
    page.context.add_init_script(LATE_SOCKET)
    say(page, "I live in Lyon")
    page.wait_for_url("**/c/**")
    other = open_page(page.url)
    expect(reply(other)).to_be_visible()
    page.reload()
    asked = Message.objects.get(role="user")
    make_fact("User lives in Lyon", category="identity", kind="home", source_message=asked)
    expect(pill(page, 0)).to_be_visible()
    page.evaluate("window.openSocket()")
    expect(pill(page, 1)).to_be_visible()
    expect(reply(page).get_by_role("link", name="Lives in Lyon")).to_be_visible()
