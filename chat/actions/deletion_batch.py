"""A batch of deleted facts: hidden until its deadline, or restored by an undo; `deletions` decides which.

A restored fact comes back unchanged, merged with a fact that was learned meanwhile, or superseded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat.memory.formatting import format_for_quotation
from chat.memory.text_similarity import normalize_text
from chat.models import Conversation, Deletion, Fact, FactEvent, FactEventKind, Message, User

from . import archive, events, jobs, kept_out, tombstones
from .fact_events import USER, build_event, record_event, snapshot
from .message_order import order_before
from .supersession import UNDO_REASON, keep_one_value

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
        window=until - now,
        everything=everything,
        message=message,
        retraction=taken_back,
        digests=sorted(tombstones.hash_facts(owner, rows)) if facts and taken_back is None else [],
    )
    order_before(owner, now)
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


@dataclass(slots=True)
class UndoResult:
    """What an undo restored, by outcome."""

    returned: list[Fact] = field(default_factory=list)
    merged: list[Fact] = field(default_factory=list)
    superseded: list[Fact] = field(default_factory=list)
    app_memories: int = 0
    conversation: Conversation | None = None

    @property
    def sentence(self) -> str:
        """What happened, as a sentence for a toast."""
        sentences = []
        if count := len(self.returned):
            sentences.append(
                ngettext("Brought back %(n)d memory.", "Brought back %(n)d memories.", count) % {"n": count}
            )
        if count := self.app_memories:
            sentences.append(
                ngettext("Brought back %(n)d memory.", "Brought back %(n)d memories.", count) % {"n": count}
            )
        if count := len(self.merged):
            sentences.append(
                ngettext(
                    "%(n)d had been learned again in the meantime, so the two were merged.",
                    "%(n)d had been learned again in the meantime, so they were merged.",
                    count,
                )
                % {"n": count}
            )
        replaced = _("“%(text)s” had been replaced by a newer memory in the meantime.")
        sentences += [replaced % {"text": format_for_quotation(fact.text)} for fact in self.superseded]
        return " ".join(sentences) or _("Restored.")


def restore_facts(deletion: Deletion) -> UndoResult:
    """Restore the facts of a deletion that was just marked as undone; inside the caller's transaction."""
    undone = UndoResult()
    others = Fact.objects.filter(owner=deletion.owner_id).live()
    texts, values = set(), set()
    for text, kind, subject in others.values_list("text", "kind", "subject"):
        texts.add(normalize_text(text))
        values.add((kind, subject))
    batch = list(Fact.objects.filter(deletion=deletion).select_related("owner"))
    Fact.objects.filter(deletion=deletion).update(deletion=None)
    entries = []
    for fact in batch:
        fact.deletion = None
        was_live = fact.superseded_at is None and fact.archived_at is None
        if was_live and (normalize_text(fact.text) in texts or (fact.kind, fact.subject) in values):
            _restore_beside_rival(fact, undone)
            continue
        # The graph still has the relationships of these facts.
        entries.append(
            build_event(fact, FactEventKind.RESTORE, USER, before=snapshot(fact), reason=UNDO_REASON)
        )
        undone.returned.extend([fact] if was_live else [])
    FactEvent.objects.bulk_create(entries)
    back = [fact.pk for fact in (*undone.returned, *undone.merged)]
    archive.evict_facts(deletion.owner, timezone.now(), keep=back)
    return undone


def _restore_beside_rival(fact: Fact, undone: UndoResult) -> None:
    """Restore a fact beside a live one with the same text, or another value of its single-valued kind."""
    before = snapshot(fact)
    twin = archive.absorb_duplicate(fact)
    record_event(fact, FactEventKind.RESTORE, USER, before=twin or before, reason=UNDO_REASON)
    stays = keep_one_value(fact, USER, "a newer one was learned meanwhile")
    if stays != fact:
        undone.superseded.append(fact)
    elif twin is not None:
        undone.merged.append(fact)
    else:
        undone.returned.append(fact)
