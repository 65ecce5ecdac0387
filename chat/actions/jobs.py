"""Asks for durable work, and what the runner does to a job's row."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from chat.models import Job

LEASE = timedelta(minutes=5)
MAX_ATTEMPTS = 5

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
    kind: str, payload: dict[str, Any], *, key: str | None = None, run_after: datetime | None = None
) -> None:
    """Ask for work in the caller's transaction; a second request with the same key joins the first."""
    when = run_after or timezone.now()
    if key is None:
        Job.objects.create(kind=kind, payload=payload, run_after=when)
    else:
        # A job that had given up gets a new chance with the new request.
        again = {"requests": F("requests") + 1, "run_after": when}
        again |= {"attempts": 0, "failed_at": None, "last_error": ""}
        # Mostly there is one already: each message asks for the same two.
        if not Job.objects.filter(dedupe_key=key).update(**again):
            job, made = Job.objects.get_or_create(
                dedupe_key=key, defaults={"kind": kind, "payload": payload, "run_after": when}
            )
            if not made:
                Job.objects.filter(pk=job.pk).update(**again)
    # Last: without a transaction around this it is called at once.
    transaction.on_commit(_tell)


@transaction.atomic
def claim(kinds: Collection[str], now: datetime) -> Job | None:
    """Take the most urgent due job of these kinds for `LEASE`, so that no second runner does."""
    job = Job.objects.due(now).filter(kind__in=kinds).first()
    if job is None:
        return None
    taken = Job.objects.due(now).filter(pk=job.pk).update(lease_until=now + LEASE, attempts=F("attempts") + 1)
    return Job.objects.get(pk=job.pk) if taken else None


def is_wanted(kind: str) -> bool:
    """Return whether work of a kind is due or running now."""
    now = timezone.now()
    open_jobs = Job.objects.filter(kind=kind, failed_at__isnull=True)
    return open_jobs.filter(Q(run_after__lte=now) | Q(lease_until__gt=now)).exists()


def done(job: Job) -> None:
    """Remove a finished job, unless it was asked for again while it ran: then it runs once more."""
    gone, _ = Job.objects.filter(pk=job.pk, requests=job.requests).delete()
    if not gone:
        Job.objects.filter(pk=job.pk).update(lease_until=None, attempts=0)


def postpone(job: Job, until: datetime) -> None:
    """Put a job back that could not begin yet; that is not a failed attempt."""
    free = {"lease_until": None, "attempts": max(0, job.attempts - 1)}
    if not Job.objects.filter(pk=job.pk, requests=job.requests).update(run_after=until, **free):
        # It was asked for again meanwhile, which has its own time.
        Job.objects.filter(pk=job.pk).update(**free)


def failed(job: Job, error: str) -> None:
    """Keep the error, and try again later with growing pauses, at most `MAX_ATTEMPTS` times."""
    now = timezone.now()
    given_up = now if job.attempts >= MAX_ATTEMPTS else None
    pause = timedelta(seconds=5 * 2**job.attempts)
    same = Job.objects.filter(pk=job.pk, requests=job.requests)
    if not same.update(lease_until=None, run_after=now + pause, last_error=error[:300], failed_at=given_up):
        # It was asked for again while it ran: the new request has its own attempts and its own time.
        Job.objects.filter(pk=job.pk).update(lease_until=None, last_error=error[:300])


def release_leases() -> int:
    """Free what a killed process held; only the process that holds the engine's lock may call it."""
    return Job.objects.filter(lease_until__isnull=False).update(lease_until=None)
