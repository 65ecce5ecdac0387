"""When messages are extracted: when the model is idle, when many wait, and when the page is left."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from chat.models import Conversation, Fact, Job
from tests.waiting import wait_until

from .page_actions import last_reply, memory_pill, open_panel, scripted_extractor, send_message

pytestmark = pytest.mark.browser

HIDE = """hidden => {
  const state = hidden ? "hidden" : "visible";
  Object.defineProperty(document, "visibilityState", { configurable: true, get: () => state });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


@pytest.fixture
def extracting_model(scripted):
    """A model that extracts a fact from messages about Oslo and chess."""
    scripted.completions.extend(
        [scripted_extractor({"Oslo": "home: User lives in Oslo", "chess": "likes: User likes chess"})] * 20
    )


def test_a_message_is_extracted_once_the_model_is_idle(open_page, extracting_model):
    page = open_page()
    send_message(page, "I live in Oslo.")
    expect(memory_pill(page, 1)).to_be_visible()
    assert Fact.objects.get().text == "User lives in Oslo"


def test_five_waiting_messages_are_extracted_even_while_a_reply_is_written(
    open_page, extracting_model, talk, gate
):
    talk("I play chess. I like chess.")
    for n in range(3):
        talk(f"Number {n}.")
    Job.objects.all().delete()
    page = open_page()
    send_message(page, "I live in Oslo.")
    page.wait_for_url("**/c/**")
    expect(last_reply(page, "streaming")).to_be_visible()
    expect(memory_pill(page, 2)).to_be_visible()
    expect(last_reply(page, "streaming")).to_be_visible()


def test_hiding_a_tab_sends_a_request_with_its_origin_and_extraction_starts_at_once(
    open_page, extracting_model, gate
):
    page = open_page()
    send_message(page, "I live in Oslo.")
    page.wait_for_url("**/c/**")
    expect(last_reply(page, "streaming")).to_be_visible()
    with page.expect_request(re.compile("/flush/$")) as beacon:
        page.evaluate(HIDE, True)
    asked = beacon.value
    assert asked.all_headers()["origin"] == page.url.split("/c/")[0]
    assert "csrfmiddlewaretoken" in (asked.post_data or "")
    wait_until(lambda: Fact.objects.filter(text="User lives in Oslo").exists())


@pytest.mark.parametrize("leave", ["closed", "another conversation", "new chat"])
def test_leaving_a_page_starts_extraction_at_once(open_page, extracting_model, gate, leave):
    gate.release(1)
    page = open_page()
    send_message(page, "Hello there.")
    page.wait_for_url("**/c/**")
    expect(last_reply(page)).to_be_visible()
    page.get_by_role("link", name="New chat").click()
    page.wait_for_url(lambda url: "/c/" not in url)
    send_message(page, "I live in Oslo.")
    page.wait_for_url("**/c/**")
    expect(last_reply(page, "streaming")).to_be_visible()
    if leave == "closed":
        page.close(run_before_unload=False)
    elif leave == "new chat":
        page.get_by_role("link", name="New chat").click()
    else:
        page.get_by_role("link", name="Hello there.").click()
    wait_until(lambda: Fact.objects.filter(text="User lives in Oslo").exists())


def test_in_server_mode_the_request_of_a_hidden_tab_is_authenticated(
    open_page, extracting_model, gate, server_mode, owner
):
    server_mode.SESSION_COOKIE_SECURE = server_mode.CSRF_COOKIE_SECURE = False
    owner.set_password("correct horse battery")
    owner.save()
    page = open_page("/login/")
    page.get_by_label("Name").fill(owner.username)
    page.get_by_label("Password").fill("correct horse battery")
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(lambda url: "login" not in url)
    send_message(page, "I live in Oslo.")
    page.wait_for_url("**/c/**")
    with page.expect_response(re.compile("/flush/$")) as answer:
        page.evaluate(HIDE, True)
    assert answer.value.status == 204
    wait_until(lambda: Fact.objects.filter(text="User lives in Oslo").exists())


def test_the_end_button_ends_the_chat_and_a_new_message_reopens_it(open_page, scripted):
    page = open_page()
    send_message(page, "Hello.")
    expect(last_reply(page)).to_be_visible()
    page.get_by_role("button", name="This chat").click()
    page.get_by_role("button", name="End this chat").click()
    expect(page.locator(".toast")).to_contain_text("A new message opens it again.")
    expect(page.locator("#conversation-state")).to_contain_text("Ended")
    expect(page.get_by_role("dialog", name="This chat")).to_contain_text("A new message opens it again.")
    page.keyboard.press("Escape")
    send_message(page, "One more thing.")
    expect(page.locator("#conversation-state")).not_to_contain_text("Ended")
    assert Conversation.objects.get().ended_at is None


def test_ending_a_chat_works_without_javascript(open_page, talk):
    asked, _ = talk("Hello.")
    page = open_page(f"/c/{asked.conversation_id}/", java_script_enabled=False)
    page.get_by_role("button", name="This chat").click()
    page.get_by_role("button", name="End this chat").click()
    expect(page.locator("#conversation-state")).to_contain_text("Ended")


def test_the_memory_mode_can_be_changed_by_keyboard_and_without_javascript(open_page, talk, scripted):
    asked, _ = talk("Hello.")
    Conversation.objects.update(extracted_through=1)
    page = open_page(f"/c/{asked.conversation_id}/")
    page.get_by_role("button", name="This chat").press("Enter")
    off = page.get_by_role("group", name="Memory in this chat").get_by_role("button", name="Off")
    off.press("Enter")
    expect(off).to_have_attribute("aria-pressed", "true")
    expect(off).to_be_focused()
    expect(page.locator("#conversation-state")).to_contain_text("Memory off")
    assert Conversation.objects.get().memory_mode == "off"
    page.keyboard.press("Escape")
    sheet = open_panel(page)
    sheet.get_by_text("Memory is off in this chat").click()
    sheet.get_by_role("button", name="On", exact=True).click()
    expect(sheet.get_by_role("button", name="On", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#conversation-state")).not_to_contain_text("Memory off")
    plain = open_page(f"/c/{asked.conversation_id}/", java_script_enabled=False)
    plain.get_by_role("button", name="This chat").click()
    plain.get_by_role("button", name="Read-only").click()
    expect(plain.locator("#conversation-state")).to_contain_text("Memory read-only")


def test_the_health_line_is_updated_while_the_panel_is_open(open_page, scripted, gate):
    page = open_page()
    scripted.completions.append(
        "home: User lives in Oslo\nlikes: User loves cheese from the mountains of France"
    )
    send_message(page, "I live in Oslo.")
    page.wait_for_url("**/c/**")
    sheet = open_panel(page)
    health = sheet.locator("#health")
    expect(health).to_contain_text("1 waiting")
    health.locator("summary").click()
    expect(health).to_contain_text("Waiting: 1 message not read yet")
    gate.release(100)
    expect(health.locator("summary")).to_contain_text("1 learned, 1 not kept")
    expect(health).to_contain_text("cheese")
    expect(health).not_to_contain_text("Waiting")
