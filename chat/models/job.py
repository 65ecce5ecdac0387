"""Durable background jobs, the usage of model calls, and the energy budget."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Case, F, Min, When
from django.utils import timezone


class JobQuerySet(models.QuerySet["Job"]):
    """Queries on jobs."""

    def due(self, now: object) -> JobQuerySet:
        """Return the jobs that may run at `now` and that no process holds, the most urgent first."""
        free = models.Q(lease_until__isnull=True) | models.Q(lease_until__lt=now)
        return self.filter(free, run_after__lte=now, failed_at__isnull=True).order_by(
            "priority", "run_after", "id"
        )

    def without_resting(self, kinds: Collection[str], owners: Collection[int]) -> JobQuerySet:
        """Return the jobs without those of these kinds and owners."""
        return self.exclude(kind__in=kinds, owner__in=owners) if owners else self

    def urgent(self) -> JobQuerySet:
        """Return the jobs that a user waits for."""
        return self.filter(priority__lt=Job.priority.field.default)

    def next_due(self) -> datetime | None:
        """Return when the earliest of these jobs may run (wall clock), None when there is none.

        Jobs that have failed for good are ignored.
        """
        held = Case(When(lease_until__gt=F("run_after"), then="lease_until"), default="run_after")
        waiting: dict[str, datetime | None] = self.filter(failed_at__isnull=True).aggregate(at=Min(held))
        return waiting["at"]


class Job(models.Model):
    """A unit of background work that survives a restart. The row is deleted when the job is done."""

    kind = models.CharField(max_length=30)
    # For whom the model works; NULL where that is nobody or several.
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
    )
    payload = models.JSONField(default=dict)
    # Requests with the same key are one job. NULL keys are never deduplicated.
    dedupe_key = models.CharField(max_length=120, null=True, blank=True, unique=True)
    # Counts requests: a request that comes while the job runs makes it run again.
    requests = models.PositiveIntegerField(default=1)
    run_after = models.DateTimeField(default=timezone.now)
    priority = models.SmallIntegerField(default=5)
    attempts = models.PositiveSmallIntegerField(default=0)
    lease_until = models.DateTimeField(null=True, blank=True)
    # The process that took the last lease.
    process = models.UUIDField(null=True, blank=True)
    last_error = models.CharField(max_length=300, blank=True)
    failed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = JobQuerySet.as_manager()

    class Meta:
        indexes: ClassVar = [models.Index(fields=["failed_at", "run_after", "priority"], name="job_due")]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"


class UsageRecord(models.Model):
    """One model call: its purpose, tokens, seconds and outcome."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    purpose = models.CharField(max_length=20)
    lane = models.CharField(max_length=12)
    prompt_tokens = models.PositiveIntegerField(default=0)
    cached_tokens = models.PositiveIntegerField(default=0)
    completion_tokens = models.PositiveIntegerField(default=0)
    # `seconds` is the time since the call was requested. `energy` is in units (a unit is one second of
    # background model time), 0 for calls that a user waits for.
    seconds = models.FloatField(default=0)
    energy = models.FloatField(default=0)
    # In which the model worked on the call, without those in which the call waited.
    worked = models.FloatField(default=0)
    outcome = models.CharField(max_length=20)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering: ClassVar = ["-created_at"]
        indexes: ClassVar = [models.Index(fields=["owner", "created_at"], name="usage_record_of_owner")]

    def __str__(self) -> str:
        return f"{self.purpose}: {self.outcome}"


class Energy(models.Model):
    """The energy budget of background work: one of each owner, in local mode one without an owner."""

    owner = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )

    # In units as of `measured_at`; one unit is one second of model time at background priority.
    level = models.FloatField(default=180)
    measured_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name_plural = "energy"

    def __str__(self) -> str:
        return f"{self.level:.0f} units at {self.measured_at:%H:%M}"
