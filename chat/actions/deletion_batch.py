"""Creates the batch that hides deleted facts until its deadline; `deletions` undoes or finishes it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from chat.models import Deletion, Fact, FactEvent, FactEventKind, Message, User

from . import events, jobs, kept_out, tombstones
from .fact_events import USER, build_event, snapshot

# An undo is accepted this long after the displayed deadline, to allow for network delay.
UNDO_GRACE = timedelta(seconds=1)


def create_deletion(
    owner: User,
    facts: list[Fact],
    now: datetime,
    until: datetime,
    *,
    everything: bool = False,
    message: Message | None = None,
    taken_back: dict[str, Any] | None = None,
) -> Deletion:
    """Hide facts until a deadline, mark the sentences that say them, and queue the end; in a transaction.

    `message` is the one that asked for it. `taken_back` is set where it was edited and retracts the facts.
    """
    rows = Fact.objects.filter(pk__in=[fact.pk for fact in facts])
    deletion = Deletion.objects.create(
        owner=owner,
        pressed_at=now,
        expires_at=until,
        everything=everything,
        message=message,
        retraction=taken_back,
        digests=sorted(tombstones.hash_facts(owner, rows)) if facts and taken_back is None else [],
    )
    rows.update(deletion=deletion)
    FactEvent.objects.bulk_create(
        build_event(f, FactEventKind.DELETE, USER, before=snapshot(f)) for f in facts
    )
    jobs.enqueue(
        "finish_deletion",
        {"deletion": str(deletion.pk)},
        key=f"finish_deletion:{deletion.pk}",
        run_after=until + UNDO_GRACE,
    )
    if facts and taken_back is None:
        kept_out.mark_sources(deletion, facts)
    if facts or taken_back:
        notify_fact_changes(owner.pk, facts, message)
    return deletion


def notify_fact_changes(owner_id: Any, facts: list[Fact], message: Message | None = None) -> None:
    """Notify the pages, with the ids of the source messages and of the message that asked for the change: the
    page shows learned and forgotten facts below these.
    """
    sources = {str(f.source_message_id) for f in facts if f.source_message_id is not None}
    sources |= {str(message.pk)} if message is not None else set()
    events.send_on_commit(owner_id, "facts", messages=sorted(sources))
