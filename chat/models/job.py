"""Durable background work, and what each model call cost."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Case, F, Min, When
from django.utils import timezone


class JobQuerySet(models.QuerySet["Job"]):
    """Reads of jobs."""

    def due(self, now: object) -> JobQuerySet:
        """Return jobs that may run and that no one holds, the most urgent first."""
        free = models.Q(lease_until__isnull=True) | models.Q(lease_until__lt=now)
        return self.filter(free, run_after__lte=now, failed_at__isnull=True).order_by(
            "priority", "run_after", "id"
        )

    def urgent(self) -> JobQuerySet:
        """Return those that the user waits for."""
        return self.filter(priority__lt=Job.priority.field.default)

    def next_due(self) -> datetime | None:
        """Return when the earliest of these jobs may run, None when none ever will by itself."""
        held = Case(When(lease_until__gt=F("run_after"), then="lease_until"), default="run_after")
        waiting: dict[str, datetime | None] = self.filter(failed_at__isnull=True).aggregate(at=Min(held))
        return waiting["at"]


class Job(models.Model):
    """A piece of work that outlives the process; its row goes when it is done."""

    kind = models.CharField(max_length=30)
    payload = models.JSONField(default=dict)
    # Two requests for the same work are one job: a NULL key is never deduplicated.
    dedupe_key = models.CharField(max_length=120, null=True, blank=True, unique=True)
    # Counts requests, so that one that comes while the job runs is not lost with it.
    requests = models.PositiveIntegerField(default=1)
    run_after = models.DateTimeField(default=timezone.now)
    priority = models.SmallIntegerField(default=5)
    attempts = models.PositiveSmallIntegerField(default=0)
    lease_until = models.DateTimeField(null=True, blank=True)
    last_error = models.CharField(max_length=300, blank=True)
    failed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = JobQuerySet.as_manager()

    class Meta:
        indexes: ClassVar = [models.Index(fields=["failed_at", "run_after", "priority"], name="job_due")]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"


class UsageRecord(models.Model):
    """One model call: what for, how many tokens, how long, and how it ended."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    purpose = models.CharField(max_length=20)
    lane = models.CharField(max_length=12)
    prompt_tokens = models.PositiveIntegerField(default=0)
    cached_tokens = models.PositiveIntegerField(default=0)
    completion_tokens = models.PositiveIntegerField(default=0)
    # Seconds from when it was asked for, and units of energy (design §5): none where the user waited for it.
    seconds = models.FloatField(default=0)
    energy = models.FloatField(default=0)
    outcome = models.CharField(max_length=20)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering: ClassVar = ["-created_at"]
        indexes: ClassVar = [models.Index(fields=["owner", "created_at"], name="usage_record_of_owner")]

    def __str__(self) -> str:
        return f"{self.purpose}: {self.outcome}"


class Energy(models.Model):
    """What background work may still take of the model; one row, for a machine has one engine."""

    # Units, each a second of model time in the background lane, as of `measured_at`.
    level = models.FloatField(default=180)
    measured_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name_plural = "energy"

    def __str__(self) -> str:
        return f"{self.level:.0f} units at {self.measured_at:%H:%M}"
