"""Tells the model in the note when a message was written, where the message or a fact beside it needs that.

The sentence is stored with the message, like the rest of its note. A prompt with a clock in it would be
evaluated again each time, and a replayed one would be wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from django.utils import dates, translation

from chat.actions.owners import local_day_of
from chat.memory.date_language import load_date_language
from chat.memory.fact_dates import mentions_time
from chat.models import Message

from .fact_snapshot import RelevantFacts

_OPEN = "[This message was written on "


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
    sentence = _write_sentence(message)
    told = (part for m in reversed(earlier) for part in m.note.split("\n\n") if part.startswith(_OPEN))
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


def _write_sentence(message: Message) -> str:
    day = local_day_of(message.conversation.owner_id, message.created_at)
    with translation.override("en"):
        weekday = str(dates.WEEKDAYS[day.weekday()])
    return f"{_OPEN}{weekday}, {load_date_language('en').write('day', day, bare=True)}.]"
