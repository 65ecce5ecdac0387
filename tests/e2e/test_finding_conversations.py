"""Searching as one types, titles by the model that appear by themselves, and chats that leave nothing."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from chat.actions.messages import finish_reply
from chat.models import Conversation

from .hands import findings, reply, say
from .rooms import row, titles

pytestmark = pytest.mark.browser


def test_what_is_typed_is_found_in_titles_and_messages_and_leads_there(open_page, made, talk, scripted):
    asked, answer = talk("Boats and sails")
    finish_reply(answer, "The wind is **good** today.", "complete")
    boats = asked.conversation
    made("Trains")
    page = open_page()
    box = page.get_by_role("searchbox", name="Search your chats")
    box.press_sequentially("wind")
    expect(page.get_by_role("status").filter(has_text="1 result")).to_be_visible()
    expect(titles(page)).to_contain_text(["Boats and sailsThe wind is good today."])
    expect(page.locator("#rooms mark")).to_have_text("wind")
    page.locator("#rooms .hit").click()
    page.wait_for_url(f"**/c/{boats.pk}/?m=*")
    expect(reply(page)).to_contain_text("The wind is good today.")
    box.fill("nothing like this")
    expect(page.get_by_text("Nothing was found.")).to_be_visible()
    box.fill("")
    expect(row(page, "Trains")).to_be_visible()


def test_the_search_page_shows_results_once_and_goes_on_as_one_types(open_page, made, scripted):
    made("Boats", "Trains")
    page = open_page("/search/?q=boat")
    results = page.get_by_role("region", name="Results")
    expect(results.locator("mark")).to_have_count(2)
    # The list beside it stays the list, also once the page has heard of a change.
    made("Ships")
    expect(row(page, "Ships")).to_be_visible()
    expect(page.locator("#rooms mark")).to_have_count(0)
    page.get_by_role("searchbox").fill("train")
    expect(results.locator("mark").first).to_have_text("Train")
    page.wait_for_url("**/search/?q=train")
    page.get_by_role("searchbox").fill("")
    expect(results.get_by_text("Write in the search box")).to_be_visible()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_on_a_phone_the_search_page_has_its_own_box_and_a_way_back(open_page, made, scripted, dark):
    made("Boats", "Trains")
    page = open_page("/search/?q=boat", width=390, dark=dark)
    results = page.get_by_role("region", name="Results")
    box = results.get_by_role("searchbox", name="Search your chats")
    expect(box).to_have_value("boat")
    box.fill("train")
    expect(results.locator("mark").first).to_have_text("Train")
    expect(box).to_be_focused()
    assert findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("link", name="Back to the chat").click()
    page.wait_for_url("**/")


def test_a_memory_that_was_found_opens_at_its_card(open_page, make_fact, scripted):
    make_fact("User owns a boat")
    page = open_page()
    page.get_by_role("searchbox").fill("boat")
    page.locator("#rooms .hit").click()
    expect(page.get_by_role("dialog", name="Memory").locator(".card.found")).to_contain_text("Owns a boat")


def test_results_stay_while_the_list_changes_elsewhere(open_page, made, scripted):
    made("Boats", "Trains")
    page, other = open_page(), open_page()
    page.get_by_role("searchbox").fill("boat")
    # The title, and the message that it was made of.
    expect(row(page, "Trains")).to_have_count(0)
    expect(titles(page)).to_have_count(2)
    say(other, "More boats, please")
    expect(titles(page)).to_have_count(4)
    expect(row(page, "Trains")).to_have_count(0)


def test_a_title_by_the_model_appears_in_every_place_by_itself(open_page, scripted):
    scripted.titles.append("A tent for Norway")
    page = open_page()
    say(page, "Can you help me pick a tent for two?")
    expect(row(page, "A tent for Norway")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text("A tent for Norway")
    expect(page).to_have_title("A tent for Norway · memoryapp")
    assert Conversation.objects.get().titled_by == "model"


def test_a_temporary_chat_says_what_it_is_and_stands_in_no_list(open_page, scripted):
    page = open_page()
    page.get_by_role("link", name="Temporary chat").click()
    expect(page.get_by_text("Memory is off. This chat is gone once you close it.")).to_be_visible()
    say(page, "I live in Oslo and like boats")
    page.wait_for_url("**/c/**")
    expect(reply(page)).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text("Temporary chat")
    expect(page.get_by_text("Memory off, gone once you close it")).to_be_visible()
    expect(titles(page)).to_have_count(0)
    page.reload()
    expect(reply(page)).to_be_visible()
    page.get_by_role("button", name="This chat").click()
    page.get_by_role("button", name="End this chat").click()
    page.wait_for_url("**/", wait_until="commit")
    expect(page.get_by_role("heading", level=1)).to_have_text("New chat")
    assert not Conversation.objects.exists()


def test_without_scripts_the_search_is_a_page(open_page, made):
    made("Boats", "Trains")
    page = open_page("/", java_script_enabled=False)
    page.get_by_role("searchbox").fill("boat")
    page.get_by_role("searchbox").press("Enter")
    results = page.get_by_role("region", name="Results")
    results.get_by_role("link", name="Boats").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Boats")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_serious_in_results_and_on_a_temporary_page(open_page, made, dark):
    made("Boats")
    page = open_page("/?temporary=1", dark=dark, width=390)
    assert findings(page) == [], "temporary"
    page.get_by_role("button", name="Conversations").click()
    page.get_by_role("searchbox").fill("boat")
    expect(page.locator("#rooms mark").first).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert findings(page) == [], "results"
    page.goto("/search/?q=boat")
    assert findings(page) == [], "results as a page"
