"""Asks for durable work, and what the runner does to a job's row."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Least
from django.utils import timezone

from chat.models import Job
from chat.models.job import JobQuerySet

LEASE = timedelta(minutes=5)
MAX_ATTEMPTS = 5
ENDED_WITH_IT = "The program ended each time while this was at work."
# Nothing waits longer, not even for energy, but for what is periodic (its rows have their kind as key).
FAR = timedelta(hours=2)
# The night's work waits longest: for a day, which has 25 hours once a year.
FARTHEST = timedelta(hours=26)
# What the user has asked for and waits for goes before everything else.
URGENT, USUAL = 1, 5
# What these do was promised when something was deleted: nothing may stay behind.
PROMISED = frozenset({"finish_deletion", "free_caches", "discard", "tidy_index"})

_listeners: list[Callable[[], None]] = []


def on_enqueue(listener: Callable[[], None]) -> None:
    """Call the listener whenever work is asked for in this process, once that has committed."""
    _listeners.append(listener)


def off_enqueue(listener: Callable[[], None]) -> None:
    """Call the listener no more."""
    _listeners.remove(listener)


def _tell() -> None:
    for listener in _listeners:
        listener()


def enqueue(
    kind: str,
    payload: dict[str, Any],
    *,
    key: str | None = None,
    run_after: datetime | None = None,
    priority: int = USUAL,
) -> None:
    """Ask for work in the caller's transaction; a second request with the same key joins the first."""
    when = run_after or timezone.now()
    new = {"kind": kind, "payload": payload, "run_after": when, "priority": priority}
    if key is None:
        Job.objects.create(**new)
    else:
        # A job that had given up gets a new chance with the new request.
        again = {"requests": F("requests") + 1, "run_after": when, "priority": Least("priority", priority)}
        again |= {"attempts": 0, "failed_at": None, "last_error": ""}
        # Mostly there is one already: each message asks for the same two.
        if not Job.objects.filter(dedupe_key=key).update(**again):
            job, made = Job.objects.get_or_create(dedupe_key=key, defaults=new)
            if not made:
                Job.objects.filter(pk=job.pk).update(**again)
    # Last: without a transaction around this it is called at once.
    transaction.on_commit(_tell)


@transaction.atomic
def claim(
    kinds: Collection[str], now: datetime, *, urgent: bool = False, but: Collection[int] = ()
) -> Job | None:
    """Take the most urgent due job of these kinds for `LEASE`, so that no second runner does.

    With `urgent` only what the user waits for, and none of those whose keys are in `but`.
    """
    due = Job.objects.due(now).filter(kind__in=kinds).exclude(pk__in=but)
    job = (due.urgent() if urgent else due).first()
    if job is None:
        return None
    taken = Job.objects.due(now).filter(pk=job.pk).update(lease_until=now + LEASE, attempts=F("attempts") + 1)
    return Job.objects.get(pk=job.pk) if taken else None


def is_wanted(kind: str) -> bool:
    """Return whether work of a kind is due or running now."""
    now = timezone.now()
    open_jobs = Job.objects.filter(kind=kind, failed_at__isnull=True)
    return open_jobs.filter(Q(run_after__lte=now) | Q(lease_until__gt=now)).exists()


def _ours(job: Job) -> JobQuerySet:
    """Return the row of a claimed job, nothing once its lease ran out and another process took it."""
    return Job.objects.filter(pk=job.pk, lease_until=job.lease_until)


def renew(job: Job, now: datetime) -> bool:
    """Prolong the lease of a job at work; False when it is not ours any more."""
    until = now + LEASE
    if not _ours(job).update(lease_until=until):
        return False
    job.lease_until = until
    return True


def is_due(kinds: Collection[str], now: datetime) -> bool:
    """Return whether work of these kinds could begin now."""
    return Job.objects.due(now).filter(kind__in=kinds).exists()


def done(job: Job, next_time: datetime | None = None) -> None:
    """Remove a finished job, unless it was asked for again while it ran: then it runs once more.

    The row of periodic work stays and waits for its `next_time`.
    """
    same = _ours(job).filter(requests=job.requests)
    if next_time is not None:
        ended = same.update(lease_until=None, attempts=0, last_error="", run_after=next_time)
    else:
        ended, _ = same.delete()
    if not ended:
        _ours(job).update(lease_until=None, attempts=0)


