"""Memory reads what was said when the model is idle, when much waits, and when the page is left."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from chat.models import Conversation, Fact, Job
from tests.waiting import until

from .hands import open_panel, pill, reader, reply, say

pytestmark = pytest.mark.browser

HIDE = """hidden => {
  const state = hidden ? "hidden" : "visible";
  Object.defineProperty(document, "visibilityState", { configurable: true, get: () => state });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


@pytest.fixture
def learns(scripted):
    """A model that notes what is said of Oslo and chess."""
    scripted.completions.extend(
        [reader({"Oslo": "home: User lives in Oslo", "chess": "likes: User likes chess"})] * 20
    )


def test_a_message_is_read_once_the_model_is_idle(open_page, learns):
    page = open_page()
    say(page, "I live in Oslo.")
    expect(pill(page, 1)).to_be_visible()
    assert Fact.objects.get().text == "User lives in Oslo"


def test_five_unread_messages_are_read_though_a_reply_is_being_written(open_page, learns, talk, gate):
    talk("I play chess. I like chess.")
    for n in range(3):
        talk(f"Number {n}.")
    Job.objects.all().delete()
    page = open_page()
    say(page, "I live in Oslo.")
    page.wait_for_url("**/c/**")
    expect(reply(page, "streaming")).to_be_visible()
    expect(pill(page, 2)).to_be_visible()
    expect(reply(page, "streaming")).to_be_visible()


def test_a_hidden_tab_tells_the_server_with_its_origin_and_is_read_at_once(open_page, learns, gate):
    page = open_page()
    say(page, "I live in Oslo.")
    page.wait_for_url("**/c/**")
    expect(reply(page, "streaming")).to_be_visible()
    with page.expect_request(re.compile("/flush/$")) as beacon:
        page.evaluate(HIDE, True)
    asked = beacon.value
    assert asked.all_headers()["origin"] == page.url.split("/c/")[0]
    assert "csrfmiddlewaretoken" in (asked.post_data or "")
    until(lambda: Fact.objects.filter(text="User lives in Oslo").exists())


@pytest.mark.parametrize("leave", ["closed", "another conversation", "new chat"])
def test_a_page_that_is_left_is_read_at_once(open_page, learns, gate, leave):
    gate.release(1)
    page = open_page()
    say(page, "Hello there.")
    page.wait_for_url("**/c/**")
    expect(reply(page)).to_be_visible()
    page.get_by_role("link", name="New chat").click()
    page.wait_for_url(lambda url: "/c/" not in url)
    say(page, "I live in Oslo.")
    page.wait_for_url("**/c/**")
    expect(reply(page, "streaming")).to_be_visible()
    if leave == "closed":
        page.close(run_before_unload=False)
    elif leave == "new chat":
        page.get_by_role("link", name="New chat").click()
    else:
        page.get_by_role("link", name="Hello there.").click()
    until(lambda: Fact.objects.filter(text="User lives in Oslo").exists())


def test_in_server_mode_the_beacon_carries_the_login_and_the_token(
    open_page, learns, gate, server_mode, owner
):
    server_mode.SESSION_COOKIE_SECURE = server_mode.CSRF_COOKIE_SECURE = False
    owner.set_password("correct horse battery")
    owner.save()
    page = open_page("/login/")
    page.get_by_label("Name").fill(owner.username)
    page.get_by_label("Password").fill("correct horse battery")
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(lambda url: "login" not in url)
    say(page, "I live in Oslo.")
    page.wait_for_url("**/c/**")
    with page.expect_response(re.compile("/flush/$")) as answer:
        page.evaluate(HIDE, True)
    assert answer.value.status == 204
    until(lambda: Fact.objects.filter(text="User lives in Oslo").exists())


def test_the_end_button_ends_the_chat_and_a_new_message_opens_it(open_page, scripted):
    page = open_page()
    say(page, "Hello.")
    expect(reply(page)).to_be_visible()
    page.get_by_role("button", name="This chat").click()
    page.get_by_role("button", name="End this chat").click()
    expect(page.locator(".toast")).to_contain_text("A new message opens it again.")
    expect(page.locator("#state")).to_contain_text("Ended")
    expect(page.get_by_role("dialog", name="This chat")).to_contain_text("A new message opens it again.")
    page.keyboard.press("Escape")
    say(page, "One more thing.")
    expect(page.locator("#state")).not_to_contain_text("Ended")
    assert Conversation.objects.get().ended_at is None


def test_the_end_works_without_javascript(open_page, talk):
    asked, _ = talk("Hello.")
    page = open_page(f"/c/{asked.conversation_id}/", java_script_enabled=False)
    page.get_by_role("button", name="This chat").click()
    page.get_by_role("button", name="End this chat").click()
    expect(page.locator("#state")).to_contain_text("Ended")


def test_the_memory_switch_is_a_switch_by_keyboard_and_without_javascript(open_page, talk, scripted):
    asked, _ = talk("Hello.")
    Conversation.objects.update(extracted_through=1)
    page = open_page(f"/c/{asked.conversation_id}/")
    page.get_by_role("button", name="This chat").press("Enter")
    off = page.get_by_role("dialog", name="This chat").get_by_role("button", name="Off")
    off.press("Enter")
    expect(off).to_have_attribute("aria-pressed", "true")
    expect(off).to_be_focused()
    expect(page.locator("#state")).to_contain_text("Memory off")
    assert Conversation.objects.get().memory_mode == "off"
    page.keyboard.press("Escape")
    sheet = open_panel(page)
    sheet.get_by_text("Memory is off in this chat").click()
    sheet.get_by_role("button", name="On", exact=True).click()
    expect(sheet.get_by_role("button", name="On", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#state")).not_to_contain_text("Memory off")
    plain = open_page(f"/c/{asked.conversation_id}/", java_script_enabled=False)
    plain.get_by_role("button", name="This chat").click()
    plain.get_by_role("button", name="Read-only").click()
    expect(plain.locator("#state")).to_contain_text("Memory read-only")


def test_the_health_line_follows_what_memory_does_while_the_panel_is_open(open_page, scripted, gate):
    page = open_page()
    scripted.completions.append(
        "home: User lives in Oslo\nlikes: User loves cheese from the mountains of France"
    )
    say(page, "I live in Oslo.")
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
