"""All wordings in which prompts and their notes may have stated facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

from chat.models import Fact
from chat.models.fact import FactQuerySet

from .fact_dates import tell_with_date


def list_wordings(facts: FactQuerySet) -> set[str]:
    """Return the current and earlier texts of facts, each also with the day on which it was said."""
    texts = facts.all_texts()
    columns = ("said_on", "events__before__said_on", "events__after__said_on")
    texts_and_days = ("text", "events__before__text", "events__after__text", *columns)
    for row in facts.order_by().values_list(*texts_and_days).distinct():
        days = {_read_day(day) for day in row[3:] if day}
        texts.update(tell_with_date(text, day) for text in row[:3] if text for day in days)
    return texts


def list_wordings_of(fact: Fact) -> set[str]:
    """Return the wordings of a fact whose events are loaded."""
    states: Iterable[Mapping[str, Any]] = (
        {"text": fact.text, "said_on": fact.said_on},
        *(state for event in fact.events.all() for state in (event.before, event.after) if "text" in state),
    )
    return {
        wording
        for state in states
        for wording in (state["text"], tell_with_date(state["text"], _read_day(state.get("said_on"))))
    }


def _read_day(value: date | str | None) -> date | None:
    return date.fromisoformat(value) if isinstance(value, str) else value
