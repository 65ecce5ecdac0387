"""Which processes live on this database, and which of them this one is.

Each server and each worker has a row. Where several processes share the database (PostgreSQL), a row is
renewed every few seconds by the database's clock, and one that is not renewed belongs to a dead process. With
SQLite one process at a time holds the engine's lock, so whoever holds it knows that the others are dead.

What a process holds (replies, leases of jobs, imports) carries its key. `chat.actions.recovery` frees what
belongs to a key without a row.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psutil
from django.conf import settings
from django.db import connection, transaction
from django.db.models import DateTimeField, ExpressionWrapper, Q
from django.db.models.functions import Now

from chat.models import Process, ProcessKind

logger = logging.getLogger(__name__)

# Stands for every conversation in `Process.caches_to_free`.
ALL_CACHES = "*"
_current: UUID | None = None
_kind, _runs_jobs = ProcessKind.SERVE, False
# Since when the row of this process has been renewed in time, and the last time; `time.monotonic`.
_in_time_since = _renewed_at = 0.0


def is_database_shared() -> bool:
    """Return whether other processes may use this database at the same time, as with PostgreSQL."""
    return connection.vendor != "sqlite"


def get_current() -> UUID | None:
    """Return the key of this process; None where it has no row, as a command that ends by itself."""
    return _current


def enter(kind: ProcessKind, *, runs_jobs: bool) -> UUID:
    """Give this process a row; before it takes anything, and once in its life."""
    global _current, _kind, _runs_jobs, _in_time_since, _renewed_at
    _current, _kind, _runs_jobs = uuid4(), kind, runs_jobs
    _in_time_since = _renewed_at = time.monotonic()
    _insert(_current)
    return _current


def leave() -> None:
    """Remove the row of this process; the last thing that it does. What it still holds is recovered."""
    global _current
    if _current is not None:
        Process.objects.filter(pk=_current).delete()
        _current = None


def renew(open_conversations: Sequence[str]) -> None:
    """Say that this process lives, and which conversations are open in a page of it. One query.

    Where the others took it for dead, because it was stopped for a while, it gets a row again. What it held
    has been recovered, and its replies notice that at their next checkpoint. Nobody told it which texts were
    deleted meanwhile, so it must free all its caches.
    """
    if _current is None:
        return
    seen = {"seen_at": Now(), "open_conversations": list(open_conversations)}
    if not Process.objects.filter(pk=_current).update(**seen):
        logger.warning("this process was taken for dead, because the database has not heard of it for long")
        _insert(_current, open_conversations, [ALL_CACHES])
    _note_renewal()


def list_caches_to_free() -> list[str]:
    """Return the conversations whose texts this process must remove from its caches; among them ALL_CACHES
    where it must free them all.
    """
    row = _find_own().only("caches_to_free").first()
    return [] if row is None else list(row.caches_to_free)


def record_freed_caches(conversations: Sequence[str]) -> None:
    """Note that the texts of these conversations are in no cache of this process any more."""
    with transaction.atomic():
        for row in _find_own().select_for_update():
            row.caches_to_free = sorted({*row.caches_to_free} - {*conversations})
            row.save(update_fields=["caches_to_free"])


def let_others_free_caches(conversations: Sequence[str]) -> None:
    """Ask all other processes to remove the texts of these conversations from their caches."""
    if not is_database_shared():
        return
    with transaction.atomic():
        others = list(find_others().select_for_update().order_by("pk"))
        for row in others:
            row.caches_to_free = sorted({*row.caches_to_free, *conversations})
        Process.objects.bulk_update(others, ["caches_to_free"])


def is_open_elsewhere(conversation: str) -> bool:
    """Return whether a conversation is open in a page of another process."""
    if not is_database_shared():
        return False
    return any(conversation in row.open_conversations for row in find_others().only("open_conversations"))


def find_others() -> Any:
    """Return the rows of the other processes; some of them may be dead and not found yet."""
    return Process.objects.all() if _current is None else Process.objects.exclude(pk=_current)


def _find_own() -> Any:
    return Process.objects.none() if _current is None else Process.objects.filter(pk=_current)


def is_alone() -> bool:
    """Return whether no other process has a row."""
    return not find_others().exists()


def find_living() -> Any:
    """Return the rows of the processes that live: of those that have been heard of lately."""
    rows = Process.objects.all()
    return rows.exclude(seen_at__lt=_silent_since()) if is_database_shared() else rows


def has_job_runner() -> bool:
    """Return whether any living process on this database runs background work."""
    return bool(find_living().filter(runs_jobs=True).exists())


def _note_renewal() -> None:
    """Note that the database has heard of this process; a gap means that it could not be reached."""
    global _in_time_since, _renewed_at
    now = time.monotonic()
    if now - _renewed_at > get_dead_after().total_seconds() / 2:
        _in_time_since = now
    _renewed_at = now


def _can_judge_silence() -> bool:
    """Return whether the database could be reached for so long that a silent process has no excuse.

    After an outage of the database the rows of all processes are old, and the first one that reaches it again
    must not take the others for dead.
    """
    return time.monotonic() - _in_time_since >= get_dead_after().total_seconds()


def remove_dead() -> list[Process]:
    """Delete the rows of dead processes and return them; in the caller's transaction.

    Where two processes find the same row, one of them gets it. With SQLite the caller holds the engine's
    lock, which proves that all others are dead.
    """
    which = Q()
    if is_database_shared():
        which = Q(pk__in=[row.pk for row in find_others() if _has_ended(row)])
        if _can_judge_silence():
            which |= Q(seen_at__lt=_silent_since())
    dead = list(find_others().select_for_update(skip_locked=True).filter(which))
    Process.objects.filter(pk__in=[row.pk for row in dead]).delete()
    return dead


def get_dead_after() -> timedelta:
    """Return after which silence a process counts as dead."""
    return timedelta(seconds=settings.PROCESS_DEAD_SECONDS)


def _silent_since() -> Any:
    """Return a time by the database's clock; a process that was last heard of before it counts as dead."""
    return ExpressionWrapper(Now() - get_dead_after(), output_field=DateTimeField())


