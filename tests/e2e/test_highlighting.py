"""Remembering selected words of a message with the button beside the selection, and undo."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from chat.actions import archive
from chat.models import Fact, Message

from .page_actions import (
    accessibility_violations,
    fact_card,
    last_reply,
    memory_pill,
    open_panel,
)

pytestmark = pytest.mark.browser

SELECT = """([where, words]) => {
  const walker = document.createTreeWalker(document.querySelector(where), NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    const at = node.data.indexOf(words);
    if (at < 0) continue;
    getSelection().setBaseAndExtent(node, at, node, at + words.length);
    return true;
  }
}"""
REPLY = "[data-role=assistant][data-state=complete] .prose"


@pytest.fixture
def chat_page(open_page, add_exchange):
    """A page with one exchange."""
    answer = "Try the bakery in **Lyon** and the market on Sundays."
    chat = add_exchange("I travel with my violin. Where to?", answer=answer)
    return open_page(f"/c/{chat.pk}/")


def select_text(page, words, where=REPLY):
    """Select these words in the element `where`."""
    assert page.evaluate(SELECT, [where, words])


def remember_button(page):
    """Return the button beside the selection."""
    return page.locator("#remember-selection").get_by_role("button", name="Remember")


def test_the_button_beside_the_selection_remembers_it_and_undo_forgets_it(chat_page):
    select_text(chat_page, "the market on Sundays")
    expect(remember_button(chat_page)).to_be_in_viewport(ratio=1)
    remember_button(chat_page).click()
    toast = chat_page.locator(".toast").filter(has_text="Remembered “the market on Sundays”")
    expect(toast).to_be_visible()
    expect(memory_pill(chat_page, 1)).to_be_visible()
    expect(remember_button(chat_page)).to_be_hidden()
    assert Fact.objects.get().origin == "highlight"
    toast.get_by_role("button", name="Undo").click()
    expect(memory_pill(chat_page, 0)).to_be_visible()
    expect(chat_page.locator(".toast").filter(has_text="Forgot “the market on Sundays”")).to_be_visible()


def test_the_shortcut_remembers_selected_words_of_the_user(chat_page):
    select_text(chat_page, "I travel with my violin", "[data-role=user] .prose")
    chat_page.keyboard.press("Alt+M")
    expect(chat_page.locator(".toast")).to_contain_text("Remembered “I travel with my violin”")
    sheet = open_panel(chat_page)
    expect(fact_card(sheet, "violin")).to_be_visible()
    fact_card(sheet, "violin").hover()
    fact_card(sheet, "violin").get_by_role("link", name="Where from").click()
    fact_card(sheet, "violin").get_by_role("link", name="show the message").click()
    expect(chat_page.locator(f"#m-{Message.objects.get(role='user').pk}")).to_be_in_viewport()


def test_there_is_no_button_without_a_selection_or_outside_of_messages(chat_page):
    expect(remember_button(chat_page)).to_be_hidden()
    chat_page.evaluate("getSelection().selectAllChildren(document.querySelector('.page-header .title'))")
    chat_page.keyboard.press("Alt+M")
    expect(remember_button(chat_page)).to_be_hidden()
    select_text(chat_page, "market")
    expect(remember_button(chat_page)).to_be_visible()
    chat_page.evaluate("getSelection().removeAllRanges()")
    expect(remember_button(chat_page)).to_be_hidden()
    assert not Fact.objects.exists()


def test_a_known_fact_is_reported_without_undo(chat_page, make_fact):
    make_fact("the bakery")
    select_text(chat_page, "the bakery")
    remember_button(chat_page).click()
    expect(chat_page.locator(".toast")).to_contain_text("Already remembered: “the bakery”")
    expect(chat_page.locator(".toast button")).to_have_count(0)


def test_on_a_phone_the_button_is_below_the_selection(open_page, add_exchange):
    chat = add_exchange("I travel with my violin.")
    page = open_page(f"/c/{chat.pk}/", width=390, has_touch=True, is_mobile=True)
    select_text(page, "violin", "[data-role=user] .prose")
    expect(remember_button(page)).to_be_in_viewport(ratio=1)
    selected = page.evaluate("getSelection().getRangeAt(0).getBoundingClientRect().bottom")
    assert remember_button(page).bounding_box()["y"] > selected
    assert accessibility_violations(page) == []
    remember_button(page).tap()
    expect(page.locator(".toast")).to_contain_text("Remembered “violin”")


def test_an_ended_fact_is_listed_under_the_reply_and_can_be_kept(chat_page, make_fact):
    car = make_fact("User drives a Saab")
    archive.archive_ended_fact(car, "the user said so", Message.objects.get(role="user"))
    chat_page.reload()
    over = last_reply(chat_page).get_by_role("list", name="No longer true since this exchange")
    expect(over).to_contain_text("No longer: drives a Saab", use_inner_text=True)
    over.get_by_role("button", name="Undo: keep “drives a Saab”").click()
    expect(chat_page.locator(".toast")).to_contain_text("Brought back.")
    expect(over).to_be_hidden()
    expect(memory_pill(chat_page, 1)).to_be_visible()


def test_an_older_response_does_not_show_an_undone_line_again(chat_page, make_fact):
    car = make_fact("User drives a Saab")
    archive.archive_ended_fact(car, "the user said so", Message.objects.get(role="user"))
    held, address = [], chat_page.url
    # Leave the page first, so that its own late request does not match the route.
    chat_page.goto("about:blank")
    # Answer the request that the page sends when it opens, but hold the response back.
    chat_page.route(re.compile(r"/m/[^/]+/$"), lambda route: held.append((route, route.fetch())), times=1)
    chat_page.goto(address)
    over = last_reply(chat_page).get_by_role("list", name="No longer true since this exchange")
    expect(over).to_be_visible()
    for _ in range(100):
        if held:
            break
        chat_page.wait_for_timeout(50)
    over.get_by_role("button", name="Undo: keep “drives a Saab”").click()
    expect(over).to_be_hidden()
    route, answer = held[0]
    with chat_page.expect_response(re.compile(r"/m/[^/]+/$")):
        route.fulfill(response=answer)
    chat_page.wait_for_timeout(500)
    expect(over).to_be_hidden()
