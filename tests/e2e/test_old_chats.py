"""Below the list of chats stands how many old chats will be deleted, with a button that keeps them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from chat.actions import old_conversations
from chat.actions.owners import local_owner
from chat.models import Conversation

from .conversation_list import conversation_row
from .page_actions import accessibility_violations

pytestmark = pytest.mark.browser


@pytest.fixture
def old_chats(make_conversations):
    """Two chats that are deleted by age, and one that stays."""
    made = make_conversations("Boats", "Trains", "Work")
    old = Conversation.objects.filter(pk__in=[one.pk for one in made[:2]])
    now = timezone.now()
    old.update(updated_at=now - timedelta(days=40))
    assert old_conversations.delete_old_conversations(local_owner(), now - timedelta(days=30), now) == 2


def test_they_are_kept_by_keyboard_and_come_back_into_the_list(open_page, old_chats):
    page = open_page("/")
    said = page.get_by_text("2 chats in which you wrote nothing for long")
    expect(said).to_be_visible()
    expect(conversation_row(page, "Boats")).to_have_count(0)
    assert accessibility_violations(page) == []
    page.get_by_role("button", name="Keep them").focus()
    page.keyboard.press("Enter")
    for title in ("Boats", "Trains", "Work"):
        expect(conversation_row(page, title)).to_be_visible()
    expect(said).to_have_count(0)
    expect(page.get_by_text("Kept 2 chats")).to_be_visible()
