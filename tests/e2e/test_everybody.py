"""The page is for everybody: by keyboard, with a screen reader, on a phone, without JavaScript."""

from __future__ import annotations

import re

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from chat.actions.facts import add_fact, edit_fact
from chat.llm.registry import registry
from chat.llm.state import ModelState, Status

from .hands import card, findings, open_panel, pill, reply, say

pytestmark = pytest.mark.browser


def tab_to(page, locator, most=60):
    """Press Tab until the element has the focus."""
    for _ in range(most):
        if locator.evaluate("e => e === document.activeElement"):
            return
        page.keyboard.press("Tab")
    pytest.fail("Tab does not lead there")


def test_the_whole_slice_works_by_keyboard_alone(open_page, scripted, make_fact):
    make_fact("User likes jazz")
    page = open_page()
    page.keyboard.type("Hello")
    page.keyboard.press("Enter")
    expect(reply(page)).to_contain_text("Understood.")
    sheet = open_panel(page)
    text = card(sheet, "jazz").get_by_role("link", name="Likes jazz")
    tab_to(page, text)
    page.keyboard.press("Enter")
    line = sheet.get_by_role("textbox", name="Memory", exact=True)
    expect(line).to_be_focused()
    page.keyboard.press("Control+A")
    page.keyboard.type("User likes bebop")
    page.keyboard.press("Enter")
    tab_to(page, card(sheet, "bebop").get_by_role("button", name="Pin"))
    page.keyboard.press("Enter")
    expect(card(sheet, "bebop").get_by_role("button", name="Pin")).to_have_attribute("aria-pressed", "true")
    tab_to(page, card(sheet, "bebop").get_by_role("button", name="Forget"))
    page.keyboard.press("Enter")
    undo = sheet.locator(".toast").get_by_role("button", name="Undo")
    undo.wait_for()
    tab_to(page, undo)
    page.keyboard.press("Enter")
    expect(card(sheet, "bebop")).to_be_visible()
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_serious_on_any_page(open_page, scripted, gate, make_fact, dark):
    make_fact("User likes jazz", pinned=True)
    make_fact("User lives in Lyon", category="identity", kind="home")
    make_fact("User likes tea", archived_at=timezone.now())
    page = open_page("/", dark=dark)
    assert findings(page) == [], "first page"
    scripted.replies.append(
        "Text with `code`.\n\n```python\nprint('hello')  # world\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    )
    say(page, "What do you know about me?")
    page.wait_for_url("**/c/**")
    gate.release(3)
    expect(reply(page, "streaming").locator(".block").first).to_be_visible()
    assert findings(page) == [], "streaming"
    gate.release(100)
    expect(reply(page)).to_be_visible()
    assert findings(page) == [], "conversation"
    sheet = open_panel(page)
    assert findings(page) == [], "panel"
    card(sheet, "jazz").hover()
    card(sheet, "jazz").get_by_role("link", name="Edit").click()
    sheet.get_by_role("combobox", name="Category").wait_for()
    assert findings(page) == [], "editing"
    sheet.get_by_role("link", name="Cancel").click()
    sheet.locator("#health summary").click()
    card(sheet, "Lyon").hover()
    card(sheet, "Lyon").get_by_role("link", name="Where from").click()
    expect(card(sheet, "Lyon").get_by_role("list", name="History")).to_be_attached()
    sheet.locator("#archive summary").click()
    sheet.get_by_role("link", name="Clear all memory").click()
    expect(sheet.get_by_text("This will remove all 2 facts")).to_be_visible()
    assert findings(page) == [], "health, history, archive and the question before clearing all"
    sheet.get_by_role("button", name="Clear", exact=True).click()
    expect(sheet.locator(".toast.wide")).to_contain_text("Memory cleared")
    assert findings(page) == [], "cleared"
    page.keyboard.press("Escape")
    page.get_by_role("button", name="This chat").click()
    expect(page.get_by_role("dialog", name="This chat")).to_be_visible()
    assert findings(page) == [], "menu of the chat"
    page.goto("/memory/")
    assert findings(page) == [], "memory page"
    page.goto("/login/")
    assert findings(page) == [], "login"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_serious_where_something_went_wrong(open_page, scripted, gate, make_fact, dark):
    make_fact("User likes jazz")
    registry._set(
        Status(ModelState.FAILED, "m", "Model", "The model could not be loaded.", "manage.py doctor")
    )
    page = open_page("/", dark=dark, reduced_motion="reduce")
    say(page, "Hi")
    expect(reply(page, "failed")).to_be_visible()
    assert findings(page) == [], "failed, with a banner"
    registry.use(scripted, label="Scripted")
    scripted.replies.append("One two three")
    reply(page, "failed").get_by_role("button", name="Retry").click()
    gate.release(1)
    expect(reply(page, "streaming")).to_contain_text("One")
    page.keyboard.press("Escape")
    expect(reply(page, "stopped")).to_be_visible()
    assert findings(page) == [], "stopped"
    sheet = open_panel(page)
    card(sheet, "jazz").hover()
    card(sheet, "jazz").get_by_role("button", name="Forget").click()
    expect(sheet.get_by_text("No memories yet.")).to_be_visible()
    assert findings(page) == [], "empty panel with a toast"


def test_memory_is_questioned_restored_and_cleared_by_keyboard_alone(open_page, owner, live):
    edit_fact(add_fact(owner, "I like chess"), "I like bebop")
    page = open_page()
    sheet = open_panel(page)
    page.keyboard.press("Shift+Tab")
    tab_to(page, sheet.locator("#health summary"))
    page.keyboard.press("Enter")
    expect(sheet.locator("#health")).to_have_attribute("open", "")
    tab_to(page, card(sheet, "bebop").get_by_role("link", name="Where from"))
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
    expect(card(sheet, "chess")).to_be_visible()


@pytest.mark.parametrize("width", [360, 390])
def test_on_a_phone_the_new_parts_of_the_panel_fit(open_page, owner, talk, make_fact, width):
    asked, _ = talk("word" * 60)
    long = add_fact(owner, "I like " + "very" * 60)
    make_fact("User likes " + "tea" * 60, archived_at=timezone.now())
    page = open_page(f"/c/{asked.conversation_id}/", width=width)
    page.get_by_role("button", name="This chat").click()
    expect(page.get_by_role("button", name="End this chat")).to_be_in_viewport(ratio=1)
    page.keyboard.press("Escape")
    sheet = open_panel(page)
    sheet.locator("#health summary").click()
    sheet.locator(f"#from-{long.pk}").click()
    expect(sheet.get_by_role("list", name="History")).to_be_attached()
    sheet.locator("#archive summary").click()
    sheet.get_by_role("link", name="Clear all memory").click()
    expect(sheet.get_by_role("button", name="Clear", exact=True)).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert sheet.locator(".list").evaluate("e => e.scrollWidth <= e.clientWidth")


def test_a_reply_is_stopped_and_written_anew_by_keyboard_alone(open_page, scripted, gate):
    scripted.replies.extend(["One two three", "Written anew."])
    page = open_page()
    page.keyboard.type("Count")
    page.keyboard.press("Enter")
    page.wait_for_url("**/c/**")
    gate.release(1)
    expect(reply(page, "streaming")).to_contain_text("One")
    tab_to(page, page.get_by_role("button", name="Stop the reply"))
    page.keyboard.press("Enter")
    stopped = reply(page, "stopped")
    expect(page.get_by_role("textbox", name="Message", exact=True)).to_be_focused()
    tab_to(page, stopped.get_by_role("button", name="Retry"))
    gate.release(100)
    page.keyboard.press("Enter")
    expect(reply(page)).to_contain_text("Written anew.")


def test_the_end_of_a_reply_is_announced_once_and_its_tokens_are_not(open_page, scripted, gate):
    page = open_page()
    say(page, "Hi")
    page.wait_for_url("**/c/**")
    expect(reply(page, "streaming")).to_be_visible()
    expect(page.locator("#announce")).to_be_empty()
    gate.release(10)
    expect(page.locator("#announce")).to_contain_text(re.compile("Understood|reply", re.I))
    assert page.locator("[data-blocks][aria-live]").count() == 0


@pytest.mark.parametrize("width", [360, 390])
def test_on_a_phone_nothing_overflows_and_the_lists_are_sheets(open_page, scripted, make_fact, width):
    make_fact("User likes jazz")
    scripted.replies.append("A " + "very" * 60 + " long word\n\n```\n" + "code " * 80 + "\n```")
    page = open_page("/", width=width)
    say(page, "Hi")
    expect(reply(page)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_role("button", name="Conversations").click()
    expect(page.get_by_role("link", name="New chat")).to_be_visible()
    page.keyboard.press("Escape")
    sheet = open_panel(page)
    expect(card(sheet, "jazz")).to_be_visible()
    assert sheet.evaluate("e => e.getBoundingClientRect().width") == width
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_without_javascript_the_pages_read_send_and_forget(open_page, scripted, make_fact):
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
    pill(page, 1).click()
    page.get_by_role("link", name="Likes jazz").click()
    page.get_by_role("textbox", name="Memory", exact=True).fill("User likes bebop")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("link", name="Likes bebop")).to_be_visible()
    card(page, "bebop").get_by_role("button", name="Forget").click()
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
def test_a_model_that_is_not_ready_says_so_with_what_mends_it(open_page, state, sentence, command):
    registry._set(Status(state, "m", "Model", sentence, command))
    page = open_page()
    expect(page.locator("#model")).to_contain_text(sentence)
    expect(page.locator("#model code")).to_have_text([command] if command else [])
    box = page.get_by_role("textbox", name="Message")
    box.press_sequentially("I can type meanwhile")
    expect(box).to_have_value("I can type meanwhile")
