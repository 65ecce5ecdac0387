"""Removes facts with every trace of their words from where memory keeps them; messages stay (design §5)."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import reduce
from operator import or_
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import Model, Q, QuerySet, TextField
from django.db.models.functions import Cast

from chat.memory.lines import one_line, without_lines
from chat.memory.similar import normalise
from chat.models import (
    Conversation,
    ExtractionRun,
    Fact,
    FactEvent,
    Job,
    Message,
    PromptReport,
)

from . import graph, jobs
from .lineage import ancestor_ids, bypass

Row = TypeVar("Row", bound=Model)

# SQLite allows an expression a depth of 1,000.
_AT_ONCE = 200
_MANY = 20


def erase(owner: Any, ids: Collection[UUID]) -> set[str]:
    """Delete facts and what is left of their words; returns those words. Inside the caller's transaction.

    What a live or pending fact still says is no forgotten word. Superseded and archived facts that say the
    same go too. The model's caches are freed by a job, outside the transaction.
    """
    gone = _Gone(owner, set(ids))
    _wipe_notes_and_blocks(owner, gone)
    _wipe_reports(owner, gone)
    _wipe_looks(owner, gone)
    _wipe_events(owner, gone)
    _wipe_quotes(owner, gone)
    _wipe_jobs(gone)
    bypass(gone.ids)
    # The history and the graph go with the facts: they hold the same words.
    Fact.objects.filter(pk__in=gone.ids).delete()
    graph.forget_words(owner, gone.wordings)
    jobs.enqueue("free_caches", {"conversations": sorted(gone.conversations)})
    return gone.every_wording


class _Gone:
    """What is to be removed: keys, wordings, their forms; and which conversations the model read them in."""

    def __init__(self, owner: Any, ids: set[UUID]) -> None:
        mine = Fact.objects.filter(owner=owner)
        self.every_wording = mine.filter(pk__in=ids).wordings()
        self.ids = ids | _same_words(mine.exclude(pk__in=ids), self.every_wording)
        rows = mine.filter(pk__in=self.ids)
        others = mine.exclude(pk__in=self.ids).filter(superseded_at__isnull=True, archived_at__isnull=True)
        known = {normalise(text) for text in others.values_list("text", flat=True)}
        wordings = self.every_wording if len(self.ids) == len(ids) else rows.wordings()
        self.wordings = {text for text in wordings if normalise(text) not in known}
        self.lines = {one_line(text) for text in self.wordings}
        quotes = set(rows.exclude(quote="").values_list("quote", flat=True))
        self.words = {normalise(text) for text in self.wordings} - {""}
        self.texts = self.words | {normalise(text) for text in quotes} - known - {""}
        self.keys = {str(pk) for pk in self.ids}
        self.conversations: set[str] = set()
        self._judged: dict[str, bool] = {"": False}

    def says(self, text: str) -> bool:
        """Tell whether a longer text holds one of the wordings, word for word."""
        # Reasons are few and come again and again.
        if text not in self._judged:
            said = f" {normalise(text)} "
            self._judged[text] = any(f" {wording} " in said for wording in self.words)
        return self._judged[text]

    def holds(self, refusal: dict[str, str]) -> bool:
        """Tell whether a refused line is one of the texts, or its reason names one."""
        return normalise(refusal["text"]) in self.texts or self.says(refusal["reason"])


def _same_words(others: QuerySet[Fact], wordings: Iterable[str]) -> set[UUID]:
    texts = {normalise(text) for text in wordings}
    # Also of another batch that waits: its undo must not bring back what was forgotten meanwhile.
    hidden = others.exclude(superseded_at__isnull=True, archived_at__isnull=True)
    same = [fact for fact in hidden.only("text", "archived_at", "owner") if normalise(fact.text) in texts]
    archived = [fact for fact in same if fact.archived_at]
    above = ancestor_ids(archived[0].owner_id, [f.pk for f in archived]) if archived else []
    return {fact.pk for fact in same}.union(above)


def _wipe_notes_and_blocks(owner: Any, gone: _Gone) -> None:
    noted = []
    for message in _may_hold(Message.objects.for_owner(owner).exclude(note=""), "note", gone.lines):
        note = without_lines(message.note, gone.lines)
        if note != message.note:
            message.note = note
            noted.append(message)
    _save(noted, "note")
    gone.conversations.update(str(message.conversation_id) for message in noted)
    mine = Conversation.objects.for_owner(owner)
    blocks = {
        conversation.pk
        for conversation in (
            *_any_of(mine, _contains("memory_block"), gone.lines),
            *_any_of(mine, lambda key: Q(memory_block_facts__has_key=key), gone.keys),
        )
    }
    Conversation.objects.filter(pk__in=blocks).update(memory_block=None, memory_block_facts={})
    gone.conversations.update(map(str, blocks))
    # Made in advance, so made again: cheaper than to look into each.
    mine.filter(prepared__isnull=False).update(prepared=None)


def _wipe_reports(owner: Any, gone: _Gone) -> None:
    told = PromptReport.objects.for_owner(owner).exclude(facts=[], left_out=[])
    for field in ("facts", "left_out"):
        reports = told.annotate(listed=Cast(field, TextField()))
        touched = []
        for report in _may_hold(reports, "listed", gone.keys):
            listed = getattr(report, field)
            kept = [key for key in listed if key not in gone.keys]
            if len(kept) < len(listed):
                setattr(report, field, kept)
                touched.append(report)
        _save(touched, field)


def _wipe_looks(owner: Any, gone: _Gone) -> None:
    touched = []
    for run in ExtractionRun.objects.for_owner(owner).exclude(refused=[], error=""):
        kept = [
            r for r in run.refused if normalise(r["text"]) not in gone.texts and not gone.says(r["reason"])
        ]
        error = "" if gone.says(run.error) else run.error
        if len(kept) < len(run.refused) or error != run.error:
            run.refused, run.error = kept, error
            touched.append(run)
    _save(touched, "refused", "error")


def _wipe_events(owner: Any, gone: _Gone) -> None:
    """Take the words out of the history of facts that stay: an earlier wording, a reason."""
    events = FactEvent.objects.for_owner(owner).exclude(fact__in=gone.ids)
    told: set[str] = set()
    for side in ("before__text", "after__text"):
        told.update(text for text in events.order_by().values_list(side, flat=True).distinct() if text)
    told = {text for text in told if normalise(text) in gone.texts}
    touched = {
        event.pk: event
        for event in (
            *_any_of(events, lambda text: Q(before__text=text) | Q(after__text=text), told),
            *_any_of(events.exclude(reason=""), lambda text: Q(reason__icontains=text), gone.wordings),
        )
    }
    for event in touched.values():
        for state in (event.before, event.after):
            if normalise(state.get("text") or "") in gone.texts:
                del state["text"]
        event.reason = "" if gone.says(event.reason) else event.reason
    _save(list(touched.values()), "before", "after", "reason")


def _wipe_quotes(owner: Any, gone: _Gone) -> None:
    """Take the words out of what other facts quote: one may have been corrected to something else since."""
    others = Fact.objects.filter(owner=owner).exclude(pk__in=gone.ids).exclude(quote="")
    quoting = [fact.pk for fact in others.only("quote") if gone.says(fact.quote)]
    Fact.objects.filter(pk__in=quoting).update(quote="")


def _wipe_jobs(gone: _Gone) -> None:
    settling = _any_of(Job.objects.filter(kind="settle"), lambda key: Q(payload__fact=key), gone.keys)
    Job.objects.filter(pk__in=[job.pk for job in settling]).delete()
    failed = [job.pk for job in Job.objects.exclude(last_error="") if gone.says(job.last_error)]
    Job.objects.filter(pk__in=failed).update(last_error="")


def _save(rows: Sequence[Model], *fields: str) -> None:
    """Write changed rows, those that end alike in one query: after a clear-all most of them do."""
    alike: dict[str, list[Model]] = {}
    for row in rows:
        alike.setdefault(json.dumps([getattr(row, field) for field in fields]), []).append(row)
    for same in alike.values():
        values = {field: getattr(same[0], field) for field in fields}
        for start in range(0, len(same), _AT_ONCE):
            keys = [row.pk for row in same[start : start + _AT_ONCE]]
            type(same[0])._default_manager.filter(pk__in=keys).update(**values)


def _contains(field: str) -> Callable[[str], Q]:
    return lambda text: Q(**{f"{field}__contains": text})


def _may_hold(rows: QuerySet[Row], field: str, values: Collection[str]) -> Iterable[Row]:
    """Return the rows that may hold a value: for many values all, which costs less than looking for each."""
    return rows if len(values) > _MANY else _any_of(rows, _contains(field), values)


def _any_of(rows: QuerySet[Row], condition: Callable[[str], Q], values: Collection[str]) -> list[Row]:
    """Return the rows that meet the condition for at least one value, in as few queries as it takes."""
    found: dict[Any, Row] = {}
    ordered = sorted(values)
    for start in range(0, len(ordered), _AT_ONCE):
        wanted = reduce(or_, map(condition, ordered[start : start + _AT_ONCE]))
        found.update((row.pk, row) for row in rows.filter(wanted))
    return list(found.values())
