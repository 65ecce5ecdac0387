"""The numbers of one owner and of the machine for Prometheus, read from the database when they are asked for.

What only grows and is never taken back is a counter; whatever goes with what the owner forgets or deletes is
a gauge, since Prometheus takes a counter that falls for one that began again. No label holds anybody's words.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from django.db.models import Count, Sum
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from chat.actions import energy
from chat.models import App, AppMemory, Category, Conversation, Fact, Message, UsageRecord

from .figures import Figures, count
from .span import Span


def exposition(owner: Any, now: datetime, accept: str) -> tuple[bytes, str]:
    """Return the text for a scraper and its content type, in the format that its Accept header prefers."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Numbers(owner, now))
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


def families(owner: Any, now: datetime) -> list[Metric]:
    """Return the numbers themselves."""
    return list(_Numbers(owner, now).collect())


class _Numbers(Collector):
    """All metrics; some fifteen queries, however much there is."""

    def __init__(self, owner: Any, now: datetime) -> None:
        self.owner, self.now = owner, now

    def describe(self) -> list[Metric]:
        """Return nothing: otherwise all would be collected once more to learn their names."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics of what is kept, of the last 24 hours, of the model, and of the machine."""
        yield from _kept(self.owner)
        yield from _day(count(self.owner, Span("day", self.now, UTC)))
        yield from _model(self.owner)
        yield from _machine(self.now)


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"memoryapp_{name}", text, value=value)


def _kept(owner: Any) -> Iterator[Metric]:
    facts = GaugeMetricFamily("memoryapp_facts", "Facts that are known now.", labels=["category"])
    known = dict(
        Fact.objects.for_owner(owner).live().order_by().values_list("category").annotate(Count("pk"))
    )
    for category in Category.values:
        facts.add_metric([category], known.get(category, 0))
    yield facts
    live = AppMemory.objects.for_owner(owner).live().order_by()
    apps = live.aggregate(memories=Count("pk"), apps=Count("app", distinct=True))
    yield _gauge("app_memories", "App memories that are kept now.", apps["memories"])
    yield _gauge("apps", "Apps that are not archived.", App.objects.for_owner(owner).active().count())
    yield _gauge("apps_with_memories", "Apps that remember something.", apps["apps"])
    chats = Conversation.objects.for_owner(owner).kept()
    yield _gauge("conversations", "Conversations that are kept now.", chats.count())
    messages = Message.objects.for_owner(owner).filter(conversation__deletion=None)
    yield _gauge("messages", "Messages that are kept now.", messages.count())


def _day(found: Figures) -> Iterator[Metric]:
    """Yield what was done in the last 24 hours, by the hour of the clock."""
    made = GaugeMetricFamily("memoryapp_day_memories_created", "Made in 24 hours.", labels=["kind"])
    made.add_metric(["fact"], sum(found.facts))
    made.add_metric(["app_memory"], sum(found.app_memories))
    yield made
    yield _gauge("day_replies", "Replies in 24 hours.", found.replies)
    yield _gauge(
        "day_replies_with_memory", "Replies in 24 hours whose prompt had memories.", found.replies_with_memory
    )
    yield _gauge("day_conversations", "Conversations with a reply in 24 hours.", found.chats)
    yield _gauge("day_conversations_with_memory", "Those whose prompt had memories.", found.chats_with_memory)
    compacted = GaugeMetricFamily(
        "memoryapp_day_compactions", "What was compacted in 24 hours.", labels=["kind"]
    )
    compacted.add_metric(["prompt"], found.compactions)
    compacted.add_metric(["app_memory"], found.condensed)
    yield compacted
    first = GaugeMetricFamily(
        "memoryapp_day_first_token_seconds", "Time to the first token in 24 hours.", labels=["quantile"]
    )
    for share in (0.5, 0.95):
        if (ms := found.first_word(share)) is not None:
            first.add_metric([str(share)], ms / 1000)
    yield first
    looks = GaugeMetricFamily(
        "memoryapp_day_extraction_outcomes", "What came of messages read in 24 hours.", labels=["outcome"]
    )
    for outcome, number in found.looks.items():
        if outcome != "looks":
            looks.add_metric([outcome], number)
    yield looks
    yield _gauge("day_messages_read", "Messages that memory looked at in 24 hours.", found.looks["looks"])


def _model(owner: Any) -> Iterator[Metric]:
    """Yield what the model has done: counters, for usage is kept whatever is forgotten."""
    calls = CounterMetricFamily("memoryapp_model_calls", "Calls.", labels=["purpose", "lane", "outcome"])
    tokens = CounterMetricFamily("memoryapp_model_tokens", "Tokens.", labels=["purpose", "lane", "kind"])
    seconds = CounterMetricFamily(
        "memoryapp_background_seconds", "Model time in the background lane.", labels=["purpose"]
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


def _machine(now: datetime) -> Iterator[Metric]:
    """Yield the energy, which is the machine's and not one owner's."""
    status = energy.status(now)
    yield _gauge("energy_ratio", "Energy for background work, 0 to 1.", status.percent / 100)
    yield _gauge("energy_low", "Whether background work waits.", int(status.low))
    deferred = GaugeMetricFamily(
        "memoryapp_jobs_deferred", "Background jobs that wait for energy.", labels=["kind"]
    )
    waiting = {kind.kind: kind.count for kind in status.deferred}
    for kind in energy.SPENDING:
        deferred.add_metric([kind], waiting.get(kind, 0))
    yield deferred
