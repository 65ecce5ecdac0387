"""Under a reply: the memories that it used and the facts learned from it, with links to their cards."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from chat.models import Fact, OwnerSettings

from .page_actions import MAYA_MESSAGE, fact_card, last_reply, memory_pill, scripted_extractor, send_message

pytestmark = pytest.mark.browser


@pytest.fixture
def page_with_facts(open_page, scripted, owner):
    """A page on which Maya has introduced herself, after the first extraction."""
    OwnerSettings.objects.filter(owner=owner).update(look_after=0)
    scripted.completions.extend([scripted_extractor()] * 10)
    page = open_page()
    send_message(page, MAYA_MESSAGE)
    expect(memory_pill(page, 5)).to_be_visible()
    return page


def test_used_memories_are_listed_and_link_to_their_cards(open_page, make_fact):
    make_fact("User lives in Lyon", category="identity", kind="home")
    make_fact("User likes jazz")
    page = open_page()
    send_message(page, "What do you know about me?")
    page.get_by_role("button", name="Used 2 memories").click()
    which = page.get_by_role("dialog", name="Memories used in this reply")
    expect(which.get_by_role("listitem")).to_have_count(2)
    which.get_by_role("link", name="Lives in Lyon").click()
    sheet = page.get_by_role("dialog", name="Memory", exact=True)
    expect(fact_card(sheet, "Lyon")).to_be_in_viewport()
    expect(fact_card(sheet, "Lyon").get_by_role("link", name="Lives in Lyon")).to_be_focused()


def test_the_list_of_used_memories_stays_open_while_facts_are_learned(open_page, scripted, make_fact):
    make_fact("User likes jazz")
    scripted.completions.extend([scripted_extractor({"Lyon": "home: User lives in Lyon"})] * 3)
    page = open_page()
    send_message(page, "I live in Lyon. What do you know about me?")
    page.get_by_role("button", name="Used 1 memory").click()
    which = page.get_by_role("dialog", name="Memories used in this reply")
    expect(which.get_by_role("link", name="Likes jazz")).to_be_visible()
    expect(last_reply(page).get_by_role("list", name="Remembered from this exchange")).to_be_visible()
    expect(which.get_by_role("link", name="Likes jazz")).to_be_visible()


def test_a_reply_that_used_no_memory_has_no_memory_button(open_page, scripted):
    page = open_page()
    send_message(page, "What is a prime number?")
    expect(last_reply(page)).to_contain_text("Understood.")
    expect(page.get_by_role("button", name=re.compile("Used"))).to_have_count(0)


def test_learned_facts_are_listed_under_the_reply_and_link_to_their_cards(page_with_facts):
    learned = last_reply(page_with_facts).get_by_role("list", name="Remembered from this exchange")
    learned.get_by_role("link", name="Lives in Copenhagen").click()
    sheet = page_with_facts.get_by_role("dialog", name="Memory", exact=True)
    expect(fact_card(sheet, "Copenhagen").get_by_role("link", name="Lives in Copenhagen")).to_be_focused()


def test_undo_beside_a_learned_fact_forgets_it_and_can_be_undone(page_with_facts):
    learned = last_reply(page_with_facts).get_by_role("list", name="Remembered from this exchange")
    learned.get_by_role("button", name="Undo: forget “React developer”").click()
    expect(learned.get_by_role("link", name="React")).to_have_count(0)
    expect(memory_pill(page_with_facts, 4)).to_be_visible()
    page_with_facts.locator(".toast").get_by_role("button", name="Undo").click()
    expect(learned.get_by_role("link", name="React developer")).to_be_visible()
    expect(memory_pill(page_with_facts, 5)).to_be_visible()
    assert Fact.objects.live().filter(text="User is a React developer").count() == 1
