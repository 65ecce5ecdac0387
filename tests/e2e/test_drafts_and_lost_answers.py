"""Drafts belong to one account and one chat, and a message whose answer is lost is said once."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from chat.actions import apps
from chat.models import Message

from .page_actions import PASSWORD, log_in

pytestmark = pytest.mark.browser


def stored_keys(page) -> list[str]:
    return page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('draft:'))")


def box(page):
    return page.get_by_role("textbox", name="Message", exact=True)


def test_a_draft_stays_with_its_app_and_temporary_chats_keep_none(open_page, owner, scripted):
    recipes = apps.create_app(owner, "Recipes")
    page = open_page("/")
    box(page).fill("My secret draft")
    page.goto(f"/?app={recipes.pk}")
    expect(box(page)).to_have_value("")
    page.goto("/?temporary=1")
    expect(box(page)).to_have_value("")
    box(page).fill("Very secret")
    page.goto("/")
    expect(box(page)).to_have_value("My secret draft")
    assert "Very secret" not in str(page.evaluate("Object.values(localStorage)"))


def test_drafts_of_an_earlier_version_are_removed(open_page, owner):
    page = open_page("/")
    page.evaluate("localStorage.setItem('draft:new', 'of whoever')")
    page.reload()
    expect(box(page)).to_have_value("")
    assert "draft:new" not in stored_keys(page)


def test_logout_removes_the_drafts(open_page, live, server_mode, other):
    other.set_password(PASSWORD)
    other.save()
    page = open_page("/")
    log_in(page, other)
    page.wait_for_load_state()
    box(page).press_sequentially("My secret draft")
    assert len(stored_keys(page)) == 1
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("button", name="Log in")).to_be_visible()
    assert stored_keys(page) == []


def test_a_message_whose_answer_was_lost_is_said_once_and_the_next_one_again(open_page, owner, scripted):
    page = open_page("/")
    box(page).fill("Hello")
    box(page).press("Enter")
    page.wait_for_url("**/c/**")
    expect(page.locator("article.from-model")).to_have_count(1)
    expect(page.locator("article[aria-busy]")).to_have_count(0)
    lost: list[int] = []

    def lose_answer(route):
        if lost:
            return route.continue_()
        lost.append(route.fetch().status)
        return route.abort()

    page.route("**/send/", lose_answer)
    box(page).fill("Only once")
    box(page).press("Enter")
    page.wait_for_function("document.querySelector('#text').value === 'Only once'")
    page.wait_for_timeout(500)
    assert lost == [200]
    box(page).press("Enter")
    expect(box(page)).to_have_value("")
    expect(page.locator("article.from-user", has_text="Only once")).to_have_count(1)
    assert Message.objects.filter(role="user", content="Only once").count() == 1
    # The same text written anew is another message.
    expect(page.locator("article[aria-busy]")).to_have_count(0)
    box(page).fill("Only once")
    box(page).press("Enter")
    expect(page.locator("article.from-user", has_text="Only once")).to_have_count(2)
