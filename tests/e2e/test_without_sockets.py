"""Behind a proxy that passes no WebSocket, the page says so and asks every second, so that chatting works."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from .page_actions import send_message

pytestmark = pytest.mark.browser
NOTICE = "Your network passes no WebSocket."


@pytest.fixture
def refuse_sockets(monkeypatch):
    """Refuse sockets as such a proxy does, until the returned function is called."""
    import memoryapp.asgi

    routes = memoryapp.asgi.application.application_mapping
    real = routes["websocket"]

    async def refuse(_scope, _receive, send):
        await send({"type": "websocket.close", "code": 1006})

    monkeypatch.setitem(routes, "websocket", refuse)
    return lambda: routes.__setitem__("websocket", real)


def test_a_reply_appears_while_it_is_written_and_the_page_says_why_it_is_late(
    live, refuse_sockets, open_page, scripted, gate
):
    scripted.replies.append("One two three four.")
    page = open_page("/")
    expect(page.locator("#reconnecting")).to_contain_text(NOTICE, timeout=30_000)
    send_message(page, "Count for me")
    page.wait_for_url(re.compile("/c/"))
    gate.release(2)
    reply = page.locator(".from-model")
    expect(reply).to_contain_text("One", timeout=30_000)
    expect(reply).not_to_contain_text("four")
    gate.release(100)
    expect(reply).to_contain_text("One two three four.")
    expect(reply).to_have_attribute("data-state", "complete")


def test_the_notice_goes_where_sockets_open_again(live, refuse_sockets, open_page, make_conversations):
    page = open_page(f"/c/{make_conversations('Tea')[0].pk}/")
    expect(page.locator("#reconnecting")).to_contain_text(NOTICE, timeout=30_000)
    refuse_sockets()
    expect(page.locator("#reconnecting")).to_be_hidden(timeout=30_000)
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/poll/" in request.url else None)
    page.wait_for_timeout(2500)
    assert asked == []
