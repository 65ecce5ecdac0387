"""Takes back what memory learned only from messages that an edit replaced. One undo restores it.

What the messages of the shown branch say counts. A fact that only replaced messages taught is retracted. One
that something else taught too loses these mentions and the confidence that they gave. A fact that a retracted
one had superseded, or that a replaced message had ended, is current again.

Something else is another message of a shown branch, a message that was deleted since, or an act of the user:
facts that were added, edited, pinned or restored by hand are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Prefetch
from django.utils import timezone

from chat.memory import confidence
from chat.memory.candidates import FactCandidate
from chat.memory.ground import find_quote
from chat.memory.kinds import KINDS
from chat.memory.text_similarity import normalize_text
from chat.models import (
    Deletion,
    DeletionState,
    Fact,
    FactEvent,
    FactEventKind,
    MemoryMode,
    Message,
    User,
)
from chat.topics.contents import load_contents

from . import archive, graph
from .deletion_batch import create_deletion
from .fact_events import MEMORY, SYSTEM, USER, FactMentions, find_mentions, is_mention, record_event, snapshot
from .supersession import EDIT_REASON, UNDO_REASON, find_chains, supersede

# Longer than after a press on "Forget", because the user reads the new reply before the line under it.
UNDO_WINDOW = timedelta(minutes=2)
# How long a retraction waits, at most, for the extraction of the new wording, which may teach the same facts.
_LONGEST_WAIT = timedelta(days=1)
_NEXT_LOOK = timedelta(seconds=30)


@dataclass(slots=True)
class Retraction:
    """What to take back: facts to hide, facts that lose mentions, and facts that are current again.

    The latter are pairs with the retracted fact that had superseded them, None where a message ended them.
    """

    facts: list[Fact] = field(default_factory=list)
    weakened: list[FactMentions] = field(default_factory=list)
    revived: list[tuple[Fact, Fact | None]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.facts or self.weakened or self.revived)

    def to_json(self) -> dict[str, Any]:
        """Return what an undo needs besides the hidden facts; it holds no texts."""
        return {
            "weakened": [[str(s.fact.pk), s.lost_mentions, s.lost_confidence] for s in self.weakened],
            "revived": [[str(fact.pk), str(by.pk) if by else ""] for fact, by in self.revived],
        }


def retract_messages(edited: Message, replaced: Collection[UUID]) -> Deletion | None:
    """Take back what memory learned only from the messages `replaced`, which the message `edited` replaces.

    In the caller's transaction, after `lock_memory`. Returns None when nothing was taken back: also with
    memory off or read-only, since the new wording would not be extracted.
    """
    owner, now = edited.conversation.owner, timezone.now()
    if edited.conversation.memory_mode != MemoryMode.ON:
        return None
    plan = _plan_retraction(owner, replaced)
    if not plan:
        return None
    deletion = create_deletion(
        owner, plan.facts, now, now + UNDO_WINDOW, message=edited, taken_back=plan.to_json()
    )
    _apply_retraction(owner, plan)
    return deletion


def _plan_retraction(owner: User, replaced: Collection[UUID]) -> Retraction:
    """Return what to take back when these messages are replaced; reads only. A fixed number of queries."""
    plan = Retraction()
    events = FactEvent.objects.select_related("source_message").order_by("created_at", "pk")
    mentioned = Fact.objects.for_owner(owner).filter(events__source_message__in=replaced, deletion=None)
    facts = mentioned.distinct().select_related("owner")
    for fact in facts.prefetch_related(Prefetch("events", events)):
        sources = find_mentions(fact, replaced)
        if not sources.replaced:
            if _is_ended_by(fact, replaced):
                plan.revived.append((fact, None))
        elif not (sources.others or sources.is_confirmed):
            plan.facts.append(fact)
        else:
            plan.weakened.append(sources)
    plan.revived += _find_superseded(owner, plan.facts)
    plan.revived = _without_rivals(owner, plan)
    return plan


def _apply_retraction(owner: User, plan: Retraction) -> None:
    """Weaken and revive facts; in the caller's transaction, after the retracted facts were hidden."""
    chains = find_chains(owner.pk, [by.pk for _, by in plan.revived if by])
    for fact, by in plan.revived:
        if by is not None:
            # Cut the chain between the retracted facts and the revived one, which may get a new successor.
            Fact.objects.filter(supersedes=fact.pk, pk__in=[by.pk, *chains[by.pk]]).update(supersedes=None)
        _revive(fact)
    for sources in plan.weakened:
        _weaken(sources)
    archive.evict_facts(owner, timezone.now(), keep=[fact.pk for fact, _ in plan.revived])


def undo_retraction(deletion: Deletion) -> None:
    """Restore what a retraction changed besides the hidden facts, as far as it has not changed since."""
    saved = deletion.retraction or {}
    keys = [key for row in (*saved.get("weakened", ()), *saved.get("revived", ())) for key in row[:2]]
    wanted = [key for key in keys if isinstance(key, str) and key]
    events = FactEvent.objects.select_related("source_message").order_by("created_at", "pk")
    found = Fact.objects.filter(owner=deletion.owner_id, pk__in=wanted).select_related("owner")
    facts = {str(fact.pk): fact for fact in found.prefetch_related(Prefetch("events", events))}
    for key, mentions, rise in saved.get("weakened", ()):
        if (fact := facts.get(key)) is not None:
            _strengthen(fact, mentions, rise)
    for key, by in saved.get("revived", ()):
        fact, successor = facts.get(key), facts.get(by)
        if fact is None or fact.deletion_id or fact.superseded_at or fact.archived_at:
            continue
        if not by:
            archive.archive_ended_fact(fact, UNDO_REASON, None, USER)
        elif successor is not None and successor.deletion_id == deletion.pk:
            supersede(fact, successor, USER, UNDO_REASON, late=True)


