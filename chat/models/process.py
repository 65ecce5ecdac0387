"""What the processes on one database must know of each other: which of them live, and what they share."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils import timezone

from .base import OwnedModel, OwnedQuerySet, UUIDModel


class ProcessKind(models.TextChoices):
    """The command that a process runs."""

    SERVE = "serve", "serve"
    RUN_JOBS = "run_jobs", "run_jobs"


class Process(UUIDModel):
    """A running process; the row is deleted when the process ends or is found dead.

    Replies, leases of jobs and imports carry the key of the process that holds them. Those whose key has no
    row here are recovered by another process.
    """

    kind = models.CharField(max_length=10, choices=ProcessKind)
    # Name of the machine, and what tells its boots and containers apart ("" where the system does not say).
    host = models.CharField(max_length=255)
    boot = models.CharField(max_length=80, blank=True)
    pid = models.PositiveIntegerField()
    # When the process started, by the count of its system, which uses the numbers of processes again.
    pid_started = models.CharField(max_length=40, blank=True)
    runs_jobs = models.BooleanField(default=False)
    # Keys of the conversations that are open in a page of this process.
    open_conversations = models.JSONField(default=list, blank=True)
    # Keys of conversations whose texts this process must remove from its caches; "*" for all of them.
    caches_to_free = models.JSONField(default=list, blank=True)
    # By the clock of the database.
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar = ["started_at"]
        verbose_name_plural = "processes"

    def __str__(self) -> str:
        return f"{self.kind}, process {self.pid} on {self.host}"


class Installation(models.Model):
    """What all processes on this database share; one row."""

    # A keyed hash, by which a process with another secret key is recognised.
    key_fingerprint = models.CharField(max_length=64, blank=True)
    # In server mode the chosen model server, encrypted with the secret key; "" for none.
    model_server = models.TextField(blank=True)
    # Counts the choices, so that each process notices a new one.
    model_server_version = models.PositiveIntegerField(default=0)
    changed_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"installation, changed at {self.changed_at:%Y-%m-%d %H:%M}"


class ImportUpload(OwnedModel):
    """An uploaded file between dry run and import, where several processes must find it."""

    size = models.PositiveBigIntegerField()
    # The process that reads it now.
    process = models.UUIDField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = OwnedQuerySet["ImportUpload"].as_manager()

    def __str__(self) -> str:
        return f"{self.size} bytes"


class ImportUploadPart(models.Model):
    """A block of an uploaded file; all but the last have the same size."""

    upload = models.ForeignKey(ImportUpload, on_delete=models.CASCADE, related_name="parts")
    number = models.PositiveIntegerField()
    content = models.BinaryField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["upload", "number"], name="one_upload_part_a_place"),
        ]

    def __str__(self) -> str:
        return f"part {self.number}"
