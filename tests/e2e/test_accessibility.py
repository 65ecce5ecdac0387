"""Pages can be used by keyboard, with a screen reader, on a phone, and without JavaScript."""

from __future__ import annotations

import re

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from chat.actions.facts import add_fact, edit_fact
from chat.errors import Reason
from chat.llm.model_status import ModelState, ModelStatus
from chat.llm.registry import registry

from .page_actions import (
    accessibility_violations,
    fact_card,
    last_reply,
    memory_pill,
    open_panel,
    send_message,
)

pytestmark = pytest.mark.browser


def tab_to(page, locator, most=60):
    """Press Tab until the element has the focus."""
    for _ in range(most):
        if locator.evaluate("e => e === document.activeElement"):
            return
        page.keyboard.press("Tab")
    pytest.fail("Tab does not lead there")


def test_chat_and_memory_panel_work_by_keyboard_alone(open_page, scripted, make_fact):
    make_fact("User likes jazz")
    page = open_page()
    page.keyboard.type("Hello")
    page.keyboard.press("Enter")
    expect(last_reply(page)).to_contain_text("Understood.")
    sheet = open_panel(page)
    text = fact_card(sheet, "jazz").get_by_role("link", name="Likes jazz")
    tab_to(page, text)
    page.keyboard.press("Enter")
    line = sheet.get_by_role("textbox", name="Memory", exact=True)
    expect(line).to_be_focused()
    page.keyboard.press("Control+A")
    page.keyboard.type("User likes bebop")
    page.keyboard.press("Enter")
    tab_to(page, fact_card(sheet, "bebop").get_by_role("button", name="Pin"))
    page.keyboard.press("Enter")
    expect(fact_card(sheet, "bebop").get_by_role("button", name="Pin")).to_have_attribute(
        "aria-pressed", "true"
    )
    tab_to(page, fact_card(sheet, "bebop").get_by_role("button", name="Forget"))
    page.keyboard.press("Enter")
    undo = sheet.locator(".toast").get_by_role("button", name="Undo")
    undo.wait_for()
    tab_to(page, undo)
    page.keyboard.press("Enter")
    expect(fact_card(sheet, "bebop")).to_be_visible()
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()


