"""Chats that are deleted by age leave the list for a week, in which the list offers to keep them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chat.actions import old_conversations
from chat.models import Conversation, Deletion
from tests.doors.owned_objects import ORIGIN

pytestmark = pytest.mark.django_db
KEEP = reverse("old_chats_keep")


@pytest.fixture
def hidden(add_exchange, owner):
    """Three chats of the owner that are deleted by age."""
    for number in range(3):
        add_exchange(f"Chat {number}")
    now = timezone.now()
    Conversation.objects.update(updated_at=now - timedelta(days=40))
    assert old_conversations.delete_old_conversations(owner, now - timedelta(days=30), now) == 3


def test_the_list_says_how_many_leave_and_offers_to_keep_them(hidden, ours):
    page = ours.get("/").content.decode()
    assert "3 chats in which you wrote nothing for long will be deleted from" in page
    assert f'action="{KEEP}"' in page
    assert "Chat 1" not in page


def test_one_press_brings_all_of_them_back(hidden, ours):
    page = ours.post(KEEP, follow=True).content.decode()
    assert "Kept 3 chats" in page
    assert "wrote nothing for long" not in page
    assert Conversation.objects.listed().count() == 3


def test_with_htmx_the_list_is_loaded_anew(hidden, ours_htmx):
    answer = ours_htmx.post(KEEP)
    assert answer.status_code == 204
    assert "conversations-changed" in answer.headers["HX-Trigger"]


def test_no_toast_counts_their_seconds(hidden, ours):
    assert str(Deletion.objects.get().pk) not in ours.get("/").content.decode()


def test_nothing_is_said_without_any(add_exchange, ours):
    add_exchange("Hello")
    assert "wrote nothing for long" not in ours.get("/").content.decode()


@pytest.mark.parametrize("who", ["other user", "stranger"])
def test_nobody_else_sees_or_keeps_them(hidden, other, settings, who):
    settings.MODE = "server"
    client = Client(HTTP_ORIGIN=ORIGIN)
    if who == "other user":
        client.force_login(other)
    assert "wrote nothing for long" not in client.get("/", follow=True).content.decode()
    assert client.post(KEEP).status_code == 302
    assert Conversation.objects.listed().count() == 0
