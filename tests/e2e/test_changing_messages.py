"""A message can be sent in other words, a reply written anew, and both marked as important."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .hands import reply, say

pytestmark = pytest.mark.browser


@pytest.fixture
def page(open_page, scripted):
    """A chat of two exchanges."""
    scripted.replies.extend(["First answer.", "Second answer."])
    page = open_page()
    say(page, "First question")
    page.wait_for_url("**/c/**")
    expect(reply(page)).to_contain_text("First answer.")
    say(page, "Second question")
    expect(reply(page)).to_contain_text("Second answer.")
    return page


def mine(page, text):
    """Return a message of the user's."""
    return page.locator("[data-role=user]").filter(has_text=text)


def edit(page, text):
    """Press Edit on a message and return its textarea."""
    mine(page, text).hover()
    mine(page, text).get_by_role("link", name="Edit").click()
    box = page.get_by_role("textbox", name="Your message")
    expect(box).to_be_focused()
    return box


def said(page):
    return page.locator("[data-blocks]").all_inner_texts()


@pytest.mark.parametrize("how", ["Enter", "Control+Enter", "button"])
def test_a_message_sent_in_other_words_takes_the_place_of_all_after_it(page, scripted, how):
    scripted.replies.append("Another answer.")
    box = edit(page, "First question")
    expect(box).to_be_focused()
    expect(box).to_have_value("First question")
    box.press_sequentially(" in other words")
    if how == "button":
        page.locator("form.revise").get_by_role("button", name="Send").click()
    else:
        box.press(how)
    expect(reply(page)).to_contain_text("Another answer.")
    assert said(page) == ["First question in other words", "Another answer."]
    page.reload()
    assert said(page) == ["First question in other words", "Another answer."]


@pytest.mark.parametrize("how", ["Escape", "button"])
def test_cancel_leaves_the_message_as_it_was_and_the_focus_where_it_was(page, how):
    box = edit(page, "Second question")
    box.fill("Never mind")
    if how == "Escape":
        box.press("Escape")
    else:
        page.get_by_role("link", name="Cancel").click()
    expect(mine(page, "Second question").get_by_role("link", name="Edit")).to_be_focused()
    assert said(page) == ["First question", "First answer.", "Second question", "Second answer."]


def test_shift_enter_breaks_a_line_in_it(page):
    box = edit(page, "Second question")
    box.press("Shift+Enter")
    expect(box).to_have_value("Second question\n")


def test_another_tab_shows_the_new_branch_and_nothing_of_the_old(page, open_page, scripted):
    second = open_page(page.evaluate("location.pathname"))
    expect(reply(second)).to_contain_text("Second answer.")
    scripted.replies.append("Another answer.")
    edit(page, "First question").fill("Changed")
    page.keyboard.press("Enter")
    expect(reply(second)).to_contain_text("Another answer.")
    assert said(second) == ["Changed", "Another answer."]


def test_while_a_reply_is_written_an_edit_says_why_not_and_is_kept(page, gate, scripted):
    scripted.replies.append("One two three")
    box = edit(page, "First question")
    say(page, "Third question")
    gate.release(1)
    expect(reply(page, "streaming")).to_contain_text("One")
    box.fill("Changed")
    box.press("Enter")
    expect(page.locator("[data-toasts]").first).to_contain_text("still being written")
    expect(box).to_have_value("Changed")


def test_the_last_reply_is_written_anew_at_a_press(page, scripted):
    scripted.replies.append("A better answer.")
    reply(page).hover()
    page.get_by_role("button", name="Write this reply anew").click()
    expect(reply(page)).to_contain_text("A better answer.")
    assert said(page) == ["First question", "First answer.", "Second question", "A better answer."]


def test_an_important_message_carries_a_mark_and_says_that_it_is_pressed(page, open_page):
    second = open_page(page.evaluate("location.pathname"))
    message = mine(page, "First question")
    message.hover()
    button = message.get_by_role("button", name="Important")
    expect(button).to_have_attribute("aria-pressed", "false")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(button).to_be_focused()
    expect(message.locator(".mark")).to_be_visible()
    expect(mine(second, "First question").locator(".mark")).to_be_visible()
    button.click()
    expect(message.locator(".mark")).to_have_count(0)


def test_all_of_it_works_without_a_mouse(page, scripted):
    scripted.replies.append("Another answer.")
    mine(page, "Second question").get_by_role("link", name="Edit").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Your message")).to_be_focused()
    page.keyboard.type("!")
    page.keyboard.press("Enter")
    expect(reply(page)).to_contain_text("Another answer.")
    assert said(page)[-2:] == ["Second question!", "Another answer."]


class TestWithoutJavaScript:
    """Every action is a plain form."""

    @pytest.fixture
    def plain(self, page, open_page):
        """The same chat in a browser without scripts."""
        return open_page(page.evaluate("location.pathname"), java_script_enabled=False)

    def test_a_message_can_be_sent_in_other_words(self, plain):
        plain.locator("[data-role=user]").first.get_by_role("link", name="Edit").click()
        plain.get_by_role("textbox", name="Your message").fill("Changed")
        plain.get_by_role("button", name="Send").click()
        expect(plain.locator("[data-role=user]")).to_have_count(1)
        expect(plain.locator("[data-role=user]")).to_contain_text("Changed")

    def test_a_message_can_be_marked(self, plain):
        plain.get_by_role("button", name="Important").first.click()
        expect(plain.locator(".mark")).to_have_count(1)

    def test_the_last_reply_can_be_written_anew(self, plain, scripted):
        scripted.replies.append("A better answer.")
        with plain.expect_navigation():
            plain.get_by_role("button", name="Write this reply anew").click()
        plain.reload()
        expect(plain.locator("[data-role=assistant]").last).to_contain_text("A better answer.")
