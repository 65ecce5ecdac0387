"""Under a reply stands what memory gave to it and what was learned from it, each a step from its card."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from chat.models import Fact, OwnerSettings

from .hands import MAYA, card, pill, reader, reply, say

pytestmark = pytest.mark.browser


@pytest.fixture
def told(open_page, scripted, owner):
    """A page on which Maya has introduced herself and memory has looked at once."""
    OwnerSettings.objects.filter(owner=owner).update(look_after=0)
    scripted.completions.extend([reader()] * 10)
    page = open_page()
    say(page, MAYA)
    expect(pill(page, 5)).to_be_visible()
    return page


def test_used_memories_open_and_each_leads_to_its_card(open_page, make_fact):
    make_fact("User lives in Lyon", category="identity", kind="home")
    make_fact("User likes jazz")
    page = open_page()
    say(page, "What do you know about me?")
    page.get_by_role("button", name="Used 2 memories").click()
    which = page.get_by_role("dialog", name="Memories used in this reply")
    expect(which.get_by_role("listitem")).to_have_count(2)
    which.get_by_role("link", name="Lives in Lyon").click()
    sheet = page.get_by_role("dialog", name="Memory", exact=True)
    expect(card(sheet, "Lyon")).to_be_in_viewport()
    expect(card(sheet, "Lyon").get_by_role("link", name="Lives in Lyon")).to_be_focused()


def test_the_list_of_used_memories_stays_open_while_something_is_learned(open_page, scripted, make_fact):
    make_fact("User likes jazz")
    scripted.completions.extend([reader({"Lyon": "home: User lives in Lyon"})] * 3)
    page = open_page()
    say(page, "I live in Lyon. What do you know about me?")
    page.get_by_role("button", name="Used 1 memory").click()
    which = page.get_by_role("dialog", name="Memories used in this reply")
    expect(which.get_by_role("link", name="Likes jazz")).to_be_visible()
    expect(reply(page).get_by_role("list", name="Remembered from this exchange")).to_be_visible()
    expect(which.get_by_role("link", name="Likes jazz")).to_be_visible()


def test_a_reply_that_used_nothing_says_nothing_of_memory(open_page, scripted):
    page = open_page()
    say(page, "What is a prime number?")
    expect(reply(page)).to_contain_text("Understood.")
    expect(page.get_by_role("button", name=re.compile("Used"))).to_have_count(0)


def test_what_was_learned_stands_under_the_reply_and_leads_to_its_card(told):
    learned = reply(told).get_by_role("list", name="Remembered from this exchange")
    learned.get_by_role("link", name="Lives in Copenhagen").click()
    sheet = told.get_by_role("dialog", name="Memory", exact=True)
    expect(card(sheet, "Copenhagen").get_by_role("link", name="Lives in Copenhagen")).to_be_focused()


def test_undo_beside_what_was_remembered_forgets_it_and_can_be_taken_back(told):
    learned = reply(told).get_by_role("list", name="Remembered from this exchange")
    learned.get_by_role("button", name="Undo: forget “React developer”").click()
    expect(learned.get_by_role("link", name="React")).to_have_count(0)
    expect(pill(told, 4)).to_be_visible()
    told.locator(".toast").get_by_role("button", name="Undo").click()
    expect(learned.get_by_role("link", name="React developer")).to_be_visible()
    expect(pill(told, 5)).to_be_visible()
    assert Fact.objects.live().filter(text="User is a React developer").count() == 1