def find_retracted(owner: User) -> list[Fact]:
    """Return the facts that are retracted and not deleted for good yet."""
    pending = Fact.objects.for_owner(owner).filter(
        deletion__state=DeletionState.PENDING, deletion__retraction__isnull=False
    )
    return list(pending.filter(superseded_at=None, archived_at=None))


def teach_again(fact: Fact, candidate: FactCandidate, message: Message) -> None:
    """Bring back a retracted fact that a message states; in the caller's transaction."""
    before = snapshot(fact)
    fact.deletion, fact.quote, fact.language = None, candidate.quote, candidate.language
    fact.source_message, fact.source_conversation = message, message.conversation
    fact.last_seen_conversation, fact.last_seen, fact.idle_days = message.conversation, timezone.now(), 0
    fact.save()
    record_event(fact, FactEventKind.RESTORE, MEMORY, before=before, reason="said again", source=message)
    graph.sync_fact(fact)


def find_next_look(deletion: Deletion, now: datetime) -> datetime | None:
    """Return when to look again whether the new wording was extracted; None where nothing waits for it."""
    message = deletion.message
    if deletion.retraction is None or message is None or now - deletion.pressed_at > _LONGEST_WAIT:
        return None
    conversation = message.conversation
    waits = conversation.memory_mode == MemoryMode.ON and conversation.deletion_id is None
    unread = Message.objects.not_extracted(conversation).filter(pk=message.pk)
    return now + _NEXT_LOOK if waits and unread.exists() else None


def _is_ended_by(fact: Fact, replaced: Collection[UUID]) -> bool:
    """Return whether a replaced message ended the fact, and nothing has happened to it since."""
    last = list(fact.events.all())[-1]
    is_over = fact.archived_at is not None and fact.superseded_at is None
    return is_over and last.kind == FactEventKind.SUPERSEDE and last.source_message_id in replaced


def _find_superseded(owner: User, retracted: Sequence[Fact]) -> list[tuple[Fact, Fact | None]]:
    """Return the facts that the live ones among these have superseded, each with the live one."""
    live = {fact.pk: fact for fact in retracted if fact.superseded_at is None and fact.archived_at is None}
    hidden = {fact.pk for fact in retracted}
    older = {}
    for key, chain in find_chains(owner.pk, live).items():
        if (nearest := next((pk for pk in chain if pk not in hidden), None)) is not None:
            older[nearest] = live[key]
    rows = Fact.objects.for_owner(owner).filter(
        pk__in=older, superseded_at__isnull=False, archived_at=None, deletion=None
    )
    return [(fact, older[fact.pk]) for fact in rows.select_related("owner").prefetch_related("events")]


def _without_rivals(owner: User, plan: Retraction) -> list[tuple[Fact, Fact | None]]:
    """Return the pairs of `revived` without the facts whose text or single value another fact has now."""
    live = Fact.objects.for_owner(owner).live().exclude(pk__in=[fact.pk for fact in plan.facts])
    texts: set[str] = set()
    values: set[tuple[str, str]] = set()
    for text, kind, subject in live.values_list("text", "kind", "subject"):
        texts.add(normalize_text(text))
        values.add((kind, subject))

    def is_free(fact: Fact) -> bool:
        has_rival = KINDS[fact.kind].single and (fact.kind, fact.subject) in values
        return not has_rival and normalize_text(fact.text) not in texts

    return [pair for pair in plan.revived if is_free(pair[0])]


def _revive(fact: Fact) -> None:
    before = snapshot(fact)
    replacements = [event for event in fact.events.all() if event.kind == FactEventKind.SUPERSEDE]
    fact.pinned = bool(replacements and replacements[-1].before.get("pinned"))
    fact.superseded_at, fact.archived_at = None, None
    fact.save(update_fields=["pinned", "superseded_at", "archived_at"])
    record_event(fact, FactEventKind.RESTORE, SYSTEM, before=before, reason=EDIT_REASON)
    graph.sync_fact(fact)


def _weaken(sources: FactMentions) -> None:
    fact = sources.fact
    before = snapshot(fact)
    lost = sources.lost_mentions, sources.lost_confidence
    fact.mention_count, fact.confidence = fact.mention_count - lost[0], round(fact.confidence - lost[1], 6)
    _point_to_sources(fact, sources.others)
    record_event(fact, FactEventKind.UPDATE, SYSTEM, before=before, reason=EDIT_REASON)


def _strengthen(fact: Fact, mentions: int, rise: float) -> None:
    before = snapshot(fact)
    fact.mention_count += mentions
    fact.confidence = round(min(confidence.MAX_CONFIDENCE, fact.confidence + rise), 6)
    _point_to_sources(fact, [event for event in fact.events.all() if is_mention(event)])
    record_event(fact, FactEventKind.UPDATE, USER, before=before, reason=UNDO_REASON)


def _point_to_sources(fact: Fact, mentions: Sequence[FactEvent]) -> None:
    """Save a fact with its first and last mention taken from these events, oldest first."""
    said_in = [event.source_message for event in mentions if event.source_message is not None]
    if said_in and fact.source_message_id != said_in[0].pk:
        [first] = load_contents([said_in[0]])
        fact.source_message_id, fact.source_conversation_id = first.pk, first.conversation_id
        fact.quote = find_quote(fact.text, first.content)
    if mentions:
        fact.last_seen = mentions[-1].created_at
    if said_in:
        fact.last_seen_conversation_id = said_in[-1].conversation_id
    fact.save()
