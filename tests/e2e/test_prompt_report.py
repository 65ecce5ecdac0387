"""The report of a reply's prompt in a browser, and the choice of the compaction strategy."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from chat.actions.owners import default_app, local_owner
from chat.models import Conversation, Message, PromptReport

from .page_actions import accessibility_violations, fact_card, last_reply, send_message

pytestmark = pytest.mark.browser

NAME = "Prompt of this reply"


@pytest.fixture
def long_chat(transactional_db, make_fact):
    """The address of a conversation whose last prompt had a summary and a shortened message."""
    owner = local_owner()
    facts = [make_fact("User likes tea"), make_fact("User is building a boat", category="project")]
    chat = Conversation.objects.create(owner=owner, app=default_app(owner), title="Rivers")
    said = [
        "How long is the Rhine? " * 20,
        "About 1,230 kilometres.",
        "And the Danube? " * 20,
        "About 2,850.",
    ]
    for seq, text in enumerate(said, start=1):
        role = "user" if seq % 2 else "assistant"
        answer = Message.objects.create(conversation=chat, seq=seq, role=role, content=text)
    PromptReport.objects.create(
        reply=answer,
        sections={"persona": 75, "memory": 60, "summary": 210, "history": 1240, "note": 24, "message": 640},
        facts=[str(facts[0].pk)],
        left_out=[str(facts[1].pk)],
        cut_messages=14,
        stage=2,
        shortened=True,
        prompt_tokens=2249,
        cached_tokens=2101,
        completion_tokens=90,
        window=4096,
        first_token_ms=380,
    )
    return f"/c/{chat.pk}/"


def test_the_report_opens_under_a_reply_and_links_to_the_cards(open_page, make_fact):
    make_fact("User likes jazz")
    page = open_page()
    send_message(page, "What do you know about me?")
    expect(last_reply(page)).to_contain_text("Understood.")
    last_reply(page).get_by_role("button", name=NAME).click()
    report = page.get_by_role("dialog", name=NAME)
    expect(report.get_by_text("Reserved for the reply")).to_be_visible()
    report.get_by_role("link", name="Likes jazz").click()
    sheet = page.get_by_role("dialog", name="Memory", exact=True)
    expect(fact_card(sheet, "jazz")).to_be_in_viewport()


@pytest.mark.parametrize("width", [1280, 390])
def test_the_report_fits_and_axe_finds_no_serious_violation(open_page, long_chat, width):
    page = open_page(long_chat, width=width)
    expect(page.get_by_text("Earlier messages were summarised")).to_be_visible()
    expect(page.get_by_text("its middle was left out")).to_be_visible()
    last_reply(page).hover()
    last_reply(page).get_by_role("button", name=NAME).click()
    report = page.get_by_role("dialog", name=NAME)
    expect(report.get_by_text("1,240")).to_be_visible()
    box = report.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    assert report.evaluate("e => e.scrollWidth <= e.clientWidth")
    assert accessibility_violations(page) == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="This chat").click()
    expect(page.get_by_role("combobox", name="When this chat outgrows the window")).to_be_visible()
    assert accessibility_violations(page) == []


def test_axe_finds_no_serious_violation_on_the_page_of_the_report(open_page, long_chat):
    page = open_page(long_chat)
    page.goto(f"/m/{last_reply(page).get_attribute('data-id')}/prompt/")
    expect(page.get_by_role("heading", name="Prompt of a reply")).to_be_visible()
    assert accessibility_violations(page) == []


def test_the_meter_is_updated_after_each_reply(open_page, scripted):
    scripted.context_window = 400
    page = open_page()
    meter = page.get_by_role("meter", name="Context window")
    send_message(page, "Hello")
    expect(last_reply(page)).to_contain_text("Understood.")
    before = int(meter.get_attribute("aria-valuenow"))
    send_message(page, "Something longer to say. " * 20)
    expect(page.locator("[data-role=assistant][data-state=complete]")).to_have_count(2)
    after = int(meter.get_attribute("aria-valuenow"))
    assert 0 < before < after
    assert meter.get_attribute("title").startswith(f"{after} %")


def test_a_strategy_is_chosen_in_the_menu_and_the_menu_stays_open(open_page, long_chat):
    page = open_page(long_chat)
    page.get_by_role("button", name="This chat").click()
    choice = page.get_by_role("combobox", name="When this chat outgrows the window")
    choice.select_option("simple")
    expect(choice.get_by_role("option", selected=True)).to_have_text("newest messages only")
    expect(page.get_by_role("dialog", name="This chat")).to_be_visible()
    page.reload()
    page.get_by_role("button", name="This chat").click()
    expect(choice.get_by_role("option", selected=True)).to_have_text("newest messages only")
    assert Conversation.objects.get().strategy == "simple"


def test_without_javascript_report_and_strategy_are_pages_and_forms(open_page, long_chat):
    page = open_page(long_chat, java_script_enabled=False)
    last_reply(page).hover()
    last_reply(page).get_by_role("button", name=NAME).click()
    page.get_by_role("link", name=NAME).click()
    expect(page.get_by_text("14 earlier messages were left out.")).to_be_visible()
    page.get_by_role("link", name="Back to the chat").click()
    page.get_by_role("button", name="This chat").click()
    page.get_by_role("combobox", name="When this chat outgrows the window").select_option("topics")
    page.get_by_role("button", name="Choose").click()
    assert Conversation.objects.get().strategy == "topics"
