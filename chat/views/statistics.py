"""The statistics page, the energy gauge in the sidebar, and the metrics endpoint for Prometheus."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext_lazy as lazy
from django.views.decorators.http import require_GET

from chat.access import HtmxHttpRequest, is_asked_by_owner
from chat.actions import energy
from chat.actions.owners import time_zone_from
from chat.models import User
from chat.statistics import pictures
from chat.statistics.charts import percent
from chat.statistics.metrics import render_metrics
from chat.statistics.pictures import describe_energy, describe_purpose
from chat.statistics.span import Span, SpanName
from chat.statistics.usage import UsageSummary, count_usage

_SPANS: dict[SpanName, Any] = {"day": lazy("24 hours"), "month": lazy("30 days")}
_EXTRACTION_OUTCOMES = {
    "stored": lazy("Learned"),
    "reinforced": lazy("Known already"),
    "ended": lazy("No longer true"),
    "refused": lazy("Refused"),
    "errors": lazy("Errors"),
}

# Plain text, in English: monitoring systems read it.
TOKEN_REQUIRED = "Send a token: Authorization: Bearer …\n"  # noqa: S105


@require_GET
def statistics_page(request: HtmxHttpRequest) -> HttpResponse:
    """Show the user's statistics over the last 24 hours or 30 days."""
    name: SpanName = "month" if request.GET.get("span") == "month" else "day"
    now = timezone.now()
    found = count_usage(request.user, Span(name, now, time_zone_from(request.preferences)))
    context = {
        "span": name,
        "spans": _SPANS.items(),
        "found": found,
        "gauge": load_energy_gauge(request.user),
        "pictures": {
            "memories": pictures.chart_memories(found),
            "energy": pictures.chart_background_work(found),
            "tokens": pictures.chart_prompt_tokens(found),
            "first_words": pictures.chart_first_tokens(found),
        },
        **_compute_rates(found),
        "work": [(describe_purpose(row.purpose), row) for row in found.work],
        "outcomes": _build_bars(found.extraction),
    }
    return render(request, "statistics/page.html", context)


@require_GET
def energy_gauge(request: HtmxHttpRequest) -> HttpResponse:
    """Show the gauge in its present state; without htmx redirect to the statistics."""
    return render(request, "statistics/_energy_gauge.html") if request.htmx else redirect("statistics")


def load_energy_gauge(user: User) -> dict[str, Any]:
    """Return the energy for the user's background work and a sentence about it; two queries at most."""
    status = energy.read_status(timezone.now(), user.pk)
    return {
        "percent": status.percent,
        "low": status.low,
        "waiting": status.waiting,
        "sentence": describe_energy(status),
    }


def _compute_rates(found: UsageSummary) -> dict[str, Any]:
    """Return shares in percent (None where there is nothing to divide by) and rates an hour or a day."""
    cached, read = sum(found.cached), sum(found.read)
    median, slow = found.first_token_ms(0.5), found.first_token_ms(0.95)
    apps = len(found.apps)
    return {
        "an_hour": found.created / found.span.hours,
        "app_count": apps,
        "apps_share": percent(found.apps_with_memories, apps),
        "replies_share": percent(found.replies_with_memory, found.replies),
        "chats_share": percent(found.chats_with_memory, found.chats),
        "condensed_rate": found.condensed * 24 / found.span.hours / max(1, apps),
        "compactions_share": percent(found.compactions, found.replies),
        "background_hourly": found.background_seconds / found.span.hours,
        "cached": cached,
        "read": read,
        "written": sum(found.written),
        "cached_share": percent(cached, cached + read),
        "median": None if median is None else median / 1000,
        "slow": None if slow is None else slow / 1000,
    }


def _build_bars(counts: dict[str, int]) -> list[tuple[Any, int, float]]:
    """Return label, count and width in percent of the longest bar for each outcome."""
    longest = max((counts[name] for name in _EXTRACTION_OUTCOMES), default=0) or 1
    return [
        (label, counts[name], round(100 * counts[name] / longest, 1))
        for name, label in _EXTRACTION_OUTCOMES.items()
    ]


@login_not_required
@require_GET
def metrics(request: HtmxHttpRequest) -> HttpResponse:
    """Return the user's metrics; 404 while METRICS is off, 401 without the owner's page or token."""
    if not settings.METRICS:
        raise Http404
    if not is_asked_by_owner(request):
        headers = {"WWW-Authenticate": "Bearer"}
        return HttpResponse(
            TOKEN_REQUIRED, status=401, headers=headers, content_type="text/plain; charset=utf-8"
        )
    text, content_type = render_metrics(request.user, timezone.now(), request.headers.get("Accept", ""))
    return HttpResponse(text, content_type=content_type)
