"""A reply streams as Markdown, can be stopped, and survives reloads and closed tabs."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from chat.errors import ProviderError

from .page_actions import last_reply, send_message

pytestmark = pytest.mark.browser

TEXT = "Hello **Maya**, nice to meet you.\n\n- one\n- two"


@pytest.fixture
def streaming(open_page, scripted, gate):
    """A page with a reply in progress: two words are shown, the rest is held back."""
    scripted.replies.append(TEXT)
    page = open_page()
    send_message(page, "Hi")
    page.wait_for_url("**/c/**")
    gate.release(2)
    expect(last_reply(page, "streaming").locator("strong")).to_have_text("Maya")
    return page


def test_markdown_is_rendered_while_the_reply_is_written(streaming, gate):
    gate.release(100)
    expect(last_reply(streaming).locator("li")).to_have_count(2)


@pytest.mark.parametrize("how", ["button", "Escape"])
def test_stop_keeps_the_text_and_offers_retry(streaming, scripted, gate, how):
    if how == "button":
        streaming.get_by_role("button", name="Stop the reply").click()
    else:
        streaming.keyboard.press("Escape")
    stopped = last_reply(streaming, "stopped")
    expect(stopped.locator("strong")).to_have_text("Maya")
    expect(stopped).to_contain_text("You stopped this reply.")
    gate.release(1000)
    scripted.replies.append("Written anew.")
    stopped.get_by_role("button", name="Retry").click()
    expect(last_reply(streaming)).to_contain_text("Written anew.")


def test_a_reply_ends_while_the_page_keeps_making_other_requests(streaming, gate):
    page = streaming
    # As while many waiting messages are extracted: each one tells the page to ask for its state again.
    page.evaluate("setInterval(() => document.body.dispatchEvent(new CustomEvent('chat-changed')), 20)")
    gate.release(100)
    expect(last_reply(page).locator("li")).to_have_count(2)


def test_a_reload_during_a_reply_loses_nothing_and_continues(streaming, gate):
    streaming.reload()
    expect(last_reply(streaming, "streaming").locator("strong")).to_have_text("Maya")
    gate.release(3)
    expect(last_reply(streaming, "streaming")).to_contain_text("nice to meet")
    gate.release(100)
    expect(last_reply(streaming).locator("li")).to_have_count(2)


def test_a_second_tab_during_a_reply_shows_the_same_text(streaming, open_page, gate):
    second = open_page(urlsplit(streaming.url).path)
    expect(last_reply(second, "streaming").locator("strong")).to_have_text("Maya")
    gate.release(100)
    for page in (streaming, second):
        expect(last_reply(page).locator("li")).to_have_count(2)


def test_a_lost_connection_catches_up_after_reconnecting(streaming, gate):
    streaming.context.set_offline(True)
    gate.release(100)
    streaming.context.set_offline(False)
    expect(last_reply(streaming).locator("li")).to_have_count(2, timeout=30_000)


def test_a_second_message_during_a_reply_is_refused_and_stays_as_a_draft(streaming):
    send_message(streaming, "One more thing")
    expect(streaming.locator("[data-toasts]").first).to_contain_text("still being written")
    expect(streaming.get_by_role("textbox", name="Message", exact=True)).to_have_value("One more thing")


def test_a_failed_reply_says_why_and_can_be_retried(open_page, scripted):
    scripted.replies.append(ProviderError("server-unreachable"))
    page = open_page()
    send_message(page, "Hi")
    failed = last_reply(page, "failed")
    expect(failed).to_contain_text("Couldn't reach the model. Your message is saved.")
    failed.get_by_role("button", name="Retry").click()
    expect(last_reply(page)).to_contain_text("Understood.")


def test_a_user_who_scrolled_up_stays_there_and_is_told_of_new_text(open_page, scripted, gate):
    scripted.replies.append("\n\n".join(f"Paragraph {i}." for i in range(60)))
    page = open_page()
    send_message(page, "Hi")
    page.wait_for_url("**/c/**")
    gate.release(40)
    expect(last_reply(page, "streaming")).to_contain_text("Paragraph 38.")
    talk = page.locator("[data-scroll-area]")
    talk.hover()
    page.mouse.wheel(0, -2000)
    expect(last_reply(page, "streaming").locator("p").first).to_be_in_viewport()
    gate.release(10)
    page.get_by_role("button", name="New text").click()
    gate.release(100)
    expect(page.get_by_text("Paragraph 59.")).to_be_in_viewport()


def test_the_layout_does_not_shift_while_a_reply_streams(open_page, scripted):
    page = open_page()
    page.context.add_init_script(
        "window.shift = 0; new PerformanceObserver(l => { for (const e of l.getEntries())"
        " if (!e.hadRecentInput) window.shift += e.value }).observe({type: 'layout-shift', buffered: true})"
    )
    scripted.replies.append("# Title\n\nSome text.\n\n- a\n- b\n\n```python\nprint(1)\n```\n\nThe end of it.")
    send_message(page, "Hi")
    expect(last_reply(page)).to_contain_text("The end of it.")
    assert page.evaluate("window.shift") < 0.02
