"""Counts what memory and the model did for one owner in a period, grouped by the database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import (
    Case,
    Count,
    F,
    Func,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    When,
)
from django.db.models.functions import Coalesce

from chat.llm.types import Lane
from chat.models import (
    COMPACTIONS,
    App,
    AppMemory,
    AppMemoryEvent,
    AppMemoryEventKind,
    ExtractionRun,
    Fact,
    PromptReport,
    UsageRecord,
    User,
)

from .charts import percentile
from .span import Span

BACKGROUND = Lane.BACKGROUND.name.lower()
# A conversation is remembered for the first time, in a memory of its own or merged into another.
_NEW = (AppMemoryEventKind.ADD, AppMemoryEventKind.ABSORB)
# A reply's prompt contained facts (in its memory block or turn note) or app memories.
HAD_MEMORY = ~Q(facts=[]) | Q(sections__memory__gt=0) | Q(sections__note__gt=0)


class _Entries(Func):
    """The number of entries of a JSON list."""

    function = "JSON_ARRAY_LENGTH"
    output_field = IntegerField()

    def as_postgresql(self, compiler: Any, connection: Any, **options: Any) -> Any:
        return self.as_sql(compiler, connection, function="JSONB_ARRAY_LENGTH", **options)


@dataclass(slots=True)
class AppUsage:
    """One app: its memories, how often they were condensed, its replies and compactions."""

    name: str
    memories: int
    condensed: int = 0
    replies: int = 0
    compactions: int = 0


@dataclass(slots=True)
class PurposeUsage:
    """Model calls for one purpose: all calls, failed calls, and seconds of background model time."""

    purpose: str
    calls: int = 0
    failed: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class UsageSummary:
    """The counts of a period; lists have one entry for each part of the span.

    `compactions` counts compacted prompts. `condensed` counts how often an app with ten memories removed one
    for a new memory or merged two.
    """

    span: Span
    facts: list[int]
    app_memories: list[int]
    apps: list[AppUsage] = field(default_factory=list)
    condensed: int = 0
    replies: int = 0
    replies_with_memory: int = 0
    chats: int = 0
    chats_with_memory: int = 0
    compactions: int = 0
    cached: list[int] = field(default_factory=list)
    read: list[int] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    background: list[float] = field(default_factory=list)
    work: list[PurposeUsage] = field(default_factory=list)
    first_token_waits: list[list[int]] = field(default_factory=list)
    extraction: dict[str, int] = field(default_factory=dict)

    @property
    def created(self) -> int:
        """The number of new facts and app memories."""
        return sum(self.facts) + sum(self.app_memories)

    @property
    def apps_with_memories(self) -> int:
        """The number of apps with at least one memory."""
        return sum(app.memories > 0 for app in self.apps)

    @property
    def background_seconds(self) -> float:
        """Seconds of model time at background priority."""
        return sum(self.background)

    @property
    def background_percent(self) -> float:
        """Background model time as a percentage of the period."""
        return 100 * self.background_seconds / (3600 * self.span.hours)

    @property
    def is_empty(self) -> bool:
        """Whether nothing happened."""
        return not (self.created or self.replies or self.work)

    def first_token_ms(self, share: float) -> float | None:
        """Return the milliseconds within which this share (0 to 1) of the replies had their first token."""
        return percentile([ms for part in self.first_token_waits for ms in part], share)


def count_usage(owner: User, span: Span) -> UsageSummary:
    """Return the counts of an owner. Seven queries."""
    found = UsageSummary(
        span,
        _fill_parts(
            span, _annotate_parts(span, Fact.objects.for_owner(owner), "first_seen").annotate(n=Count("pk"))
        ),
        [0] * len(span.parts),
    )
    apps = _load_apps(owner)
    found.apps = list(apps.values())
    _count_app_memories(owner, found, apps)
    _count_replies(owner, found, apps)
    _count_usage(owner, found)
    found.extraction = _count_extraction(owner, span)
    return found


def _filter_period(span: Span, rows: QuerySet[Any], moment: str = "created_at") -> QuerySet[Any]:
    return rows.filter(**{f"{moment}__gte": span.begin, f"{moment}__lte": span.now}).order_by()


def _annotate_parts(span: Span, rows: QuerySet[Any], moment: str = "created_at") -> Any:
    """Return the rows of the span annotated with the index of their part, to be aggregated by it.

    Computed by comparisons: Django's truncation of times is a Python function in SQLite, called for each row.
    """
    before = [When(**{f"{moment}__lt": end}, then=n) for n, end in enumerate(span.starts[1:])]
    part = Case(*before, default=len(before), output_field=IntegerField())
    return _filter_period(span, rows, moment).annotate(part=part).values("part")


def _fill_parts(span: Span, rows: Iterable[Any]) -> list[int]:
    """Return one number for each part, 0 where the database has no row."""
    found = {row["part"]: row["n"] for row in rows}
    return [found.get(part, 0) for part in span.parts]


def _load_apps(owner: User) -> dict[Any, AppUsage]:
    live = AppMemory.objects.for_owner(owner).filter(deletion=None, app=OuterRef("pk")).order_by()
    memories = Coalesce(Subquery(live.values("app").annotate(n=Count("pk")).values("n")), 0)
    rows: Any = App.objects.for_owner(owner).active().annotate(remembered=memories)
    return {app.pk: AppUsage(str(app), app.remembered) for app in rows}


def _count_app_memories(owner: User, found: UsageSummary, apps: Mapping[Any, AppUsage]) -> None:
    """Count the events of app memories; the memories themselves are at most ten for each app."""
    happened = _annotate_parts(found.span, AppMemoryEvent.objects.for_owner(owner))
    for row in happened.values("part", "app", "kind").annotate(n=Count("pk")):
        if row["kind"] in _NEW:
            found.app_memories[row["part"]] += row["n"]
        if row["kind"] in COMPACTIONS:
            found.condensed += row["n"]
            if app := apps.get(row["app"]):
                app.condensed += row["n"]


def _count_replies(owner: User, found: UsageSummary, apps: Mapping[Any, AppUsage]) -> None:
    reports = _filter_period(found.span, PromptReport.objects.for_owner_by_time(owner))
    chat = "reply__conversation"
    # A conversation belongs to one app, so the sums over apps are the totals.
    by_app = reports.values(app=F(f"{chat}__app")).annotate(
        replies=Count("pk"),
        replies_with_memory=Count("pk", filter=HAD_MEMORY),
        chats=Count(chat, distinct=True),
        chats_with_memory=Count(chat, distinct=True, filter=HAD_MEMORY),
        compactions=Count("pk", filter=Q(stage__gt=0)),
    )
    for row in by_app:
        if app := apps.get(row.pop("app")):
            app.replies, app.compactions = row["replies"], row["compactions"]
        for name, value in row.items():
            setattr(found, name, getattr(found, name) + value)
    # Not every database computes percentiles, and a month has only a few thousand replies.
    begun = _annotate_parts(found.span, PromptReport.objects.for_owner_by_time(owner)).filter(
        first_token_ms__isnull=False
    )
    found.first_token_waits = [[] for _ in found.span.parts]
    for part, ms in begun.values_list("part", "first_token_ms"):
        found.first_token_waits[part].append(ms)


def _count_usage(owner: User, found: UsageSummary) -> None:
    rows = (
        _annotate_parts(found.span, UsageRecord.objects.filter(owner=owner))
        .values("part", "purpose")
        .annotate(
            calls=Count("pk"),
            failures=Count("pk", filter=Q(outcome="failed")),
            prompt=Sum("prompt_tokens"),
            known=Sum("cached_tokens"),
            said=Sum("completion_tokens"),
            units=Sum("energy"),
        )
    )
    parts = len(found.span.parts)
    found.cached, found.read, found.written = ([0] * parts for _ in range(3))
    found.background = [0.0] * parts
    work: dict[str, PurposeUsage] = {}
    for row in rows:
        i = row["part"]
        found.cached[i] += row["known"]
        found.read[i] += max(0, row["prompt"] - row["known"])
        found.written[i] += row["said"]
        found.background[i] += row["units"]
        one = work.setdefault(row["purpose"], PurposeUsage(row["purpose"]))
        one.calls += row["calls"]
        one.failed += row["failures"]
        one.seconds += row["units"]
    found.work = sorted(work.values(), key=lambda one: (-one.seconds, -one.calls, one.purpose))


def _count_extraction(owner: User, span: Span) -> dict[str, int]:
    runs = _filter_period(span, ExtractionRun.objects.for_owner_by_time(owner)).annotate(
        refusals=_Entries("refused")
    )
    found = runs.aggregate(
        runs=Count("pk"),
        **{name: Sum(name, default=0) for name in ("stored", "reinforced", "ended")},
        refused=Sum("refusals", default=0),
        errors=Count("pk", filter=~Q(error="")),
    )
    return dict(found)
