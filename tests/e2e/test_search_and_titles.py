"""Searching while typing, titles written by the model, and temporary chats."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from chat.actions.messages import finish_reply
from chat.models import Conversation

from .conversation_list import conversation_row, listed_titles
from .page_actions import accessibility_violations, last_reply, send_message

pytestmark = pytest.mark.browser


def test_typed_words_are_found_in_titles_and_messages(open_page, make_conversations, talk, scripted):
    asked, answer = talk("Boats and sails")
    finish_reply(answer, "The wind is **good** today.", "complete")
    boats = asked.conversation
    make_conversations("Trains")
    page = open_page()
    box = page.get_by_role("searchbox", name="Search your chats")
    box.press_sequentially("wind")
    expect(page.get_by_role("status").filter(has_text="1 result")).to_be_visible()
    expect(listed_titles(page)).to_contain_text(["Boats and sailsThe wind is good today."])
    expect(page.locator("#conversation-list mark")).to_have_text("wind")
    page.locator("#conversation-list .search-result").click()
    page.wait_for_url(f"**/c/{boats.pk}/?m=*")
    expect(last_reply(page)).to_contain_text("The wind is good today.")
    box.fill("nothing like this")
    expect(page.get_by_text("Nothing was found.")).to_be_visible()
    box.fill("")
    expect(conversation_row(page, "Trains")).to_be_visible()


def test_the_search_page_shows_results_and_updates_while_typing(open_page, make_conversations, scripted):
    make_conversations("Boats", "Trains")
    page = open_page("/search/?q=boat")
    results = page.get_by_role("region", name="Results")
    expect(results.locator("mark")).to_have_count(2)
    # The sidebar keeps showing the list, also after a change.
    make_conversations("Ships")
    expect(conversation_row(page, "Ships")).to_be_visible()
    expect(page.locator("#conversation-list mark")).to_have_count(0)
    page.get_by_role("searchbox").fill("train")
    expect(results.locator("mark").first).to_have_text("Train")
    page.wait_for_url("**/search/?q=train")
    page.get_by_role("searchbox").fill("")
    expect(results.get_by_text("Type what you are looking for")).to_be_visible()


def test_on_a_phone_the_search_page_has_a_search_box_and_a_link_back(open_page, make_conversations, scripted):
    make_conversations("Boats", "Trains")
    page = open_page("/search/?q=boat", width=390)
    results = page.get_by_role("region", name="Results")
    box = results.get_by_role("searchbox", name="Search your chats")
    expect(box).to_have_value("boat")
    box.fill("train")
    expect(results.locator("mark").first).to_have_text("Train")
    expect(box).to_be_focused()
    assert accessibility_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("link", name="Back to the chat").click()
    page.wait_for_url("**/")


def test_a_found_memory_opens_at_its_card(open_page, make_fact, scripted):
    make_fact("User owns a boat")
    page = open_page()
    page.get_by_role("searchbox").fill("boat")
    page.locator("#conversation-list .search-result").click()
    expect(page.get_by_role("dialog", name="Memory").locator(".card.found")).to_contain_text("Owns a boat")


def test_results_stay_while_the_list_changes_in_another_tab(open_page, make_conversations, scripted):
    make_conversations("Boats", "Trains")
    page, other = open_page(), open_page()
    page.get_by_role("searchbox").fill("boat")
    # Two results: the title, and the message that it was made from.
    expect(conversation_row(page, "Trains")).to_have_count(0)
    expect(listed_titles(page)).to_have_count(2)
    send_message(other, "More boats, please")
    expect(listed_titles(page)).to_have_count(4)
    expect(conversation_row(page, "Trains")).to_have_count(0)


def test_a_title_by_the_model_appears_everywhere_without_a_reload(open_page, scripted):
    scripted.titles.append("A tent for Norway")
    page = open_page()
    send_message(page, "Can you help me pick a tent for two?")
    expect(conversation_row(page, "A tent for Norway")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text("A tent for Norway")
    expect(page).to_have_title("A tent for Norway · memoryapp")
    assert Conversation.objects.get().titled_by == "model"


def test_a_temporary_chat_says_what_it_is_and_is_not_listed(open_page, scripted):
    page = open_page()
    page.get_by_role("link", name="Temporary chat").click()
    expect(page.get_by_text("Memory is off. This chat is deleted when you close it.")).to_be_visible()
    send_message(page, "I live in Oslo and like boats")
    page.wait_for_url("**/c/**")
    expect(last_reply(page)).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text("Temporary chat")
    expect(page.get_by_text("Memory off, deleted when you close it")).to_be_visible()
    expect(listed_titles(page)).to_have_count(0)
    page.reload()
    expect(last_reply(page)).to_be_visible()
    page.get_by_role("button", name="This chat").click()
    page.get_by_role("button", name="End this chat").click()
    page.wait_for_url("**/", wait_until="commit")
    expect(page.get_by_role("heading", level=1)).to_have_text("New chat")
    assert not Conversation.objects.exists()


def test_without_javascript_the_search_is_a_page(open_page, make_conversations):
    make_conversations("Boats", "Trains")
    page = open_page("/", java_script_enabled=False)
    page.get_by_role("searchbox").fill("boat")
    page.get_by_role("searchbox").press("Enter")
    results = page.get_by_role("region", name="Results")
    results.get_by_role("link", name="Boats").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Boats")


def test_axe_finds_no_serious_violation_in_results_and_on_a_temporary_page(open_page, make_conversations):
    make_conversations("Boats")
    page = open_page("/?temporary=1", width=390)
    assert accessibility_violations(page) == [], "temporary"
    page.get_by_role("button", name="Conversations").click()
    page.get_by_role("searchbox").fill("boat")
    expect(page.locator("#conversation-list mark").first).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert accessibility_violations(page) == [], "results"
    page.goto("/search/?q=boat")
    assert accessibility_violations(page) == [], "results as a page"
