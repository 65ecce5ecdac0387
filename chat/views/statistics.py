"""What can be counted: a page for the owner, and the gauge of the machine's energy for everybody."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext_lazy as lazy
from django.views.decorators.http import require_GET

from chat.actions import energy
from chat.actions.owners import zone_in
from chat.statistics import pictures
from chat.statistics.figures import Figures, count
from chat.statistics.shares import percent
from chat.statistics.span import Span, SpanName
from chat.statistics.words import energy_sentence, purpose

from .scope import HtmxHttpRequest

_SPANS: dict[SpanName, Any] = {"day": lazy("24 hours"), "month": lazy("30 days")}
_LOOKS = {
    "stored": lazy("Learned"),
    "reinforced": lazy("Known already"),
    "ended": lazy("Over, as you said"),
    "refused": lazy("Refused"),
    "errors": lazy("Errors"),
}


@require_GET
def page(request: HtmxHttpRequest) -> HttpResponse:
    """Show what was counted for whoever asks, over the last 24 hours or 30 days."""
    name: SpanName = "month" if request.GET.get("span") == "month" else "day"
    now = timezone.now()
    found = count(request.user, Span(name, now, zone_in(request.preferences)))
    context = {
        "span": name,
        "spans": _SPANS.items(),
        "found": found,
        "gauge": gauge(),
        "pictures": {
            "memories": pictures.memories(found),
            "energy": pictures.energy(found),
            "tokens": pictures.tokens(found),
            "first_words": pictures.first_words(found),
        },
        **_rates(found),
        "work": [(purpose(one.purpose), one) for one in found.work],
        "looks": _bars(found.looks),
    }
    return render(request, "statistics/page.html", context)


@require_GET
def energy_now(request: HtmxHttpRequest) -> HttpResponse:
    """Show the gauge as it is now; without htmx on the page of statistics."""
    return render(request, "statistics/_gauge.html") if request.htmx else redirect("statistics")


def gauge() -> dict[str, Any]:
    """Return the machine's energy: how much, and in a sentence what waits. Two queries at most."""
    status = energy.status(timezone.now())
    return {
        "percent": status.percent,
        "low": status.low,
        "waiting": status.waiting,
        "sentence": energy_sentence(status),
    }


def _rates(found: Figures) -> dict[str, Any]:
    """Return shares in percent, None of nothing, and what there was in an hour or a day."""
    cached, read = sum(found.cached), sum(found.read)
    median, slow = found.first_word(0.5), found.first_word(0.95)
    rooms = len(found.rooms)
    return {
        "an_hour": found.created / found.span.hours,
        "rooms": rooms,
        "rooms_share": percent(found.rooms_with_memories, rooms),
        "replies_share": percent(found.replies_with_memory, found.replies),
        "chats_share": percent(found.chats_with_memory, found.chats),
        "condensed_rate": found.condensed * 24 / found.span.hours / max(1, rooms),
        "compactions_share": percent(found.compactions, found.replies),
        "background_hourly": found.background_seconds / found.span.hours,
        "cached": cached,
        "read": read,
        "written": sum(found.written),
        "cached_share": percent(cached, cached + read),
        "median": None if median is None else median / 1000,
        "slow": None if slow is None else slow / 1000,
    }


def _bars(looks: dict[str, int]) -> list[tuple[Any, int, float]]:
    """Return label, number and width in percent of each outcome."""
    longest = max((looks[name] for name in _LOOKS), default=0) or 1
    return [(label, looks[name], round(100 * looks[name] / longest, 1)) for name, label in _LOOKS.items()]
