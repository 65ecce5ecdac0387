"""How conversations stand in the owner's list: under which name, which come first, in which app."""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext as _

from chat.models import App, Conversation, TitledBy

from . import app_memories, events, indexing
from .messages import Refused, not_put_away
from .owners import hold_memory

LONGEST_TITLE = 120  # characters; the column's length


def rename(conversation: Conversation, title: str) -> None:
    """Give a conversation the title that the user wants; from then on no model changes it."""
    title = " ".join(title.replace("\x00", "").split())
    if not title:
        raise Refused(_("Write a title first."))
    _change(conversation, title=title[:LONGEST_TITLE], titled_by=TitledBy.USER)


def set_pinned(conversation: Conversation, pinned: bool) -> None:
    """Let a conversation stand above those of its app that are not pinned, or no more; prune spares it."""
    _change(conversation, pinned=pinned)


def move(conversation: Conversation, app: App) -> None:
    """Put a conversation into another app of its owner; from then on it has that one's persona.

    What is remembered of it goes with it: its old app is told of it no more. Raises Refused for an app that
    has been put away.
    """
    with transaction.atomic():
        hold_memory(conversation.owner_id)
        not_put_away(app)
        app_memories.move_along(conversation, app)
        # What its prompt begins with is the app's, so what was built or prepared of it is of no use any more.
        _change(conversation, app=app, memory_block=None, memory_block_facts={}, prepared=None)


def _change(conversation: Conversation, **fields: object) -> None:
    with transaction.atomic():
        Conversation.objects.filter(pk=conversation.pk).update(**fields)
        if "title" in fields:
            indexing.titled(conversation.pk)
        events.tell(conversation.owner_id, "rooms")
