"""Prometheus metrics of one owner and of the machine, read from the database at each scrape.

A value that never decreases is a counter. A value that decreases when the owner deletes data is a gauge,
since Prometheus takes a falling counter for a restart. No label contains text of the owner.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from django.db.models import Count, Sum
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from chat.actions import energy, jobs
from chat.models import App, AppMemory, Category, Conversation, Fact, Message, UsageRecord, User

from .span import Span
from .usage import UsageSummary, count_usage


def render_metrics(owner: User, now: datetime, accept: str) -> tuple[bytes, str]:
    """Return the metrics as text and its content type, in the format that the Accept header prefers."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_OwnerCollector(owner, now))
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


def collect_metrics(owner: User, now: datetime) -> list[Metric]:
    """Return the metrics."""
    return list(_OwnerCollector(owner, now).collect())


class _OwnerCollector(Collector):
    """Collects all metrics with about fifteen queries."""

    def __init__(self, owner: User, now: datetime) -> None:
        self.owner, self.now = owner, now

    def describe(self) -> list[Metric]:
        """Return nothing: otherwise the library would collect all metrics once more to learn their names."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics of stored data, of the last 24 hours, of the model, and of the machine."""
        yield from _collect_stored(self.owner)
        yield from _collect_last_day(count_usage(self.owner, Span("day", self.now, UTC)))
        yield from _collect_model_calls(self.owner)
        yield from _collect_machine(self.now)


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"memoryapp_{name}", text, value=value)


def _collect_stored(owner: User) -> Iterator[Metric]:
    facts = GaugeMetricFamily("memoryapp_facts", "Live facts by category.", labels=["category"])
    known = dict(
        Fact.objects.for_owner(owner).live().order_by().values_list("category").annotate(Count("pk"))
    )
    for category in Category.values:
        facts.add_metric([category], known.get(category, 0))
    yield facts
    live = AppMemory.objects.for_owner(owner).live().order_by()
    apps = live.aggregate(memories=Count("pk"), apps=Count("app", distinct=True))
    yield _gauge("app_memories", "Stored app memories.", apps["memories"])
    yield _gauge("apps", "Apps that are not archived.", App.objects.for_owner(owner).active().count())
    yield _gauge("apps_with_memories", "Apps with at least one app memory.", apps["apps"])
    chats = Conversation.objects.for_owner(owner).not_deleted()
    yield _gauge("conversations", "Stored conversations.", chats.count())
    messages = Message.objects.for_owner(owner).filter(conversation__deletion=None)
    yield _gauge("messages", "Stored messages.", messages.count())


def _collect_last_day(found: UsageSummary) -> Iterator[Metric]:
    """Yield what happened in the last 24 hours, which start at a full hour."""
    made = GaugeMetricFamily(
        "memoryapp_day_memories_created",
        "Facts and app memories created in the last 24 hours.",
        labels=["kind"],
    )
    made.add_metric(["fact"], sum(found.facts))
    made.add_metric(["app_memory"], sum(found.app_memories))
    yield made
    yield _gauge("day_replies", "Replies in the last 24 hours.", found.replies)
    yield _gauge(
        "day_replies_with_memory",
        "Replies in the last 24 hours whose prompt contained facts or app memories.",
        found.replies_with_memory,
    )
    yield _gauge("day_conversations", "Conversations with a reply in the last 24 hours.", found.chats)
    yield _gauge(
        "day_conversations_with_memory",
        "Conversations of the last 24 hours with facts or app memories in a prompt.",
        found.chats_with_memory,
    )
    compacted = GaugeMetricFamily(
        "memoryapp_day_compactions",
        "Compactions of prompts and app memories in the last 24 hours.",
        labels=["kind"],
    )
    compacted.add_metric(["prompt"], found.compactions)
    compacted.add_metric(["app_memory"], found.condensed)
    yield compacted
    first = GaugeMetricFamily(
        "memoryapp_day_first_token_seconds",
        "Seconds to the first token of replies in the last 24 hours.",
        labels=["quantile"],
    )
    for share in (0.5, 0.95):
        if (ms := found.first_token_ms(share)) is not None:
            first.add_metric([str(share)], ms / 1000)
    yield first
    outcomes = GaugeMetricFamily(
        "memoryapp_day_extraction_outcomes",
        "Results of extraction in the last 24 hours, by outcome.",
        labels=["outcome"],
    )
    for outcome, number in found.extraction.items():
        if outcome != "runs":
            outcomes.add_metric([outcome], number)
    yield outcomes
    yield _gauge("day_messages_read", "Messages extracted in the last 24 hours.", found.extraction["runs"])


def _collect_model_calls(owner: User) -> Iterator[Metric]:
    """Yield counters of model calls; usage records are kept when other data is deleted."""
    calls = CounterMetricFamily(
        "memoryapp_model_calls", "Model calls.", labels=["purpose", "lane", "outcome"]
    )
    tokens = CounterMetricFamily(
        "memoryapp_model_tokens", "Tokens of model calls.", labels=["purpose", "lane", "kind"]
    )
    seconds = CounterMetricFamily(
        "memoryapp_background_seconds", "Seconds of model time used by background work.", labels=["purpose"]
    )
    rows = UsageRecord.objects.filter(owner=owner).order_by("purpose", "lane", "outcome")
    sums: dict[tuple[str, str], list[float]] = {}
    for row in rows.values("purpose", "lane", "outcome").annotate(
        calls=Count("pk"),
        prompt=Sum("prompt_tokens"),
        known=Sum("cached_tokens"),
        said=Sum("completion_tokens"),
        units=Sum("energy"),
    ):
        calls.add_metric([row["purpose"], row["lane"], row["outcome"]], row["calls"])
        total = sums.setdefault((row["purpose"], row["lane"]), [0, 0, 0, 0])
        for i, value in enumerate(
            (max(0, row["prompt"] - row["known"]), row["known"], row["said"], row["units"])
        ):
            total[i] += value
    for (purpose, lane), (read, known, said, units) in sums.items():
        for kind, number in (("read", read), ("cached", known), ("written", said)):
            tokens.add_metric([purpose, lane, kind], number)
        if lane == "background":
            seconds.add_metric([purpose], units)
    yield from (calls, tokens, seconds)


def _collect_machine(now: datetime) -> Iterator[Metric]:
    """Yield the metrics of the energy; in server mode of the person with the least."""
    status = energy.read_status(now)
    yield _gauge("energy_ratio", "Energy left for background work, 0 to 1.", status.percent / 100)
    yield _gauge("energy_low", "1 while background work waits for energy, else 0.", int(status.low))
    deferred = GaugeMetricFamily(
        "memoryapp_jobs_deferred", "Background jobs that wait for energy, by kind.", labels=["kind"]
    )
    waiting = {kind.kind: kind.count for kind in status.deferred}
    for kind in jobs.DEFERRABLE_KINDS:
        deferred.add_metric([kind], waiting.get(kind, 0))
    yield deferred
