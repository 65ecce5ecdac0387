"""Handlers of short maintenance work: deletions, the graph, imports, the search index, nightly work."""

import logging
from datetime import timedelta
from typing import Any

from django.utils import timezone

from chat.actions import (
    deletions,
    graph,
    importing,
    indexing,
    jobs,
    kept_out,
)
from chat.llm.registry import registry
from chat.models import Deletion
from chat.models.connections import empty_write_ahead_log
from memoryapp.base.machine import return_free_memory

from . import schedule
from .registry import Postpone, handles

_NEXT_CHECKPOINT = timedelta(seconds=10)

logger = logging.getLogger(__name__)


@handles("finish_deletion", quick=True)
def finish_deletion(payload: dict[str, Any]) -> None:
    """Delete for good what was not undone before the deadline.

    Raises Postpone while it can still be undone.
    """
    now, key = timezone.now(), payload["deletion"]
    if not deletions.finish_deletion(key, now) and (due := deletions.find_finish_time(key)) is not None:
        raise Postpone(due)


@handles("mark_forgotten", slow=True, model=False)
def mark_forgotten(payload: dict[str, Any]) -> None:
    """Mark the sentences of all messages that say facts which are being deleted."""
    found = Deletion.objects.select_related("owner").filter(pk=payload["deletion"]).first()
    if found is not None:
        kept_out.mark_everywhere(found, registry.embedder())


@handles("catch_up_graph", quick=True)
def catch_up_graph(payload: dict[str, Any]) -> None:
    """Add facts to the graph that are not in it yet, one batch each run."""
    last = graph.backfill_graph(payload.get("after"))
    if last is not None:
        jobs.enqueue("catch_up_graph", {"after": last})


@handles("finish_import", quick=True)
def finish_import(payload: dict[str, Any]) -> None:
    """Complete an import that was interrupted after its rows became visible."""
    importing.finish_import(payload["owner"], payload["facts"])


@handles(schedule.NIGHTLY, quick=True, again=schedule.next_night_of_any_owner)
def run_nightly_work(payload: dict[str, Any]) -> None:
    """Run decay, empty the archive and prune old conversations of all owners; return free memory."""
    schedule.run_nightly(timezone.now())
    return_free_memory()


@handles("sweep_deletions", quick=True, again=schedule.next_sweep)
def sweep_deletions(payload: dict[str, Any]) -> None:
    """Finish deletions whose own job was lost or failed, and remove what interrupted imports left."""
    deletions.finish_overdue_deletions(timezone.now())
    importing.remove_abandoned_imports()
    importing.remove_old_uploads()


@handles("sweep_graph", quick=True, again=schedule.next_sweep)
def sweep_graph(payload: dict[str, Any]) -> None:
    """Request the job that adds missing facts to the graph."""
    jobs.enqueue("catch_up_graph", {}, key="catch_up_graph")


_CHATS = 25  # conversations whose messages are read in one query


@handles("sweep_index", slow=True, model=False, again=schedule.next_sweep)
def sweep_index(payload: dict[str, Any]) -> None:
    """Add messages to the full text index that are not in it, such as imported ones; the newest conversations
    first.
    """
    keys = list(indexing.find_unindexed_conversations().values_list("pk", flat=True))
    filled = sum(indexing.fill_index(keys[start : start + _CHATS]) for start in range(0, len(keys), _CHATS))
    if filled > indexing.BATCH:
        # After many inserts the index consists of many segments; one segment is read faster.
        indexing.merge_index()


@handles("tidy_index", slow=True, model=False)
def tidy_index(payload: dict[str, Any]) -> None:
    """Compact the full text index and empty the write-ahead log, so that deleted words leave all files.

    Raises Postpone while somebody reads a state from before.
    """
    indexing.merge_index()
    if not empty_write_ahead_log():
        raise Postpone(timezone.now() + _NEXT_CHECKPOINT)
