"""The turn note: what a message needs and the prompt lacks, placed right before the user's words.

It states facts and the day on which the message was written. A fact goes into the note instead of the memory
block because a changed block would make the model evaluate the whole prompt again. A note also corrects
earlier lines of the prompt that were edited or superseded since.

The day is told where the message or a fact beside it needs it. The sentence is stored with the message, like
the rest of its note: a prompt with a clock in it would be evaluated again each time, and a replayed one would
be wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import dates, translation

from chat.actions.owners import local_day_of
from chat.memory import rank
from chat.memory.date_language import load_date_language
from chat.memory.fact_dates import mentions_time
from chat.memory.formatting import format_correction, to_one_line
from chat.memory.kinds import KINDS
from chat.memory.wordings import list_wordings_of
from chat.models import Conversation, Fact, FactEventKind, Message, PromptReport

from .fact_snapshot import FactSnapshot, RelevantFacts

# The note is part of the user's turn, so it is written as the user speaks. Asked "What do you know about
# me?", the default model answered from this form 4 times of 4; from "[What you know about the user: …]"
# never.
_OPEN = "(What you remember about me from earlier conversations:"
_CLOSE = ")"
_FRAME = f"{_OPEN}\n{_CLOSE}"


def render_note(
    facts: Iterable[rank.Rankable], relevance: Mapping[UUID, float], corrections: Sequence[str] = ()
) -> str:
    """Return the text of a note, "" when it has no lines; `corrections` are whole lines and come first.

    `relevance` is that of the facts to the message, by id; it decides the order of the lines.
    """
    lines = [*corrections, *(f"- {to_one_line(f.text)}" for f in rank.sort_for_note(facts, relevance))]
    return "\n".join([_OPEN, *lines, _CLOSE]) if lines else ""


def read_note_facts(note: str) -> str:
    """Return the part of a message's stored note that states facts, "" without one; quotations follow it."""
    return note.split("\n\n", 1)[0] if note.startswith(_OPEN) else ""


def keep_impersonal(note: str) -> str:
    """Return the parts of a stored note that say nothing about the user: those in square brackets."""
    return "\n\n".join(part for part in note.split("\n\n") if part.startswith("["))


def choose_note_facts(
    relevant: RelevantFacts,
    stated: Collection[UUID],
    corrections: Sequence[str],
    budget: int,
    count_tokens: Callable[[str], int],
    count_line: Callable[[str], int],
    now: datetime,
    *,
    crowded: bool = False,
) -> list[FactSnapshot]:
    """Return the facts of the note: any facts when users ask about themselves, else those that are relevant.

    With the corrections, which are never left out, the note has at most `budget` tokens. `stated` are the ids
    of facts that the prompt states already: in its memory block, in an earlier note or in the user's own
    words; they are not stated again. In a `crowded` prompt identity facts that are not pinned are left out.
    `count_tokens` counts any text; `count_line` may answer from a cache.
    """
    relevance = relevant.relevance
    wanted = _list_wanted_facts(relevant, stated)
    if crowded:
        wanted = rank.drop_unpinned_identity(wanted)
    if relevant.ask.about_user:
        ranked = rank.sort_for_note(wanted, relevance)
    else:
        ranked = rank.rank_for_note(wanted, relevance, now)
    return rank.select_fitting(
        rank.drop_repeated_texts(ranked),
        lambda _: budget,
        lambda fact: count_line(f"- {to_one_line(fact.text)}\n"),
        lambda chosen: (
            count_tokens(render_note(chosen, relevance, corrections))
            if chosen or corrections
            else count_line(_FRAME)
        ),
        budget,
    )


def _list_wanted_facts(relevant: RelevantFacts, stated: Collection[UUID]) -> list[FactSnapshot]:
    unstated = [f for f in relevant.facts if f.id not in stated]
    if relevant.ask.about_user:
        return unstated
    return [f for f in unstated if relevant.relevance.get(f.id, 0.0) > 0]


@dataclass(frozen=True, slots=True)
class Correction:
    """A line for the next note; `fact` is the current value, None when nothing replaced the old one."""

    line: str
    fact: FactSnapshot | None


def find_stated_facts(
    facts: Iterable[FactSnapshot], lines: Collection[str], sources: Collection[Any]
) -> set[UUID]:
    """Return the ids of the facts that `lines` contain or that come from the messages `sources` (ids)."""
    # An edited fact (version above 1) no longer has the words of the user's message.
    stated = {f.id for f in facts if f.version == 1 and f.source_message_id in sources}
    return stated.union(f.id for f in facts if to_one_line(f.text) in lines) if lines else stated


