"""Facts that may not matter for long: they wait in the archive until they are mentioned a second time.

So do further facts about a piece of work, once a conversation has taught many of them.
"""

from __future__ import annotations

from django.utils import timezone

from chat.models import Category, Fact, FactEventKind, Message

from . import events, graph
from .fact_events import MEMORY, record_event
from .facts import reinforce_fact

# The limit keeps one long work chat from filling memory, which holds 150 facts: a chat of 94 user messages
# gave 78 lasting facts. What the work is, and which tools it uses, is usually said first.
MAX_PROJECT_FACTS = 12
# The messages, replies included, in which a conversation may teach so many.
PROJECT_MESSAGES = 120
FOR_SECOND_MENTION = "may not matter for long"
ONE_OF_MANY = "one of many about a piece of work"


def count_project_facts(message: Message) -> int:
    """Return how many live project facts the messages before this one in its conversation taught. One query.

    Only those of the last `PROJECT_MESSAGES` messages.
    """
    lately = (
        Fact.objects.for_owner(message.conversation.owner)
        .live()
        .filter(
            source_message__conversation=message.conversation,
            source_message__seq__gt=message.seq - PROJECT_MESSAGES,
            source_message__seq__lt=message.seq,
        )
    )
    return lately.filter(category=Category.PROJECT).count()


def keep_heard_once(fact: Fact, source: Message, reason: str = FOR_SECOND_MENTION) -> None:
    """Let a new fact wait in the archive for a second mention; inside the caller's transaction."""
    fact.archived_at, fact.heard_once = timezone.now(), True
    fact.save(update_fields=["archived_at", "heard_once"])
    record_event(fact, FactEventKind.ADD, MEMORY, reason=reason, source=source)
    events.send_on_commit(fact.owner_id, "facts")


def confirm_heard_fact(fact: Fact, source: Message) -> Fact:
    """Make a fact live that was heard once and is now mentioned again; inside the caller's transaction."""
    fact.archived_at, fact.heard_once = None, False
    fact.save(update_fields=["archived_at", "heard_once"])
    reinforce_fact(fact, MEMORY, "mentioned a second time", source=source)
    graph.sync_fact(fact)
    return fact
