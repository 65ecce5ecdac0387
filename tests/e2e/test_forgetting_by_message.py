"""A message asks to forget something: it is told under the reply, and can be undone there."""

from __future__ import annotations

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from chat.actions import deletions
from chat.models import Deletion, Fact

from .page_actions import accessibility_violations, last_reply, memory_pill, send_message

pytestmark = pytest.mark.browser


@pytest.fixture
def page(open_page, scripted, make_fact):
    """A chat in which the user asked to forget one of two facts."""
    make_fact("User is allergic to nuts", category="identity", kind="health")
    make_fact("User likes jazz")
    page = open_page()
    send_message(page, "Please forget that I'm allergic to nuts.")
    expect(memory_pill(page, 1)).to_be_visible()
    return page


def forgotten_list(page):
    return last_reply(page).get_by_role("list", name="Forgotten as you asked")


def test_a_forgotten_fact_is_listed_under_the_reply_and_undo_brings_it_back(page):
    expect(forgotten_list(page)).to_contain_text("allergic to nuts", use_inner_text=True)
    assert accessibility_violations(page) == []
    page.reload()
    expect(page.locator(".toast")).to_have_count(0)
    forgotten_list(page).get_by_role("button", name="Undo: keep “allergic to nuts”").press("Enter")
    expect(memory_pill(page, 2)).to_be_visible()
    expect(forgotten_list(page)).to_have_count(0)


def test_when_it_is_deleted_for_good_the_line_has_no_words_of_it_any_more(page):
    expect(forgotten_list(page)).to_contain_text("nuts")
    Deletion.objects.update(expires_at=timezone.now())
    deletions.finish_deletion(Deletion.objects.get().pk, timezone.now() + deletions.UNDO_GRACE)
    expect(last_reply(page).get_by_text("Forgotten as you asked")).to_be_visible()
    expect(forgotten_list(page)).to_have_count(0)
    assert list(Fact.objects.values_list("text", flat=True)) == ["User likes jazz"]
