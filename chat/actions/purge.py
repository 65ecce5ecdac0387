"""Deletes facts for good, with every trace of their text that memory stores; messages stay."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import reduce
from operator import or_
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import Model, Q, QuerySet, TextField
from django.db.models.functions import Cast

from chat.memory.fact_dates import tell_with_date
from chat.memory.formatting import remove_lines, to_one_line
from chat.memory.text_similarity import normalize_text
from chat.memory.wordings import list_wordings
from chat.models import (
    Conversation,
    ExtractionRun,
    Fact,
    FactEvent,
    Job,
    Message,
    PromptReport,
    User,
)

from . import graph, indexing, jobs
from .supersession import bridge_chains, find_ancestor_ids

Row = TypeVar("Row", bound=Model)

# SQLite limits an expression to a depth of 1,000.
_TERMS_PER_QUERY = 200
_MANY_VALUES = 20


def purge_facts(owner: User, ids: Collection[UUID]) -> set[str]:
    """Delete facts and all remaining copies of their texts; returns these. Inside the caller's transaction.

    Texts that a live or pending fact still has are kept. Superseded and archived facts with the same text
    are deleted too. A job frees the model's caches, outside the transaction.
    """
    scope = _PurgeScope(owner, set(ids))
    _wipe_notes_and_blocks(owner, scope)
    _wipe_reports(owner, scope)
    _wipe_extraction_runs(owner, scope)
    _wipe_events(owner, scope)
    _wipe_quotes(owner, scope)
    _wipe_jobs(scope)
    bridge_chains(scope.ids)
    # The events and the relationships are deleted with the facts.
    Fact.objects.filter(pk__in=scope.ids).delete()
    graph.delete_forgotten_words(owner, scope.wordings)
    jobs.enqueue("free_caches", {"conversations": sorted(scope.conversations)})
    indexing.queue_index_merge()
    return scope.every_wording


class _PurgeScope:
    """What to delete: keys, texts, their normal forms; and the conversations whose prompts had them."""

    def __init__(self, owner: User, ids: set[UUID]) -> None:
        mine = Fact.objects.filter(owner=owner)
        self.every_wording = list_wordings(mine.filter(pk__in=ids))
        self.ids = ids | _find_same_text(mine.exclude(pk__in=ids), self.every_wording)
        rows = mine.filter(pk__in=self.ids)
        others = mine.exclude(pk__in=self.ids).filter(superseded_at__isnull=True, archived_at__isnull=True)
        known = {
            normalize_text(wording)
            for text, said_on in others.values_list("text", "said_on")
            for wording in (text, tell_with_date(text, said_on))
        }
        wordings = self.every_wording if len(self.ids) == len(ids) else list_wordings(rows)
        self.wordings = {text for text in wordings if normalize_text(text) not in known}
        self.lines = {to_one_line(text) for text in self.wordings}
        quotes = set(rows.exclude(quote="").values_list("quote", flat=True))
        self.words = {normalize_text(text) for text in self.wordings} - {""}
        self.texts = self.words | {normalize_text(text) for text in quotes} - known - {""}
        self.keys = {str(pk) for pk in self.ids}
        self.conversations: set[str] = set()
        self._checked: dict[str, bool] = {"": False}

    def occurs_in(self, text: str) -> bool:
        """Return whether a longer text contains one of the texts, at word boundaries."""
        # There are few reasons, and they repeat.
        if text not in self._checked:
            padded = f" {normalize_text(text)} "
            self._checked[text] = any(f" {wording} " in padded for wording in self.words)
        return self._checked[text]

    def matches_refusal(self, refusal: dict[str, str]) -> bool:
        """Return whether a refused candidate has one of the texts, or its reason contains one."""
        return normalize_text(refusal["text"]) in self.texts or self.occurs_in(refusal["reason"])


def _find_same_text(others: QuerySet[Fact], wordings: Iterable[str]) -> set[UUID]:
    texts = {normalize_text(text) for text in wordings}
    # Including another pending deletion's: its undo must not restore a text deleted for good meanwhile.
    hidden = others.exclude(superseded_at__isnull=True, archived_at__isnull=True)
    same = [
        fact for fact in hidden.only("text", "archived_at", "owner") if normalize_text(fact.text) in texts
    ]
    archived = [fact for fact in same if fact.archived_at]
    above = find_ancestor_ids(archived[0].owner_id, [f.pk for f in archived]) if archived else []
    return {fact.pk for fact in same}.union(above)


def _wipe_notes_and_blocks(owner: User, scope: _PurgeScope) -> None:
    changed = []
    for message in _filter_candidates(Message.objects.for_owner(owner).exclude(note=""), "note", scope.lines):
        note = remove_lines(message.note, scope.lines)
        if note != message.note:
            message.note = note
            changed.append(message)
    _save(changed, "note")
    scope.conversations.update(str(message.conversation_id) for message in changed)
    mine = Conversation.objects.for_owner(owner)
    blocks = {
        conversation.pk
        for conversation in (
            *_filter_any(mine, _contains("memory_block"), scope.lines),
            *_filter_any(mine, lambda key: Q(memory_block_facts__has_key=key), scope.keys),
        )
    }
    Conversation.objects.filter(pk__in=blocks).update(memory_block=None, memory_block_facts={})
    scope.conversations.update(map(str, blocks))
    # Prepared compactions are discarded unread, which is cheaper than checking each.
    mine.filter(prepared__isnull=False).update(prepared=None)


def _wipe_reports(owner: User, scope: _PurgeScope) -> None:
    stored = PromptReport.objects.for_owner(owner).exclude(facts=[], left_out=[])
    for field in ("facts", "left_out"):
        reports = stored.annotate(listed=Cast(field, TextField()))
        changed = []
        for report in _filter_candidates(reports, "listed", scope.keys):
            listed = getattr(report, field)
            kept = [key for key in listed if key not in scope.keys]
            if len(kept) < len(listed):
                setattr(report, field, kept)
                changed.append(report)
        _save(changed, field)


def _wipe_extraction_runs(owner: User, scope: _PurgeScope) -> None:
    changed = []
    for run in ExtractionRun.objects.for_owner(owner).exclude(refused=[], error=""):
        kept = [
            r
            for r in run.refused
            if normalize_text(r["text"]) not in scope.texts and not scope.occurs_in(r["reason"])
        ]
        error = "" if scope.occurs_in(run.error) else run.error
        if len(kept) < len(run.refused) or error != run.error:
            run.refused, run.error = kept, error
            changed.append(run)
    _save(changed, "refused", "error")


def _wipe_events(owner: User, scope: _PurgeScope) -> None:
    """Remove the texts from the events of remaining facts: earlier texts and reasons."""
    events = FactEvent.objects.for_owner(owner).exclude(fact__in=scope.ids)
    stored: set[str] = set()
    for side in ("before__text", "after__text"):
        stored.update(text for text in events.order_by().values_list(side, flat=True).distinct() if text)
    stored = {text for text in stored if normalize_text(text) in scope.texts}
    changed = {
        event.pk: event
        for event in (
            *_filter_any(events, lambda text: Q(before__text=text) | Q(after__text=text), stored),
            *_filter_any(events.exclude(reason=""), lambda text: Q(reason__icontains=text), scope.wordings),
        )
    }
    for event in changed.values():
        for state in (event.before, event.after):
            if normalize_text(state.get("text") or "") in scope.texts:
                del state["text"]
        event.reason = "" if scope.occurs_in(event.reason) else event.reason
    _save(list(changed.values()), "before", "after", "reason")


def _wipe_quotes(owner: User, scope: _PurgeScope) -> None:
    """Remove the texts from the quotes of other facts: a fact may have been edited since."""
    others = Fact.objects.filter(owner=owner).exclude(pk__in=scope.ids).exclude(quote="")
    quoting = [fact.pk for fact in others.only("quote") if scope.occurs_in(fact.quote)]
    Fact.objects.filter(pk__in=quoting).update(quote="")


def _wipe_jobs(scope: _PurgeScope) -> None:
    settling = _filter_any(Job.objects.filter(kind="settle"), lambda key: Q(payload__fact=key), scope.keys)
    Job.objects.filter(pk__in=[job.pk for job in settling]).delete()
    failed = [job.pk for job in Job.objects.exclude(last_error="") if scope.occurs_in(job.last_error)]
    Job.objects.filter(pk__in=failed).update(last_error="")


def _save(rows: Sequence[Model], *fields: str) -> None:
    """Save changed rows, with one query for equal values: after a clear-all most are equal."""
    by_value: dict[str, list[Model]] = {}
    for row in rows:
        by_value.setdefault(json.dumps([getattr(row, field) for field in fields]), []).append(row)
    for same in by_value.values():
        values = {field: getattr(same[0], field) for field in fields}
        for start in range(0, len(same), _TERMS_PER_QUERY):
            keys = [row.pk for row in same[start : start + _TERMS_PER_QUERY]]
            type(same[0])._default_manager.filter(pk__in=keys).update(**values)


def _contains(field: str) -> Callable[[str], Q]:
    return lambda text: Q(**{f"{field}__contains": text})


def _filter_candidates(rows: QuerySet[Row], field: str, values: Collection[str]) -> Iterable[Row]:
    """Return rows that may contain a value: for many values all rows, which costs less than a search each."""
    return rows if len(values) > _MANY_VALUES else _filter_any(rows, _contains(field), values)


def _filter_any(rows: QuerySet[Row], condition: Callable[[str], Q], values: Collection[str]) -> list[Row]:
    """Return the rows that meet the condition for any of the values, in as few queries as possible."""
    found: dict[Any, Row] = {}
    ordered = sorted(values)
    for start in range(0, len(ordered), _TERMS_PER_QUERY):
        wanted = reduce(or_, map(condition, ordered[start : start + _TERMS_PER_QUERY]))
        found.update((row.pk, row) for row in rows.filter(wanted))
    return list(found.values())