def test_axe_finds_no_serious_violation_on_any_page(open_page, scripted, gate, make_fact):
    make_fact("User likes jazz", pinned=True)
    make_fact("User lives in Lyon", category="identity", kind="home")
    make_fact("User likes tea", archived_at=timezone.now())
    page = open_page("/")
    assert accessibility_violations(page) == [], "first page"
    scripted.replies.append(
        "Text with `code`.\n\n```python\nprint('hello')  # world\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    )
    send_message(page, "What do you know about me?")
    page.wait_for_url("**/c/**")
    gate.release(3)
    expect(last_reply(page, "streaming").locator(".block").first).to_be_visible()
    assert accessibility_violations(page) == [], "streaming"
    gate.release(100)
    expect(last_reply(page)).to_be_visible()
    assert accessibility_violations(page) == [], "conversation"
    sheet = open_panel(page)
    assert accessibility_violations(page) == [], "panel"
    fact_card(sheet, "jazz").hover()
    fact_card(sheet, "jazz").get_by_role("link", name="Edit").click()
    sheet.get_by_role("combobox", name="Category").wait_for()
    assert accessibility_violations(page) == [], "editing"
    sheet.get_by_role("link", name="Cancel").click()
    sheet.locator("#health summary").click()
    fact_card(sheet, "Lyon").hover()
    fact_card(sheet, "Lyon").get_by_role("link", name="Where from").click()
    expect(fact_card(sheet, "Lyon").get_by_role("list", name="History")).to_be_attached()
    sheet.locator("#archive summary").click()
    sheet.get_by_role("link", name="Clear all memory").click()
    expect(sheet.get_by_text("This will remove all 2 facts")).to_be_visible()
    assert accessibility_violations(page) == [], (
        "health, history, archive and the question before clearing all"
    )
    sheet.get_by_role("button", name="Clear", exact=True).click()
    expect(sheet.locator(".toast.wide")).to_contain_text("Memory cleared")
    assert accessibility_violations(page) == [], "cleared"
    page.keyboard.press("Escape")
    page.get_by_role("button", name="This chat").click()
    expect(page.get_by_role("dialog", name="This chat")).to_be_visible()
    assert accessibility_violations(page) == [], "menu of the chat"
    page.goto("/memory/")
    assert accessibility_violations(page) == [], "memory page"
    page.goto("/login/")
    assert accessibility_violations(page) == [], "login"


def test_axe_finds_no_serious_violation_after_failures(open_page, scripted, gate, make_fact):
    make_fact("User likes jazz")
    registry.set_status(
        ModelStatus(ModelState.FAILED, "m", "Model", Reason("model-file-broken"), "manage.py doctor")
    )
    page = open_page("/", reduced_motion="reduce")
    send_message(page, "Hi")
    expect(last_reply(page, "failed")).to_be_visible()
    assert accessibility_violations(page) == [], "failed, with a banner"
    registry.use(scripted, label="Scripted")
    scripted.replies.append("One two three")
    last_reply(page, "failed").get_by_role("button", name="Retry").click()
    gate.release(1)
    expect(last_reply(page, "streaming")).to_contain_text("One")
    page.keyboard.press("Escape")
    expect(last_reply(page, "stopped")).to_be_visible()
    assert accessibility_violations(page) == [], "stopped"
    sheet = open_panel(page)
    fact_card(sheet, "jazz").hover()
    fact_card(sheet, "jazz").get_by_role("button", name="Forget").click()
    expect(sheet.get_by_text("No memories yet.")).to_be_visible()
    assert accessibility_violations(page) == [], "empty panel with a toast"


def test_origin_and_restore_and_clear_work_by_keyboard_alone(open_page, owner, live):
    edit_fact(add_fact(owner, "I like chess"), "I like bebop")
    page = open_page()
    sheet = open_panel(page)
    page.keyboard.press("Shift+Tab")
    tab_to(page, sheet.locator("#health summary"))
    page.keyboard.press("Enter")
    expect(sheet.locator("#health")).to_have_attribute("open", "")
    tab_to(page, fact_card(sheet, "bebop").get_by_role("link", name="Where from"))
    page.keyboard.press("Enter")
    restore = sheet.get_by_role("button", name="Restore “I like chess”")
    restore.wait_for()
    tab_to(page, restore)
    page.keyboard.press("Enter")
    expect(sheet.get_by_role("link", name="I like chess")).to_be_focused()
    tab_to(page, sheet.get_by_role("link", name="Clear all memory"))
    page.keyboard.press("Enter")
    expect(sheet.get_by_role("link", name="Keep")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(sheet.get_by_role("button", name="Clear", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(sheet.get_by_text("No memories yet.")).to_be_visible()
    tab_to(page, sheet.locator(".toast").get_by_role("button", name="Undo"))
    page.keyboard.press("Enter")
    expect(fact_card(sheet, "chess")).to_be_visible()


@pytest.mark.parametrize("width", [360, 390])
def test_on_a_phone_the_panel_and_its_sections_fit(open_page, owner, talk, make_fact, width):
    asked, _ = talk("word" * 60)
    long = add_fact(owner, "I like " + "very" * 60)
    make_fact("User likes " + "tea" * 60, archived_at=timezone.now())
    page = open_page(f"/c/{asked.conversation_id}/", width=width)
    page.get_by_role("button", name="This chat").click()
    expect(page.get_by_role("button", name="End this chat")).to_be_in_viewport(ratio=1)
    page.keyboard.press("Escape")
    sheet = open_panel(page)
    sheet.locator("#health summary").click()
    sheet.locator(f"#history-{long.pk}").click()
    expect(sheet.get_by_role("list", name="History")).to_be_attached()
    sheet.locator("#archive summary").click()
    sheet.get_by_role("link", name="Clear all memory").click()
    expect(sheet.get_by_role("button", name="Clear", exact=True)).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert sheet.locator(".list").evaluate("e => e.scrollWidth <= e.clientWidth")


def test_a_reply_is_stopped_and_retried_by_keyboard_alone(open_page, scripted, gate):
    scripted.replies.extend(["One two three", "Written anew."])
    page = open_page()
    page.keyboard.type("Count")
    page.keyboard.press("Enter")
    page.wait_for_url("**/c/**")
    gate.release(1)
    expect(last_reply(page, "streaming")).to_contain_text("One")
    tab_to(page, page.get_by_role("button", name="Stop the reply"))
    page.keyboard.press("Enter")
    stopped = last_reply(page, "stopped")
    expect(page.get_by_role("textbox", name="Message", exact=True)).to_be_focused()
    tab_to(page, stopped.get_by_role("button", name="Retry"))
    gate.release(100)
    page.keyboard.press("Enter")
    expect(last_reply(page)).to_contain_text("Written anew.")


def test_the_end_of_a_reply_is_announced_once_and_its_tokens_are_not_announced(open_page, scripted, gate):
    page = open_page()
    send_message(page, "Hi")
    page.wait_for_url("**/c/**")
    expect(last_reply(page, "streaming")).to_be_visible()
    expect(page.locator("#announce")).to_be_empty()
    gate.release(10)
    expect(page.locator("#announce")).to_contain_text(re.compile("Understood|reply", re.I))
    assert page.locator("[data-blocks][aria-live]").count() == 0


@pytest.mark.parametrize("width", [360, 390])
def test_on_a_phone_nothing_overflows_and_the_panel_fills_the_width(open_page, scripted, make_fact, width):
    make_fact("User likes jazz")
    scripted.replies.append("A " + "very" * 60 + " long word\n\n```\n" + "code " * 80 + "\n```")
    page = open_page("/", width=width)
    send_message(page, "Hi")
    expect(last_reply(page)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_role("button", name="Conversations").click()
    expect(page.get_by_role("link", name="New chat")).to_be_visible()
    page.keyboard.press("Escape")
    sheet = open_panel(page)
    expect(fact_card(sheet, "jazz")).to_be_visible()
    assert sheet.evaluate("e => e.getBoundingClientRect().width") == width
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_without_javascript_messages_are_sent_and_facts_edited_and_forgotten(open_page, scripted, make_fact):
    make_fact("User likes jazz")
    page = open_page("/", java_script_enabled=False)
    page.get_by_role("textbox", name="Message").fill("Hello")
    page.get_by_role("button", name="Send").click()
    page.wait_for_url("**/c/**")
    for _ in range(50):
        page.reload()
        if page.locator("[data-state=complete][data-role=assistant]").count():
            break
    expect(page.get_by_text("Understood.")).to_be_visible()
    memory_pill(page, 1).click()
    page.get_by_role("link", name="Likes jazz").click()
    page.get_by_role("textbox", name="Memory", exact=True).fill("User likes bebop")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("link", name="Likes bebop")).to_be_visible()
    fact_card(page, "bebop").get_by_role("button", name="Forget").click()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("link", name="Likes bebop")).to_be_visible()


@pytest.mark.parametrize(
    ("state", "sentence", "command"),
    [
        (ModelState.MISSING, "The weights are not here yet.", "python3 manage.py weights fetch"),
        (ModelState.LOADING, "The model is loading. You can write already.", ""),
        (ModelState.FAILED, "The model could not be loaded.", "python3 manage.py doctor"),
    ],
)
def test_a_model_that_is_not_ready_is_reported_with_the_command_that_helps(
    open_page, state, sentence, command
):
    reason = Reason("verbatim", {"sentence": sentence})
    registry.set_status(ModelStatus(state, "m", "Model", reason, command))
    page = open_page()
    expect(page.locator("#model")).to_contain_text(sentence)
    expect(page.locator("#model code")).to_have_text([command] if command else [])
    box = page.get_by_role("textbox", name="Message")
    box.press_sequentially("I can type meanwhile")
    expect(box).to_have_value("I can type meanwhile")
