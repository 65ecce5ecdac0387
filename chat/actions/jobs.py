"""The durable job queue: requesting work, and the runner's changes to a job's row."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Min, Q
from django.db.models.functions import Least
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chat.llm.turns import Turns
from chat.models import Job
from chat.models.job import JobQuerySet
from memoryapp.base.message_bus import bus

from . import processes
from .owners import is_local

LEASE = timedelta(minutes=5)
MAX_ATTEMPTS = 5
PROCESS_ENDED = "job-ended-with-process"
# No job but a periodic one waits longer, not even for energy. A periodic job's dedupe key is its kind.
LONGEST_WAIT = timedelta(hours=2)
# A nightly job waits longest: a day, which has 25 hours once a year.
LONGEST_PERIODIC_WAIT = timedelta(hours=26)
# Priorities; smaller runs first. URGENT is work that the user requested and waits for.
URGENT, USUAL = 1, 5
# Kinds that complete a deletion; they can be neither cancelled nor given up.
DELETION_KINDS = frozenset({"finish_deletion", "free_caches", "discard", "tidy_index"})

# Job kinds that use the model in the background lane, with a description. No other kind waits for energy.
DEFERRABLE_KINDS = {
    "extract": _("reading messages"),
    "title": _("finding titles"),
    "prepare": _("summarizing long chats"),
    "pack_topic": _("archiving topics"),
    "app_memory": _("writing app memories"),
    "warm": _("reading prompts in advance"),
}
# Which owner had a turn when; a thread of the runner holds the lock while it chooses.
_turns, _turns_lock = Turns(), threading.Lock()
_EVERY_JOB = Q()

# Of a message to other processes: there is work.
WAKE = "wake-jobs"
_listeners: list[Callable[[], None]] = []


def add_enqueue_listener(listener: Callable[[], None]) -> None:
    """Call the listener after the commit of every request for work in this process."""
    _listeners.append(listener)


def remove_enqueue_listener(listener: Callable[[], None]) -> None:
    """Stop calling a listener."""
    _listeners.remove(listener)


def _call_listeners() -> None:
    # Workers elsewhere need not wait until they look.
    bus.publish(WAKE)
    for listener in _listeners:
        listener()


def enqueue(
    kind: str,
    payload: dict[str, Any],
    *,
    key: str | None = None,
    run_after: datetime | None = None,
    priority: int = USUAL,
    owner_id: int | None = None,
) -> None:
    """Request work in the caller's transaction; a request with the key of a waiting job joins that job.

    A joined job gets the new time and the more urgent of both priorities. `owner_id` is for whom the
    model works.
    """
    when = run_after or timezone.now()
    new = {"kind": kind, "payload": payload, "run_after": when, "priority": priority, "owner_id": owner_id}
    if key is None:
        Job.objects.create(**new)
    else:
        # A new request restarts a job that had failed for good.
        again = {"requests": F("requests") + 1, "run_after": when, "priority": Least("priority", priority)}
        again |= {"attempts": 0, "failed_at": None, "last_error": ""}
        again |= {} if owner_id is None else {"owner_id": owner_id}
        # Try the update first: most requests find a job, because each message requests the same two.
        if not Job.objects.filter(dedupe_key=key).update(**again):
            job, made = Job.objects.get_or_create(dedupe_key=key, defaults=new)
            if not made:
                Job.objects.filter(pk=job.pk).update(**again)
    # Last, because without a transaction the listeners are called at once.
    transaction.on_commit(_call_listeners)


@transaction.atomic
def claim(
    kinds: Collection[str],
    now: datetime,
    *,
    urgent: bool = False,
    but: Collection[int] = (),
    resting: Collection[int] = (),
) -> Job | None:
    """Lease the most urgent due job of these kinds for `LEASE`, so that no second runner takes it.

    With `urgent` only urgent ones. Jobs whose keys are in `but` are skipped, those that need energy of owners
    in `resting`, and those that another process is claiming at this moment. In server mode owners take turns.
    Returns None when there is none.
    """
    due = Job.objects.due(now).filter(kind__in=kinds).exclude(pk__in=but)
    due = due.without_resting(DEFERRABLE_KINDS, resting)
    due = due.urgent() if urgent else due
    # PostgreSQL locks the row, so that two processes never wait for each other here; SQLite has one writer.
    chosen = due if is_local() else _find_next_turn(due)
    job = chosen.select_for_update(skip_locked=True).first()
    if job is None:
        # Another process may be claiming the only job of the owner whose turn it is.
        job = due.select_for_update(skip_locked=True).first()
    if job is None:
        return None
    lease = {"lease_until": now + LEASE, "process": processes.get_current()}
    taken = Job.objects.due(now).filter(pk=job.pk).update(attempts=F("attempts") + 1, **lease)
    return Job.objects.get(pk=job.pk) if taken else None


@dataclass(frozen=True, slots=True)
class _Head:
    """The due jobs of one owner with the same priority, as one request for a turn."""

    lane: int
    owner: str
    ticket: int
    has_begun: bool = False


def _find_next_turn(due: JobQuerySet) -> JobQuerySet:
    """Return the most urgent of these jobs of the owner whose turn it is."""
    first = due.first()
    if first is None:
        return due
    equal = due.filter(priority=first.priority)
    owners = equal.order_by().values("owner_id").annotate(at=Min("run_after"), first=Min("pk"))
    heads = [
        _Head(first.priority, str(row["owner_id"]), place)
        for place, row in enumerate(owners.order_by("at", "first"))
    ]
    with _turns_lock:
        chosen = _turns.find_next(heads)
        if chosen is None:
            return due
        _turns.begin(chosen)
    return equal.filter(owner=None if chosen.owner == "None" else int(chosen.owner))


def is_due_or_running(kind: str, owner_id: int) -> bool:
    """Return whether a job of this kind and owner is due or running."""
    now = timezone.now()
    open_jobs = Job.objects.filter(Q(owner=owner_id) | Q(owner=None), kind=kind, failed_at__isnull=True)
    return open_jobs.filter(Q(run_after__lte=now) | Q(lease_until__gt=now)).exists()


def _leased_row(job: Job) -> JobQuerySet:
    """Return the row of a leased job; empty once the lease expired and another process took it."""
    return Job.objects.filter(pk=job.pk, lease_until=job.lease_until)


def renew_lease(job: Job, now: datetime) -> bool:
    """Extend the lease of a running job; returns False when another process has taken it."""
    until = now + LEASE
    if not _leased_row(job).update(lease_until=until):
        return False
    job.lease_until = until
    return True


def is_due(kinds: Collection[str], now: datetime) -> bool:
    """Return whether a job of these kinds could start now."""
    return Job.objects.due(now).filter(kind__in=kinds).exists()


def complete(job: Job, next_time: datetime | None = None) -> None:
    """Delete a finished job, or keep it for another run if it was requested again meanwhile.

    A periodic job is kept for its `next_time`.
    """
    same = _leased_row(job).filter(requests=job.requests)
    if next_time is not None:
        ended = same.update(lease_until=None, attempts=0, last_error="", run_after=next_time)
    else:
        ended = same.delete()[0]
    if not ended:
        _leased_row(job).update(lease_until=None, attempts=0)


def postpone(job: Job, until: datetime) -> None:
    """Put back a job that cannot start yet; this does not count as an attempt."""
    free = {"lease_until": None, "attempts": max(0, job.attempts - 1)}
    if not _leased_row(job).filter(requests=job.requests).update(run_after=until, **free):
        # It was requested again meanwhile, with a time of its own.
        _leased_row(job).update(**free)


def record_failure(job: Job, error: str, next_time: datetime | None = None) -> None:
    """Store the error and retry after a growing delay, at most `MAX_ATTEMPTS` times.

    A periodic job does not give up: it runs again at `next_time`.
    """
    now = timezone.now()
    kept: dict[str, Any] = {"lease_until": None, "last_error": error[:300]}
    again: dict[str, Any] = {"run_after": now + timedelta(seconds=5 * 2**job.attempts)}
    if job.attempts >= MAX_ATTEMPTS:
        again = {"failed_at": now} if next_time is None else {"run_after": next_time, "attempts": 0}
    if not _leased_row(job).filter(requests=job.requests).update(**kept, **again):
        # It was requested again while it ran: the new request has its own attempts and time.
        _leased_row(job).update(**kept)


def run_again(keys: Iterable[int], now: datetime) -> int:
    """Make these jobs due now, including failed ones; returns how many.

    A running job is not interrupted and runs once more afterwards.
    """
    fresh = {"run_after": now, "attempts": 0, "failed_at": None, "requests": F("requests") + 1}
    with transaction.atomic():
        count = Job.objects.filter(pk__in=list(keys)).update(**fresh)
        transaction.on_commit(_call_listeners)
    return count


def restart_failed(job: Job, payload: dict[str, Any], now: datetime) -> None:
    """Restart a job that has failed for good, with all its attempts and another payload."""
    fresh = {"run_after": now, "attempts": 0, "failed_at": None, "requests": F("requests") + 1}
    with transaction.atomic():
        Job.objects.filter(pk=job.pk, failed_at__isnull=False).update(payload=payload, **fresh)
        transaction.on_commit(_call_listeners)


def cancel(keys: Iterable[int], now: datetime) -> int:
    """Delete these jobs, except running ones and `DELETION_KINDS`; returns how many.

    Periodic jobs are created again at the next start.
    """
    with transaction.atomic():
        chosen = Job.objects.select_for_update().filter(pk__in=list(keys)).exclude(kind__in=DELETION_KINDS)
        idle = list(chosen.exclude(lease_until__gte=now).values_list("pk", flat=True))
        Job.objects.filter(pk__in=idle).delete()
    return len(idle)


def find_open_keys(keys: Iterable[str]) -> set[str]:
    """Return which of these keys have a job that has not failed for good."""
    rows = Job.objects.filter(dedupe_key__in=list(keys), failed_at__isnull=True)
    return {str(key) for key in rows.values_list("dedupe_key", flat=True)}


def repair_run_times(now: datetime) -> int:
    """Make jobs due that a wrong clock postponed for longer than any job waits; returns how many."""
    periodic = Q(dedupe_key=F("kind"), run_after__lte=now + LONGEST_PERIODIC_WAIT)
    return Job.objects.filter(run_after__gt=now + LONGEST_WAIT).exclude(periodic).update(run_after=now)


def make_all_due(now: datetime) -> int:
    """Make all waiting jobs due; one that runs too early postpones itself. Returns how many."""
    with transaction.atomic():
        count = Job.objects.filter(run_after__gt=now).update(run_after=now)
        transaction.on_commit(_call_listeners)
    return count


def release_leases(now: datetime, held: Q = _EVERY_JOB) -> int:
    """Release the leases of dead processes, which `held` chooses.

    A job during which the process ended `MAX_ATTEMPTS` times fails for good, because it may be the cause.
    Returns how many failed.
    """
    leased = Job.objects.filter(held, lease_until__isnull=False)
    fatal = leased.filter(attempts__gte=MAX_ATTEMPTS).exclude(kind__in=DELETION_KINDS)
    count = fatal.update(lease_until=None, failed_at=now, last_error=PROCESS_ENDED)
    leased.update(lease_until=None)
    return count
