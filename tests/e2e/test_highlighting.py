"""Highlight to remember: select words in a message, press the button beside them, take it back."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from chat.actions import archive
from chat.models import Fact, Message

from .hands import card, findings, open_panel, pill, reply, say

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
def talked(open_page, scripted):
    """A page with one exchange."""
    scripted.replies.append("Try the bakery in **Lyon** and the market on Sundays.")
    page = open_page()
    say(page, "I travel with my violin. Where to?")
    expect(reply(page)).to_contain_text("Sundays")
    return page


def select(page, words, where=REPLY):
    """Select words in a message."""
    assert page.evaluate(SELECT, [where, words])


def remember(page):
    """Return the button beside the selection."""
    return page.locator("#highlight").get_by_role("button", name="Remember")


def test_a_button_beside_the_selection_remembers_it_and_undo_forgets_it(talked):
    select(talked, "the market on Sundays")
    expect(remember(talked)).to_be_in_viewport(ratio=1)
    remember(talked).click()
    toast = talked.locator(".toast").filter(has_text="Remembered “the market on Sundays”")
    expect(toast).to_be_visible()
    expect(pill(talked, 1)).to_be_visible()
    expect(remember(talked)).to_be_hidden()
    assert Fact.objects.get().origin == "highlight"
    toast.get_by_role("button", name="Undo").click()
    expect(pill(talked, 0)).to_be_visible()
    expect(talked.locator(".toast").filter(has_text="Forgot “the market on Sundays”")).to_be_visible()


def test_the_shortcut_does_the_same_on_the_users_own_words(talked):
    select(talked, "I travel with my violin", "[data-role=user] .prose")
    talked.keyboard.press("Alt+M")
    expect(talked.locator(".toast")).to_contain_text("Remembered “I travel with my violin”")
    sheet = open_panel(talked)
    expect(card(sheet, "violin")).to_be_visible()
    card(sheet, "violin").hover()
    card(sheet, "violin").get_by_role("link", name="Where from").click()
    card(sheet, "violin").get_by_role("link", name="show the message").click()
    expect(talked.locator(f"#m-{Message.objects.get(role='user').pk}")).to_be_in_viewport()


def test_there_is_no_button_without_a_selection_or_outside_of_messages(talked):
    expect(remember(talked)).to_be_hidden()
    talked.evaluate("getSelection().selectAllChildren(document.querySelector('.head .title'))")
    talked.keyboard.press("Alt+M")
    expect(remember(talked)).to_be_hidden()
    select(talked, "market")
    expect(remember(talked)).to_be_visible()
    talked.evaluate("getSelection().removeAllRanges()")
    expect(remember(talked)).to_be_hidden()
    assert not Fact.objects.exists()


def test_what_is_known_already_is_said(talked, make_fact):
    make_fact("the bakery")
    select(talked, "the bakery")
    remember(talked).click()
    expect(talked.locator(".toast")).to_contain_text("Already remembered: “the bakery”")
    expect(talked.locator(".toast button")).to_have_count(0)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_on_a_phone_it_stands_below_the_selection(open_page, scripted, dark):
    page = open_page(width=390, dark=dark, has_touch=True, is_mobile=True)
    say(page, "I travel with my violin.")
    expect(reply(page)).to_be_visible()
    select(page, "violin", "[data-role=user] .prose")
    expect(remember(page)).to_be_in_viewport(ratio=1)
    selected = page.evaluate("getSelection().getRangeAt(0).getBoundingClientRect().bottom")
    assert remember(page).bounding_box()["y"] > selected
    assert findings(page) == []
    remember(page).tap()
    expect(page.locator(".toast")).to_contain_text("Remembered “violin”")


def test_what_is_no_longer_so_stands_under_the_reply_and_undo_keeps_it(talked, make_fact):
    car = make_fact("User drives a Saab")
    archive.end(car, "the user said so", Message.objects.get(role="user"))
    talked.reload()
    over = reply(talked).get_by_role("list", name="No longer so since this exchange")
    expect(over).to_contain_text("No longer: drives a Saab", use_inner_text=True)
    over.get_by_role("button", name="Undo: keep “drives a Saab”").click()
    expect(talked.locator(".toast")).to_contain_text("Brought back.")
    expect(over).to_be_hidden()
    expect(pill(talked, 1)).to_be_visible()


def test_what_was_undone_does_not_come_back_with_an_older_answer(talked, make_fact):
    car = make_fact("User drives a Saab")
    archive.end(car, "the user said so", Message.objects.get(role="user"))
    held, address = [], talked.url
    # What the first page may still ask for at its end must not be taken for the second one's.
    talked.goto("about:blank")
    # What the page asks for when it opens is answered, and held on its way.
    talked.route(re.compile(r"/m/[^/]+/$"), lambda route: held.append((route, route.fetch())), times=1)
    talked.goto(address)
    over = reply(talked).get_by_role("list", name="No longer so since this exchange")
    expect(over).to_be_visible()
    for _ in range(100):
        if held:
            break
        talked.wait_for_timeout(50)
    over.get_by_role("button", name="Undo: keep “drives a Saab”").click()
    expect(over).to_be_hidden()
    route, answer = held[0]
    with talked.expect_response(re.compile(r"/m/[^/]+/$")):
        route.fulfill(response=answer)
    talked.wait_for_timeout(500)
    expect(over).to_be_hidden()
