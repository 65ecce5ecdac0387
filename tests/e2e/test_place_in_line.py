"""A page shows how many replies come before its own, and says so when a person has too many pages open."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from playwright.sync_api import expect

from chat import consumers
from chat.actions import owners
from chat.generation.hub import hub
from chat.models import Message

from .page_actions import accessibility_violations, last_reply, send_message

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (390, False), (390, True)])
def test_the_place_in_line_is_shown_and_follows_the_line(open_page, scripted, gate, width, dark):
    page = open_page(width=width, dark=dark)
    send_message(page, "Hi")
    page.wait_for_url("**/c/**")
    reply = Message.objects.get(role="assistant")
    status = last_reply(page, "streaming").locator("[data-place]")
    expect(status).to_have_text("Reading your message…")
    for before in (2, 1):
        hub.show_place(str(reply.conversation_id), str(reply.pk), before)
        expect(status).to_have_text(f"Waiting: {before} before you")
    page.reload()
    expect(status).to_have_text("Waiting: 1 before you")
    page.wait_for_timeout(2000)
    assert accessibility_violations(page) == []
    hub.show_place(str(reply.conversation_id), str(reply.pk), 0)
    expect(status).to_have_text("Reading your message…")
    gate.release(100)
    expect(last_reply(page)).to_contain_text("Understood.")


def test_a_page_too_many_says_so_and_still_shows_the_chat(open_page, monkeypatch):
    # The server's pages are those of the local owner, without a login.
    monkeypatch.setattr(consumers, "MAX_SOCKETS_OF_ONE", 0)
    on_a_server = SimpleNamespace(is_local=lambda: False, adopt_time_zone=owners.adopt_time_zone)
    monkeypatch.setattr(consumers, "owners", on_a_server)
    page = open_page()
    expect(page.locator("#reconnecting")).to_have_text(re.compile("Many of your pages are open"))