def postpone(job: Job, until: datetime) -> None:
    """Put a job back that could not begin yet; that is not a failed attempt."""
    free = {"lease_until": None, "attempts": max(0, job.attempts - 1)}
    if not _ours(job).filter(requests=job.requests).update(run_after=until, **free):
        # It was asked for again meanwhile, which has its own time.
        _ours(job).update(**free)


def failed(job: Job, error: str, next_time: datetime | None = None) -> None:
    """Keep the error, and try again later with growing pauses, at most `MAX_ATTEMPTS` times.

    Periodic work does not give up after that: it runs again at its `next_time`.
    """
    now = timezone.now()
    kept: dict[str, Any] = {"lease_until": None, "last_error": error[:300]}
    again: dict[str, Any] = {"run_after": now + timedelta(seconds=5 * 2**job.attempts)}
    if job.attempts >= MAX_ATTEMPTS:
        again = {"failed_at": now} if next_time is None else {"run_after": next_time, "attempts": 0}
    if not _ours(job).filter(requests=job.requests).update(**kept, **again):
        # It was asked for again while it ran: the new request has its own attempts and its own time.
        _ours(job).update(**kept)


def run_again(keys: Iterable[int], now: datetime) -> int:
    """Have these jobs run as soon as may be, also those that had given up; returns how many.

    One that runs now is left alone and runs once more after that.
    """
    fresh = {"run_after": now, "attempts": 0, "failed_at": None, "requests": F("requests") + 1}
    with transaction.atomic():
        count = Job.objects.filter(pk__in=list(keys)).update(**fresh)
        transaction.on_commit(_tell)
    return count


def begin_anew(job: Job, payload: dict[str, Any], now: datetime) -> None:
    """Give a job that has given up all its attempts again, with another payload."""
    fresh = {"run_after": now, "attempts": 0, "failed_at": None, "requests": F("requests") + 1}
    with transaction.atomic():
        Job.objects.filter(pk=job.pk, failed_at__isnull=False).update(payload=payload, **fresh)
        transaction.on_commit(_tell)


def cancel(keys: Iterable[int], now: datetime) -> int:
    """Take these jobs off the list, but for those that run now and those in `PROMISED`; returns how many.

    Periodic work comes back at the next start.
    """
    with transaction.atomic():
        chosen = Job.objects.select_for_update().filter(pk__in=list(keys)).exclude(kind__in=PROMISED)
        idle = list(chosen.exclude(lease_until__gte=now).values_list("pk", flat=True))
        Job.objects.filter(pk__in=idle).delete()
    return len(idle)


def known_keys(keys: Iterable[str]) -> set[str]:
    """Return which of these keys have a job that has not given up."""
    rows = Job.objects.filter(dedupe_key__in=list(keys), failed_at__isnull=True)
    return {str(key) for key in rows.values_list("dedupe_key", flat=True)}


def mend_times(now: datetime) -> int:
    """Make jobs due that a wrong clock has put off for longer than any work waits; returns how many."""
    periodic = Q(dedupe_key=F("kind"), run_after__lte=now + FARTHEST)
    return Job.objects.filter(run_after__gt=now + FAR).exclude(periodic).update(run_after=now)


def make_due(now: datetime) -> int:
    """Have all that waits looked at now; what comes too early says so and waits on. Returns how many."""
    with transaction.atomic():
        count = Job.objects.filter(run_after__gt=now).update(run_after=now)
        transaction.on_commit(_tell)
    return count


def release_leases(now: datetime) -> int:
    """Free what a killed process held; only the process that holds the engine's lock may call it.

    A job at which the process ended `MAX_ATTEMPTS` times gives up: it may be what ends it. Returns how many
    did.
    """
    held = Job.objects.filter(lease_until__isnull=False)
    fatal = held.filter(attempts__gte=MAX_ATTEMPTS).exclude(kind__in=PROMISED)
    count = fatal.update(lease_until=None, failed_at=now, last_error=ENDED_WITH_IT)
    held.update(lease_until=None)
    return count
