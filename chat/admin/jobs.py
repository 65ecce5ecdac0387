"""Background jobs (run again, cancel), usage of the model, and the energy budgets."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from chat.actions import jobs
from chat.models import ClockReading, Energy, Job, UsageRecord

from .base import ReadOnly


class JobStateFilter(admin.SimpleListFilter):
    """Filters jobs by state."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return value and label of the states."""
        return [("running", "running"), ("due", "due"), ("later", "later"), ("failed", "given up")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        """Keep the jobs of the chosen state."""
        now, open_jobs = timezone.now(), queryset.filter(failed_at__isnull=True)
        if self.value() == "failed":
            return queryset.filter(failed_at__isnull=False)
        if self.value() == "running":
            return open_jobs.filter(lease_until__gte=now)
        waiting = open_jobs.exclude(lease_until__gte=now)
        if self.value() == "due":
            return waiting.filter(run_after__lte=now)
        return waiting.filter(run_after__gt=now) if self.value() == "later" else queryset


@admin.register(Job)
class JobAdmin(ReadOnly):
    """Jobs by the time at which they run."""

    holds_contents = False
    list_display = (
        "kind",
        "state",
        "about",
        "run_after",
        "attempts",
        "lease_until",
        "failed_at",
        "last_error",
    )
    list_filter = (JobStateFilter, "kind")
    search_fields = ("kind", "dedupe_key", "last_error")
    date_hierarchy = "run_after"
    ordering = ("run_after", "id")
    actions = ("run_again", "cancel")
    fields = (
        *("kind", "state", "payload_shown", "dedupe_key", "run_after", "priority", "attempts", "lease_until"),
        *("failed_at", "last_error", "requests", "created_at"),
    )

    def has_operate_permission(self, request: HttpRequest) -> bool:
        """Return whether the user may run and cancel jobs: the permission to change them."""
        return request.user.has_perm("chat.change_job")

    @admin.display(description="state")
    def state(self, job: Job) -> str:
        """Return the state of the job."""
        now = timezone.now()
        if job.failed_at:
            return "given up"
        if job.lease_until and job.lease_until >= now:
            return "running"
        return "due" if job.run_after <= now else "later"

    @admin.display(description="about")
    def about(self, job: Job) -> str:
        """Return the payload in one line, with long keys shortened."""
        return ", ".join(f"{name} {_shorten(value)}" for name, value in job.payload.items())[:80]

    @admin.display(description="payload")
    def payload_shown(self, job: Job) -> SafeString:
        """Return the payload as indented JSON."""
        return format_html("<pre>{}</pre>", json.dumps(job.payload, indent=2, ensure_ascii=False))

    @admin.action(description="Run again", permissions=["operate"])
    def run_again(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        """Run the chosen jobs as soon as possible; a running one runs again afterwards."""
        count = jobs.run_again(queryset.values_list("pk", flat=True), timezone.now())
        self.message_user(request, f"{count} will run now.", messages.SUCCESS)

    @admin.action(description="Cancel", permissions=["operate"])
    def cancel(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        """Delete the chosen jobs, except running ones and those that finish a deletion."""
        chosen = queryset.count()
        count = jobs.cancel(queryset.values_list("pk", flat=True), timezone.now())
        if count:
            self.message_user(request, f"{count} cancelled.", messages.SUCCESS)
        if left := chosen - count:
            self.message_user(
                request,
                f"{left} cannot be cancelled: they run now, or they finish what was deleted.",
                messages.WARNING,
            )


def _shorten(value: Any) -> str:
    """Return a value shortened for the list."""
    text = str(value)
    return text if len(text) <= 12 else f"{text[:8]}…"


@admin.register(UsageRecord)
class UsageRecordAdmin(ReadOnly):
    """One row for each model call."""

    holds_contents = False
    list_display = (
        *("created_at", "purpose", "lane", "owner", "prompt_tokens", "cached_tokens", "completion_tokens"),
        *("seconds", "worked", "energy", "outcome"),
    )
    list_filter = ("purpose", "lane", "outcome", "owner")
    list_select_related = ("owner",)
    date_hierarchy = "created_at"


@admin.register(ClockReading)
class ClockReadingAdmin(ReadOnly):
    """What the program has seen of the machine's clock; one row."""

    holds_contents = False
    list_display = ("read_at", "steady_since")
    date_hierarchy = "read_at"


@admin.register(Energy)
class EnergyAdmin(ReadOnly):
    """The energy budgets of background work: one for each person in server mode, one in all in local mode."""

    holds_contents = False
    list_display = ("__str__", "owner", "level", "measured_at")
    list_select_related = ("owner",)
    date_hierarchy = "measured_at"
