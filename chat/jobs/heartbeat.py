"""Says every few seconds that this process lives, and follows what the other processes on the database do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from chat.actions import processes, provider, recovery
from chat.generation import run as generation
from chat.generation.hub import hub
from chat.models import ProcessKind

from .periodic import run_periodically
from .prompts import free_own_caches, start_warming

# Renewals that fit into the time after which a process is taken for dead.
_RENEWALS = 6


@contextmanager
def live_as(kind: ProcessKind, *, runs_jobs: bool) -> Iterator[None]:
    """Give this process a row until the block ends.

    Where other processes can use the database, two threads renew the row and recover what others leave.
    """
    processes.enter(kind, runs_jobs=runs_jobs)
    try:
        if not processes.is_database_shared():
            yield
            return
        pause = processes.get_dead_after().total_seconds() / _RENEWALS
        # The row is renewed by a thread of its own, which nothing keeps waiting.
        with (
            run_periodically("heartbeat", pause, announce_pages, keep_connection=True),
            run_periodically("other-processes", pause, follow_others),
        ):
            yield
    finally:
        processes.leave()


def announce_pages() -> None:
    """Say that this process lives, and which conversations are open in its pages."""
    hub.keep_texts()
    processes.renew(hub.list_watched())


def follow_others() -> None:
    """Do what the other processes ask of this one, recover what dead ones held, and use the chosen model."""
    if found := processes.list_caches_to_free():
        free_own_caches(found)
        processes.record_freed_caches(found)
    recovery.recover_dead()
    # Their conversations accept messages again at every process.
    generation.save_unsaved_ends()
    if provider.follow_choice():
        start_warming()
