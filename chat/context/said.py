"""What a prompt says of the user already, and what of it has become untrue elsewhere (design §6)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from chat.memory.kinds import KINDS
from chat.memory.lines import correction, one_line
from chat.models import Conversation, Fact, FactEventKind, PromptReport

from .known import Known


@dataclass(frozen=True, slots=True)
class Correction:
    """A line for the next note; `fact` is the one that holds now, None when nothing has taken the place."""

    line: str
    fact: Known | None


def said_already(facts: Iterable[Known], lines: Collection[str], sources: Collection[Any]) -> set[UUID]:
    """Return the ids of the facts that stand in `lines` or in the user's words in the messages `sources`."""
    # What was edited since is in other words than the user's message.
    told = {f.id for f in facts if f.version == 1 and f.source_message_id in sources}
    return told.union(f.id for f in facts if one_line(f.text) in lines) if lines else told


def corrections(
    conversation: Conversation, facts: Sequence[Known], lines: Sequence[str], sources: Collection[Any]
) -> list[Correction]:
    """Return what takes back those of `lines` that were edited or superseded elsewhere.

    Nothing is kept about it: a correction that stands in the prompt has changed `lines` itself, so it is said
    once, and again where its message was replaced or trimmed away. Asks the database only when a line is not
    the text of a live fact. What was superseded by the user's own words in this prompt needs no correction.
    """
    live = {one_line(f.text) for f in facts}
    stale = [line for line in lines if line not in live]
    if not stale:
        return []
    past = _by_wording(conversation)
    found = []
    for line in stale:
        fact = past.get(line)
        # What was archived did not become untrue, and what is being forgotten leaves without a word.
        if fact is None or fact.deletion_id or (fact.archived_at and not fact.superseded_at):
            continue
        if not _was_replaced_by(sources, fact):
            now = _holds_now(conversation, fact, facts)
            new = "" if now is None or one_line(now.text) in lines else now.text
            found.append(Correction(correction(line, new), now))
    return found


def _was_replaced_by(sources: Collection[Any], fact: Fact) -> bool:
    """Return whether the user's own words in this prompt are what took the fact back."""
    return fact.superseded_at is not None and any(
        event.kind == FactEventKind.SUPERSEDE and event.source_message_id in sources
        for event in fact.events.all()
    )


def _by_wording(conversation: Conversation) -> dict[str, Fact]:
    """Return the facts that this conversation's prompts were given, by every text they ever had."""
    used = set(conversation.memory_block_facts)
    for ids in PromptReport.objects.filter(reply__conversation=conversation).values_list("facts", flat=True):
        used.update(ids)
    found: dict[str, Fact] = {}
    for fact in Fact.objects.for_owner(conversation.owner).filter(pk__in=used).prefetch_related("events"):
        states = [state for event in fact.events.all() for state in (event.before, event.after)]
        for wording in (fact.text, *(state["text"] for state in states if "text" in state)):
            found[one_line(wording)] = fact
    return found


def _holds_now(conversation: Conversation, fact: Fact, facts: Sequence[Known]) -> Known | None:
    """Return what a fact has become: itself in other words, or the live one that took its place."""
    by_id = {f.id: f for f in facts}
    if fact.superseded_at is None:
        return by_id.get(fact.pk)
    known = Fact.objects.for_owner(conversation.owner)
    followed, current = {fact.pk}, [fact.pk]
    while current:
        newer = set(known.filter(supersedes__in=current).values_list("id", flat=True)) - followed
        if live := next((by_id[pk] for pk in sorted(newer) if pk in by_id), None):
            return live
        followed |= newer
        current = list(newer)
    if not KINDS[fact.kind].single:
        return None
    # An older value that was restored does not supersede the newer one that it displaced.
    twins = known.live().filter(kind=fact.kind, subject=fact.subject).values_list("id", flat=True)
    return next((by_id[pk] for pk in twins if pk in by_id), None)
