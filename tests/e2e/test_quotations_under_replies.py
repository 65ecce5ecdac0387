"""Under a reply: the sentences of past conversations that its prompt quoted, each a link to its message."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from chat.actions import deletions
from chat.actions.messages import finish_reply, send_message
from chat.models import Conversation, Message, PromptReport, Quotation

from .page_actions import accessibility_violations

pytestmark = pytest.mark.browser

ASKED = "Which name did we settle on for the bread course?"


@pytest.fixture
def quoting(owner):
    """A conversation whose reply had two quotations from an earlier one."""
    first, reply = send_message(owner, "I need a name for my sourdough course.")
    finish_reply(reply, "How about Rise Together, Crumb School or Slow Dough?", "complete")
    asked, answer = send_message(owner, ASKED)
    finish_reply(answer, "You talked about Slow Dough.", "complete")
    PromptReport.objects.create(reply=answer, sections={"past_chats": 60, "message": 12}, prompt_tokens=72)
    for place, source in enumerate(Message.objects.filter(conversation=first.conversation).order_by("seq")):
        Quotation.objects.create(message=asked, source=source, start=0, end=len(source.content), place=place)
    return asked.conversation


def open_quotations(page):
    page.get_by_role("button", name="From your chats").click()
    dialog = page.get_by_role("dialog", name=re.compile("Sentences of earlier chats"))
    expect(dialog).to_be_visible()
    return dialog


def test_the_quoted_sentences_are_listed_with_their_chat(open_page, quoting):
    page = open_page(f"/c/{quoting.pk}/")
    lines = open_quotations(page).get_by_role("listitem")
    expect(lines).to_have_count(2)
    expect(lines.nth(0)).to_contain_text("I need a name for my sourdough course.")
    expect(lines.nth(0)).to_contain_text("You, ")
    expect(lines.nth(1)).to_contain_text("Crumb School or Slow Dough?")
    expect(lines.nth(1)).to_contain_text("Reply, ")
    assert accessibility_violations(page) == []


def test_a_quotation_leads_to_its_message(open_page, quoting):
    page = open_page(f"/c/{quoting.pk}/")
    open_quotations(page).get_by_role("link", name=re.compile("Crumb School")).click()
    source = Message.objects.get(content__startswith="How about")
    page.wait_for_url(f"**/c/{source.conversation_id}/**")
    expect(page.locator(f"#m-{source.pk}")).to_be_in_viewport()


def test_a_deleted_chat_is_not_listed_any_more(open_page, quoting):
    deletions.delete_conversation(Conversation.objects.exclude(pk=quoting.pk).get())
    page = open_page(f"/c/{quoting.pk}/")
    dialog = open_quotations(page)
    expect(dialog).to_contain_text("These chats have been deleted or hidden since.")
    expect(dialog.get_by_role("link")).to_have_count(0)


def test_the_prompt_report_counts_them(open_page, quoting):
    reply = Message.objects.get(content="You talked about Slow Dough.")
    page = open_page(f"/m/{reply.pk}/prompt/")
    expect(page.get_by_text("From your chats")).to_be_visible()


def test_a_reply_without_quotations_has_no_such_button(open_page, owner):
    asked, reply = send_message(owner, "What is a prime number?")
    finish_reply(reply, "A number with two divisors.", "complete")
    page = open_page(f"/c/{asked.conversation_id}/")
    expect(page.get_by_text("A number with two divisors.")).to_be_visible()
    expect(page.get_by_role("button", name="From your chats")).to_have_count(0)


def test_the_switch_is_saved(open_page, owner):
    page = open_page("/settings/")
    group = page.get_by_role("group", name="Quote earlier chats", exact=True)
    expect(group.get_by_role("button", name="On")).to_have_attribute("aria-pressed", "true")
    group.get_by_role("button", name="Off").click()
    expect(group.get_by_role("button", name="Off")).to_have_attribute("aria-pressed", "true")
    page.reload()
    expect(group.get_by_role("button", name="Off")).to_have_attribute("aria-pressed", "true")


def test_a_quotation_is_marked_as_not_relevant_by_keyboard_and_taken_back(open_page, quoting):
    page = open_page(f"/c/{quoting.pk}/")
    line = open_quotations(page).get_by_role("listitem").nth(0)
    line.get_by_role("button", name="Not relevant").focus()
    page.keyboard.press("Enter")
    expect(line).to_contain_text("Not quoted for such questions any more.")
    assert Quotation.objects.filter(irrelevant=True).count() == 1
    assert accessibility_violations(page) == []
    line.get_by_role("button", name="Undo").click()
    expect(line.get_by_role("button", name="Not relevant")).to_be_visible()
    assert not Quotation.objects.filter(irrelevant=True).exists()


def test_the_switch_of_one_chat_is_saved(open_page, quoting):
    page = open_page(f"/c/{quoting.pk}/")
    page.get_by_role("button", name="This chat").click()
    group = page.get_by_role("group", name="Quote earlier chats here")
    group.get_by_role("button", name="Off").click()
    expect(group.get_by_role("button", name="Off")).to_have_attribute("aria-pressed", "true")
    assert accessibility_violations(page) == []
    assert not Conversation.objects.get(pk=quoting.pk).use_past_chats