def find_corrections(
    conversation: Conversation,
    facts: Sequence[FactSnapshot],
    lines: Sequence[str],
    sources: Collection[Any],
    now: datetime,
) -> list[Correction]:
    """Return corrections of those `lines` of the prompt that were edited or superseded elsewhere, or that
    are past at the moment `now`.

    No state is stored: a correction in the prompt is itself one of `lines`, so it is given once, and again
    after its message was replaced or trimmed. A fact that the user's own words in this prompt superseded
    needs none. Queries the database only when a line is not the text of a live fact.
    """
    live = {to_one_line(f.text) for f in facts}
    stale = [line for line in lines if line not in live]
    if not stale:
        return []
    past, today = _find_facts_by_wording(conversation), local_day_of(conversation.owner_id, now)
    found = []
    for line in stale:
        fact = past.get(line)
        # A fact that is being deleted must not be mentioned.
        if fact is None or fact.deletion_id:
            continue
        if fact.holds_until is not None and fact.holds_until < today and not fact.superseded_at:
            found.append(Correction(format_correction(line), None))
            continue
        # Other archived facts are still true.
        if fact.archived_at and not fact.superseded_at:
            continue
        if not _was_replaced_by(sources, fact):
            current = _find_current(conversation, fact, facts)
            new = "" if current is None or to_one_line(current.text) in lines else current.text
            found.append(Correction(format_correction(line, new), current))
    return found


def _was_replaced_by(sources: Collection[Any], fact: Fact) -> bool:
    """Return whether one of the messages `sources` superseded the fact."""
    return fact.superseded_at is not None and any(
        event.kind == FactEventKind.SUPERSEDE and event.source_message_id in sources
        for event in fact.events.all()
    )


def _find_facts_by_wording(conversation: Conversation) -> dict[str, Fact]:
    """Return the facts in this conversation's prompts, keyed by each text that they ever had."""
    used = set(conversation.memory_block_facts)
    for ids in PromptReport.objects.filter(reply__conversation=conversation).values_list("facts", flat=True):
        used.update(ids)
    found: dict[str, Fact] = {}
    for fact in Fact.objects.for_owner(conversation.owner).filter(pk__in=used).prefetch_related("events"):
        found |= dict.fromkeys(map(to_one_line, list_wordings_of(fact)), fact)
    return found


def _find_current(
    conversation: Conversation, fact: Fact, facts: Sequence[FactSnapshot]
) -> FactSnapshot | None:
    """Return the fact as it is now: edited, or the live fact that superseded it; None without one."""
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
    # A restored older value replaces a newer one without a `supersedes` link.
    twins = known.live().filter(kind=fact.kind, subject=fact.subject).values_list("id", flat=True)
    return next((by_id[pk] for pk in twins if pk in by_id), None)


_DATE_OPEN = "[This message was written on "


def describe_date(
    message: Message,
    relevant: RelevantFacts,
    noted: Collection[str],
    block: Collection[str],
    earlier: Sequence[Message],
) -> str:
    """Return the sentence with the day on which a message was written; "" where nothing needs it.

    `noted` and `block` are the ids of the facts in the note and in the memory block, `earlier` the messages
    before it in the prompt: the day is told once in a prompt.
    """
    if message.date_inferred or not (
        mentions_time(message.content) or _has_dated_fact(relevant, noted, block)
    ):
        return ""
    sentence = _write_date(message)
    told = (part for m in reversed(earlier) for part in m.note.split("\n\n") if part.startswith(_DATE_OPEN))
    return "" if next(told, "") == sentence else sentence


def _has_dated_fact(relevant: RelevantFacts, noted: Collection[str], block: Collection[str]) -> bool:
    return any(
        fact.is_dated
        and (
            str(fact.id) in noted
            or (
                str(fact.id) in block
                and (relevant.ask.about_user or relevant.relevance.get(fact.id, 0.0) > 0)
            )
        )
        for fact in relevant.facts
    )


def _write_date(message: Message) -> str:
    day = local_day_of(message.conversation.owner_id, message.created_at)
    with translation.override("en"):
        weekday = str(dates.WEEKDAYS[day.weekday()])
    return f"{_DATE_OPEN}{weekday}, {load_date_language('en').write('day', day, bare=True)}.]"
