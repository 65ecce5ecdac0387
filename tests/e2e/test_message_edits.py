"""Editing a message, regenerating the last reply, and marking a message as important."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from chat.generation import run as generation

from .page_actions import last_reply, send_message

pytestmark = pytest.mark.browser


@pytest.fixture
def address(add_exchange):
    """The address of a chat with two exchanges."""
    chat = add_exchange("First question", answer="First answer.")
    add_exchange("Second question", chat, answer="Second answer.")
    return f"/c/{chat.pk}/"


@pytest.fixture
def page(open_page, scripted, address):
    """A page of the chat."""
    return open_page(address)


def user_message(page, text):
    """Return the user's message with this text."""
    return page.locator("[data-role=user]").filter(has_text=text)


def start_edit(page, text):
    """Press Edit on a message and return its textarea."""
    user_message(page, text).hover()
    user_message(page, text).get_by_role("link", name="Edit").click()
    box = page.get_by_role("textbox", name="Your message")
    expect(box).to_be_focused()
    return box


def message_texts(page):
    return page.locator("[data-blocks]").all_inner_texts()


@pytest.mark.parametrize("how", ["Enter", "Control+Enter", "button"])
def test_an_edited_message_replaces_all_messages_after_it(page, scripted, how):
    scripted.replies.append("Another answer.")
    box = start_edit(page, "First question")
    expect(box).to_be_focused()
    expect(box).to_have_value("First question")
    box.press_sequentially(" in other words")
    if how == "button":
        page.locator("form.message-edit").get_by_role("button", name="Send").click()
    else:
        box.press(how)
    expect(last_reply(page)).to_contain_text("Another answer.")
    assert message_texts(page) == ["First question in other words", "Another answer."]
    page.reload()
    assert message_texts(page) == ["First question in other words", "Another answer."]


@pytest.mark.parametrize("how", ["Escape", "button"])
def test_cancel_keeps_the_message_and_returns_the_focus(page, how):
    box = start_edit(page, "Second question")
    box.fill("Never mind")
    if how == "Escape":
        box.press("Escape")
    else:
        page.get_by_role("link", name="Cancel").click()
    expect(user_message(page, "Second question").get_by_role("link", name="Edit")).to_be_focused()
    assert message_texts(page) == ["First question", "First answer.", "Second question", "Second answer."]


def test_shift_enter_adds_a_line(page):
    box = start_edit(page, "Second question")
    box.press("Shift+Enter")
    expect(box).to_have_value("Second question\n")


def test_another_tab_shows_the_edited_conversation(page, open_page, scripted, address):
    second = open_page(address)
    expect(last_reply(second)).to_contain_text("Second answer.")
    scripted.replies.append("Another answer.")
    start_edit(page, "First question").fill("Changed")
    page.keyboard.press("Enter")
    expect(last_reply(second)).to_contain_text("Another answer.")
    assert message_texts(second) == ["Changed", "Another answer."]


def test_an_edit_during_a_reply_is_refused_and_keeps_the_text(page, gate, scripted):
    scripted.replies.append("One two three")
    box = start_edit(page, "First question")
    send_message(page, "Third question")
    gate.release(1)
    expect(last_reply(page, "streaming")).to_contain_text("One")
    box.fill("Changed")
    box.press("Enter")
    expect(page.locator("[data-toasts]").first).to_contain_text("still being written")
    expect(box).to_have_value("Changed")


def test_the_last_reply_can_be_regenerated(page, scripted):
    scripted.replies.append("A better answer.")
    last_reply(page).hover()
    page.get_by_role("button", name="Regenerate this reply").click()
    expect(last_reply(page)).to_contain_text("A better answer.")
    assert message_texts(page) == ["First question", "First answer.", "Second question", "A better answer."]


def test_an_important_message_is_marked_and_its_button_is_pressed(page, open_page, address):
    second = open_page(address)
    message = user_message(page, "First question")
    message.hover()
    button = message.get_by_role("button", name="Important")
    expect(button).to_have_attribute("aria-pressed", "false")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(button).to_be_focused()
    expect(message.locator(".importance-mark")).to_be_visible()
    expect(user_message(second, "First question").locator(".importance-mark")).to_be_visible()
    button.click()
    expect(message.locator(".importance-mark")).to_have_count(0)


def test_editing_works_by_keyboard_alone(page, scripted):
    scripted.replies.append("Another answer.")
    user_message(page, "Second question").get_by_role("link", name="Edit").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Your message")).to_be_focused()
    page.keyboard.type("!")
    page.keyboard.press("Enter")
    expect(last_reply(page)).to_contain_text("Another answer.")
    assert message_texts(page)[-2:] == ["Second question!", "Another answer."]


class TestWithoutJavaScript:
    """Without JavaScript every action is a plain form."""

    @pytest.fixture
    def plain(self, open_page, address):
        """The same chat in a browser without JavaScript."""
        return open_page(address, java_script_enabled=False)

    def test_a_message_can_be_edited(self, plain):
        plain.locator("[data-role=user]").first.get_by_role("link", name="Edit").click()
        plain.get_by_role("textbox", name="Your message").fill("Changed")
        plain.get_by_role("button", name="Send").click()
        expect(plain.locator("[data-role=user]")).to_have_count(1)
        expect(plain.locator("[data-role=user]")).to_contain_text("Changed")

    def test_a_message_can_be_marked(self, plain):
        plain.get_by_role("button", name="Important").first.click()
        expect(plain.locator(".importance-mark")).to_have_count(1)

    def test_regenerating_is_a_plain_form(self, plain, scripted):
        scripted.replies.append("A better answer.")
        with plain.expect_navigation():
            plain.get_by_role("button", name="Regenerate this reply").click()
        # Without JavaScript the page does not follow the reply.
        generation.wait_all()
        plain.reload()
        expect(plain.locator("[data-role=assistant]").last).to_contain_text("A better answer.")