def without_holder(*, at_start: bool = False) -> Q:
    """Return the condition of rows that a process without a row holds.

    `at_start`: where this process is alone, also of rows without a key, which are of a former version.
    """
    gone = Q(process__isnull=False) & ~Q(process__in=Process.objects.order_by().values("pk"))
    return gone | Q(process__isnull=True) if at_start and is_alone() else gone


def _insert(key: UUID, open_conversations: Sequence[str] = (), caches_to_free: Sequence[str] = ()) -> None:
    Process.objects.create(
        pk=key,
        kind=_kind,
        host=socket.gethostname()[:255],
        boot=_read_boot(),
        pid=os.getpid(),
        pid_started=_read_start(os.getpid()),
        runs_jobs=_runs_jobs,
        open_conversations=list(open_conversations),
        caches_to_free=list(caches_to_free),
        started_at=Now(),
        seen_at=Now(),
    )


def _has_ended(row: Process) -> bool:
    """Return whether the process of a row has certainly ended: it ran on this system, and is gone."""
    if not row.boot or (row.host, row.boot) != (socket.gethostname()[:255], _read_boot()):
        return False
    try:
        is_zombie = psutil.Process(row.pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
    except psutil.Error:
        return False
    return is_zombie or _read_start(row.pid) not in ("", row.pid_started)


def _read_boot() -> str:
    """Return what tells this boot and this container from others, "" where the system does not say."""
    if sys.platform != "linux":
        return ""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').stat().st_ino}"[:80]
    return ""


def _read_start(pid: int) -> str:
    """Return when the system started a process, in ticks since its boot; "" where that is unknown."""
    with suppress(OSError, IndexError):
        # The name before it, in brackets, may contain blanks.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return ""
