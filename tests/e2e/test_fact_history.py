"""The origin and history of a memory in a browser, restoring an earlier text, and the archive."""

from __future__ import annotations

import re

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from chat.actions import archive, facts
from chat.models import Conversation, Fact, Job

from .page_actions import fact_card, last_reply, open_panel, send_message

pytestmark = pytest.mark.browser


@pytest.fixture
def learned(talk, make_fact, live):
    """A fact whose source is the first message of a conversation longer than the page."""
    asked, _ = talk("By the way, I live in Oslo.")
    conversation = asked.conversation
    conversation.messages.filter(role="assistant").update(state="complete", content="Fine. " * 400)
    for n in range(6):
        _, answer = talk(f"Number {n}.", conversation)
        conversation.messages.filter(pk=answer.pk).update(state="complete", content="Fine. " * 400)
    Conversation.objects.update(extracted_through=99)
    Job.objects.all().delete()
    return make_fact(
        "User lives in Oslo",
        category="identity",
        kind="home",
        quote="By the way, I live in Oslo.",
        source_message=asked,
        source_conversation=conversation,
    )


def open_origin(place, text):
    """Open the origin on a card and return the card."""
    fact_card(place, text).hover()
    fact_card(place, text).get_by_role("link", name="Where from").click()
    expect(fact_card(place, text).get_by_role("list", name="History")).to_be_attached()
    return fact_card(place, text)


def test_the_link_to_the_message_closes_the_panel_and_scrolls_to_the_message(open_page, learned):
    page = open_page(f"/c/{learned.source_conversation_id}/")
    message = page.locator(f"#m-{learned.source_message_id}")
    expect(message).not_to_be_in_viewport()
    sheet = open_panel(page)
    opened = open_origin(sheet, "Oslo")
    expect(opened).to_contain_text("“By the way, I live in Oslo.”")
    opened.get_by_role("link", name="show the message").click()
    expect(sheet).to_be_hidden()
    expect(message).to_be_in_viewport()


def test_from_another_page_the_link_opens_the_message(open_page, learned):
    page = open_page("/memory/")
    open_origin(page, "Oslo").get_by_role("link", name="show the message").click()
    page.wait_for_url("**/c/**")
    expect(page.locator(f"#m-{learned.source_message_id}")).to_be_in_viewport()


def test_a_deleted_conversation_is_named_as_the_origin(open_page, learned):
    Conversation.objects.all().delete()
    opened = open_origin(open_panel(open_page()), "Oslo")
    expect(opened).to_contain_text("from a deleted conversation")
    expect(opened.get_by_role("link", name="show the message")).to_have_count(0)


def test_the_origin_opens_by_keyboard_and_stays_open_when_memory_changes(open_page, owner, live):
    facts.add_fact(owner, "I like chess")
    page = open_page()
    sheet = open_panel(page)
    button = fact_card(sheet, "chess").get_by_role("link", name="Where from")
    button.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(button).to_be_focused()
    facts.add_fact(owner, "I like tea")
    expect(fact_card(sheet, "tea")).to_be_visible()
    expect(fact_card(sheet, "chess")).to_contain_text("Added by hand, today")
    expect(button).to_be_focused()
    button.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "false")
    expect(fact_card(sheet, "chess")).not_to_contain_text("Added by hand")


def test_restore_brings_an_earlier_text_back(open_page, owner, live):
    fact = facts.add_fact(owner, "I like chess")
    facts.edit_fact(fact, "I like bebop")
    sheet = open_panel(open_page())
    opened = open_origin(sheet, "bebop")
    expect(opened).to_contain_text("Changed from “I like chess”")
    opened.get_by_role("button", name="Restore “I like chess”").click()
    expect(sheet.get_by_role("link", name="I like chess")).to_be_visible()
    expect(fact_card(sheet, "chess")).to_contain_text("Brought back")
    assert Fact.objects.get().text == "I like chess"


