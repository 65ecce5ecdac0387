"""A page whose connection breaks says so, reconnects by itself, and catches up."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from chat.models import Message

from .page_actions import fact_card, last_reply, memory_pill, open_panel, send_message

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
    """A page with a reply in progress, whose sockets a test can close."""
    page = open_page()
    page.context.add_init_script(KEEP_SOCKETS)
    scripted.replies.append("One two three four five six seven.\n\n**Eight** nine ten.")
    send_message(page, "Count")
    page.wait_for_url("**/c/**")
    gate.release(2)
    expect(last_reply(page, "streaming")).to_contain_text("One two")
    return page


def test_a_closed_socket_reconnects_and_the_text_continues(streaming, gate):
    streaming.evaluate(CUT)
    gate.release(3)
    expect(last_reply(streaming, "streaming")).to_contain_text("One two three four five")
    assert streaming.evaluate("window.sockets.length") >= 2
    gate.release(100)
    expect(last_reply(streaming)).to_contain_text("One two three four five six seven.")
    expect(last_reply(streaming).locator("strong")).to_have_text("Eight")


def test_a_reply_that_ended_while_offline_is_complete_after_reconnecting(streaming, gate):
    away = streaming.get_by_text("Reconnecting…")
    streaming.context.set_offline(True)
    streaming.evaluate(CUT)
    expect(away).to_be_visible()
    gate.release(100)
    streaming.context.set_offline(False)
    expect(last_reply(streaming)).to_contain_text("nine ten.", timeout=20_000)
    expect(away).to_be_hidden()


def test_messages_sent_from_another_tab_while_offline_appear_after_reconnecting(open_page, scripted):
    page = open_page()
    page.context.add_init_script(KEEP_SOCKETS)
    send_message(page, "First")
    expect(last_reply(page)).to_contain_text("Understood.")
    other = open_page(page.url)
    page.context.set_offline(True)
    page.evaluate(CUT)
    expect(page.get_by_text("Reconnecting…")).to_be_visible()
    send_message(other, "Second, from elsewhere")
    expect(other.locator("[data-role=assistant][data-state=complete]")).to_have_count(2)
    page.context.set_offline(False)
    expect(page.get_by_text("Second, from elsewhere")).to_be_visible(timeout=20_000)
    expect(page.locator("[data-role=assistant][data-state=complete]")).to_have_count(2)


def test_a_tab_without_a_socket_updates_when_it_gets_the_focus(open_page, make_fact):
    make_fact("User likes jazz")
    make_fact("User likes tea")
    page = open_page()
    page.context.add_init_script(LATE_SOCKET)
    page.reload()
    sheet = open_panel(page)
    other = open_page("/memory/")
    fact_card(other, "jazz").hover()
    fact_card(other, "jazz").get_by_role("button", name="Forget").click()
    expect(memory_pill(other, 1)).to_be_visible()
    expect(sheet.locator("article.card")).to_have_count(2)
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(sheet.locator("article.card")).to_have_count(1)
    expect(page.locator("#pill")).to_have_attribute("data-count", "1")


def test_facts_learned_between_page_load_and_socket_connection_are_shown(open_page, scripted, make_fact):
    page = open_page()
    page.context.add_init_script(LATE_SOCKET)
    send_message(page, "I live in Lyon")
    page.wait_for_url("**/c/**")
    other = open_page(page.url)
    expect(last_reply(other)).to_be_visible()
    page.reload()
    asked = Message.objects.get(role="user")
    make_fact("User lives in Lyon", category="identity", kind="home", source_message=asked)
    expect(memory_pill(page, 0)).to_be_visible()
    page.evaluate("window.openSocket()")
    expect(memory_pill(page, 1)).to_be_visible()
    expect(last_reply(page).get_by_role("link", name="Lives in Lyon")).to_be_visible()
