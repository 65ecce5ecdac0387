"""`manage.py prune` deletes only chats without recent messages."""

from __future__ import annotations

import io
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from chat.actions import owners
from chat.models import Conversation, Message

pytestmark = pytest.mark.django_db


@pytest.fixture
def chats(talk: Any) -> None:
    """A chat of today, an old one, an old pinned one, and an old one with a flagged message."""
    for title in ("today", "old", "pinned", "marked"):
        talk(title)
    old = Conversation.objects.exclude(title="today")
    old.update(updated_at=timezone.now() - timedelta(days=40))
    Conversation.objects.filter(title="pinned").update(pinned=True)
    Message.objects.update(state="complete")
    Message.objects.filter(conversation__title="marked", role="user").update(flagged=True)


def prune(**options: Any) -> str:
    out = io.StringIO()
    call_command("prune", stdout=out, **options)
    return out.getvalue()


def titles() -> set[str]:
    return set(Conversation.objects.values_list("title", flat=True))


def test_old_chats_are_deleted_and_flagged_or_pinned_ones_are_kept(chats):
    assert prune(days=50) == "Chats deleted: 0 (nobody wrote in them for 50 days).\n"
    assert prune(days=30) == "Chats deleted: 1 (nobody wrote in them for 30 days).\n"
    assert titles() == {"today", "pinned", "marked"}


def test_without_days_the_setting_is_used(chats, owner):
    with pytest.raises(CommandError, match="keep all chats"):
        prune()
    owners.set_prune_after(owner, "30")
    assert prune().startswith("Chats deleted: 1")


@pytest.mark.parametrize("days", [0, -1, 10**9])
def test_invalid_days_delete_nothing(chats, days):
    with pytest.raises(CommandError, match="--days is between"):
        prune(days=days)
    with pytest.raises(CommandError, match="no user named"):
        prune(days=1, owner="nobody")
    assert len(titles()) == 4
