"""Facts that may not matter for long: they wait in the archive until they are mentioned a second time."""

from __future__ import annotations

from django.utils import timezone

from chat.models import Fact, FactEventKind, Message

from . import events, graph
from .fact_events import MEMORY, record_event
from .facts import reinforce_fact


def keep_heard_once(fact: Fact, source: Message) -> None:
    """Let a new fact wait in the archive for a second mention; inside the caller's transaction."""
    fact.archived_at, fact.heard_once = timezone.now(), True
    fact.save(update_fields=["archived_at", "heard_once"])
    record_event(fact, FactEventKind.ADD, MEMORY, reason="may not matter for long", source=source)
    events.send_on_commit(fact.owner_id, "facts")


def confirm_heard_fact(fact: Fact, source: Message) -> Fact:
    """Make a fact live that was heard once and is now mentioned again; inside the caller's transaction."""
    fact.archived_at, fact.heard_once = None, False
    fact.save(update_fields=["archived_at", "heard_once"])
    reinforce_fact(fact, MEMORY, "mentioned a second time", source=source)
    graph.sync_fact(fact)
    return fact