def test_a_replaced_fact_is_reached_from_its_successor_and_can_be_restored(open_page, scripted):
    page = open_page()
    scripted.completions.append("home: User lives in Oslo")
    send_message(page, "I live in Oslo.")
    expect(last_reply(page)).to_contain_text("Remembered: lives in Oslo", use_inner_text=True)
    scripted.completions.append("home: User lives in Bergen")
    send_message(page, "I live in Bergen now.")
    expect(page.locator("#messages")).to_contain_text("lives in Bergen")
    sheet = open_panel(page)
    fact_card(sheet, "Bergen").get_by_role("link", name="was “Lives in Oslo”").click()
    expect(fact_card(sheet, "Bergen")).to_contain_text("“Lives in Oslo” was replaced")
    fact_card(sheet, "Bergen").get_by_role("button", name="Restore “Lives in Oslo”").first.click()
    expect(sheet.get_by_role("link", name="Lives in Oslo", exact=True)).to_be_visible()
    assert Fact.objects.live().get().text == "User lives in Oslo"


def test_the_archive_is_shown_only_when_it_is_not_empty_and_facts_can_be_restored(open_page, make_fact, live):
    sheet = open_panel(open_page())
    expect(sheet.locator("#archive")).to_be_hidden()
    archive.archive_facts([make_fact("User likes chess")], "expire", "not mentioned for long", timezone.now())
    expect(sheet.locator("#archive")).to_be_visible()
    sheet.get_by_text("Archive").click()
    expect(sheet.locator("#archive")).to_contain_text(re.compile("Likes chess\\s*Faded away, today"))
    sheet.get_by_role("button", name="Bring back “Likes chess”").click()
    expect(fact_card(sheet, "chess")).to_be_visible()
    expect(sheet.locator("#archive")).to_be_hidden()


def test_origin_and_archive_work_without_javascript(open_page, owner, make_fact, live):
    fact = facts.add_fact(owner, "I like chess")
    facts.edit_fact(fact, "I like bebop")
    archive.archive_facts([make_fact("User likes tea")], "evict", "made room", timezone.now())
    page = open_page("/memory/", java_script_enabled=False)
    fact_card(page, "bebop").get_by_role("link", name="Where from").click()
    page.get_by_role("button", name="Restore “I like chess”").click()
    expect(fact_card(page, "chess")).to_be_visible()
    page.get_by_text("Archive").click()
    page.get_by_role("button", name="Bring back “Likes tea”").click()
    expect(fact_card(page, "tea")).to_be_visible()


def test_adding_a_known_fact_says_so_and_focuses_its_card(open_page, owner, live):
    for n in range(12):
        facts.add_fact(owner, f"I like number {n} very much")
    facts.add_fact(owner, "I like chess")
    sheet = open_panel(open_page())
    sheet.get_by_role("searchbox").fill("number 3")
    expect(sheet.locator("article.card")).to_have_count(1)
    box = sheet.get_by_role("textbox", name="Remember something")
    box.fill("i like chess!")
    box.press("Enter")
    expect(sheet.locator("[data-toasts]")).to_contain_text("Already remembered.")
    expect(fact_card(sheet, "chess").get_by_role("link", name="I like chess")).to_be_focused()
    expect(sheet.get_by_role("searchbox")).to_have_value("")
    box.fill("x")
    box.press("Enter")
    expect(sheet.get_by_role("alert")).to_contain_text("This contains no words.")


def test_a_late_response_of_an_older_search_does_not_hide_the_shown_card(open_page, owner, live):
    for text in ["I like jazz", "I like chess"]:
        facts.add_fact(owner, text)
    page = open_page()
    sheet = open_panel(page)
    sheet.get_by_role("searchbox").fill("jazz")
    expect(sheet.locator("article.card")).to_have_count(1)
    held = []
    # The change makes the list request itself again; the test holds this response back.
    page.route("**/memory/?q=jazz*", lambda route: held.append((route, route.fetch())), times=1)
    page.evaluate("htmx.trigger(document.body, 'memory-changed')")
    for _ in range(100):
        if held:
            break
        page.wait_for_timeout(50)
    box = sheet.get_by_role("textbox", name="Remember something")
    box.fill("i like chess!")
    box.press("Enter")
    known = fact_card(sheet, "chess").get_by_role("link", name="I like chess")
    expect(known).to_be_focused()
    route, answer = held[0]
    with page.expect_response("**/memory/?q=jazz*"):
        route.fulfill(response=answer)
    page.wait_for_timeout(500)
    expect(known).to_be_focused()
