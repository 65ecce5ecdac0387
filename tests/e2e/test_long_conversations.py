"""A long conversation opens at its end and loads earlier and later messages while scrolling."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from chat.actions.owners import default_app, local_owner
from chat.models import Conversation, Message

from .page_actions import last_reply, send_message

pytestmark = pytest.mark.browser

TALL = "A line of it.\n\n" * 4


@pytest.fixture
def long_one(live):
    """A conversation with two hundred messages of several lines each."""
    owner = local_owner()
    conversation = Conversation.objects.create(owner=owner, app=default_app(owner), title="Long")
    Message.objects.bulk_create(
        Message(
            conversation=conversation,
            seq=i,
            role="user" if i % 2 else "assistant",
            content=f"Message number {i}.\n\n{TALL}",
        )
        for i in range(1, 201)
    )
    return conversation


def message(page, number):
    return page.locator("article").filter(has_text=f"Message number {number}.")


def top_of(page, number):
    return message(page, number).evaluate("e => e.getBoundingClientRect().top")


def test_the_newest_messages_are_shown_and_the_end_is_in_view(open_page, long_one):
    page = open_page(f"/c/{long_one.pk}/")
    expect(message(page, 200)).to_be_in_viewport()
    expect(page.locator("article")).to_have_count(60)


def test_older_messages_load_on_scrolling_up_and_the_view_does_not_move(open_page, long_one):
    page = open_page(f"/c/{long_one.pk}/")
    with page.expect_response(lambda r: "before=141" in r.url):
        page.locator("[data-scroll-area]").evaluate("e => e.scrollTo(0, 40)")
        before = top_of(page, 141)
    expect(page.locator("article")).to_have_count(120)
    assert abs(top_of(page, 141) - before) < 2
    expect(message(page, 141)).to_be_in_viewport()


def test_a_link_to_a_message_shows_it_and_later_messages_load_below(open_page, long_one):
    asked = Message.objects.get(seq=61)
    page = open_page(f"/c/{long_one.pk}/?m={asked.pk}#m-{asked.pk}")
    expect(message(page, 61)).to_be_in_viewport()
    expect(message(page, 113)).to_have_count(0)
    page.locator("#later").scroll_into_view_if_needed()
    expect(message(page, 113)).to_have_count(1)
    expect(message(page, 61)).to_have_count(1)


def test_sending_a_message_while_reading_old_ones_leads_to_the_end(open_page, long_one, scripted):
    scripted.replies.append("Here is the end.")
    asked = Message.objects.get(seq=21)
    page = open_page(f"/c/{long_one.pk}/?m={asked.pk}#m-{asked.pk}")
    send_message(page, "Where were we?")
    expect(last_reply(page)).to_contain_text("Here is the end.")
    expect(message(page, 200)).to_have_count(1)


def test_without_javascript_links_lead_through_the_whole_conversation(open_page, long_one):
    page = open_page(f"/c/{long_one.pk}/", java_script_enabled=False)
    for first in (81, 21, 1):
        page.get_by_role("link", name="Earlier messages").click()
        expect(message(page, first)).to_have_count(1)
    expect(page.get_by_role("link", name="Earlier messages")).to_have_count(0)
    page.get_by_role("link", name="Later messages").click()
    expect(page.locator("article")).to_have_count(60)
