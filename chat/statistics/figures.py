"""Counts what memory and the model did for one owner in a stretch of time, grouped by the database."""

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
)
from chat.models.base import OwnedQuerySet

from .shares import percentile
from .span import Span

BACKGROUND = Lane.BACKGROUND.name.lower()
# A reply's prompt had memories: facts in its block or note, or what its app remembers.
# A conversation is remembered for the first time, in words of its own or among those of another.
_NEW = (AppMemoryEventKind.ADD, AppMemoryEventKind.ABSORB)
HAD_MEMORY = ~Q(facts=[]) | Q(sections__memory__gt=0) | Q(sections__note__gt=0)


class _Entries(Func):
    """How many entries a JSON list has."""

    function = "JSON_ARRAY_LENGTH"
    output_field = IntegerField()

    def as_postgresql(self, compiler: Any, connection: Any, **options: Any) -> Any:
        return self.as_sql(compiler, connection, function="JSONB_ARRAY_LENGTH", **options)


@dataclass(slots=True)
class Room:
    """One app: what it remembers, how often that was made less, and what its replies took."""

    name: str
    memories: int
    condensed: int = 0
    replies: int = 0
    compactions: int = 0


@dataclass(slots=True)
class Work:
    """What the model did for one purpose: calls, those that failed, and seconds of its background time."""

    purpose: str
    calls: int = 0
    failed: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Figures:
    """What was counted; lists have one entry a part of the span.

    `compactions` are those of prompts, `condensed` says how often an app that remembered ten chats had one of
    its memories make room for another or absorb it.
    """

    span: Span
    facts: list[int]
    app_memories: list[int]
    rooms: list[Room] = field(default_factory=list)
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
    work: list[Work] = field(default_factory=list)
    first_words: list[list[int]] = field(default_factory=list)
    looks: dict[str, int] = field(default_factory=dict)

    @property
    def created(self) -> int:
        """How many memories of both kinds were made."""
        return sum(self.facts) + sum(self.app_memories)

    @property
    def rooms_with_memories(self) -> int:
        """How many apps remember something."""
        return sum(room.memories > 0 for room in self.rooms)

    @property
    def background_seconds(self) -> float:
        """Seconds of model time in the background lane."""
        return sum(self.background)

    @property
    def background_percent(self) -> float:
        """Which part of all the time that was, in percent."""
        return 100 * self.background_seconds / (3600 * self.span.hours)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was done at all."""
        return not (self.created or self.replies or self.work)

    def first_word(self, share: float) -> float | None:
        """Return after how many milliseconds this share of the replies had begun."""
        return percentile([ms for part in self.first_words for ms in part], share)


def count(owner: Any, span: Span) -> Figures:
    """Return what was done for an owner. Seven queries, however much there is."""
    found = Figures(
        span,
        _spread(span, _parts(span, Fact.objects.for_owner(owner), "first_seen").annotate(n=Count("pk"))),
        [0] * len(span.parts),
    )
    rooms = _rooms(owner)
    found.rooms = list(rooms.values())
    _count_app_memories(owner, found, rooms)
    _count_replies(owner, found, rooms)
    _count_usage(owner, found)
    found.looks = _looks(owner, span)
    return found


def _by_time(owner: Any, rows: OwnedQuerySet[Any]) -> QuerySet[Any]:
    """Return the owner's rows so that the database goes by their time, and not through all chats there are.

    An expression has no index, so that it begins with the other condition.
    """
    return rows.alias(whose=Coalesce(rows.owner_path, 0)).filter(whose=owner.pk)


def _recent(span: Span, rows: QuerySet[Any], moment: str = "created_at") -> QuerySet[Any]:
    return rows.filter(**{f"{moment}__gte": span.begin, f"{moment}__lte": span.now}).order_by()


def _parts(span: Span, rows: QuerySet[Any], moment: str = "created_at") -> Any:
    """Return rows of the span by its parts, for an aggregate to be taken of each; a part is its number.

    By comparing: what Django truncates a time with in SQLite is a function in Python, called for each row.
    """
    before = [When(**{f"{moment}__lt": end}, then=n) for n, end in enumerate(span.starts[1:])]
    part = Case(*before, default=len(before), output_field=IntegerField())
    return _recent(span, rows, moment).annotate(part=part).values("part")


def _spread(span: Span, rows: Iterable[Any]) -> list[int]:
    """Return one number a part, 0 where the database has none."""
    found = {row["part"]: row["n"] for row in rows}
    return [found.get(part, 0) for part in span.parts]


def _rooms(owner: Any) -> dict[Any, Room]:
    live = AppMemory.objects.for_owner(owner).filter(deletion=None, app=OuterRef("pk")).order_by()
    memories = Coalesce(Subquery(live.values("app").annotate(n=Count("pk")).values("n")), 0)
    rows: Any = App.objects.for_owner(owner).active().annotate(remembered=memories)
    return {app.pk: Room(str(app), app.remembered) for app in rows}


def _count_app_memories(owner: Any, found: Figures, rooms: Mapping[Any, Room]) -> None:
    """Count what happened to them: of those that were written, an app keeps ten."""
    happened = _parts(found.span, AppMemoryEvent.objects.for_owner(owner))
    for row in happened.values("part", "app", "kind").annotate(n=Count("pk")):
        if row["kind"] in _NEW:
            found.app_memories[row["part"]] += row["n"]
        if row["kind"] in COMPACTIONS:
            found.condensed += row["n"]
            if room := rooms.get(row["app"]):
                room.condensed += row["n"]


def _count_replies(owner: Any, found: Figures, rooms: Mapping[Any, Room]) -> None:
    reports = _recent(found.span, _by_time(owner, PromptReport.objects.all()))
    chat = "reply__conversation"
    # A conversation is in one app, so that those of all apps are all of them.
    by_room = reports.values(room=F(f"{chat}__app")).annotate(
        replies=Count("pk"),
        replies_with_memory=Count("pk", filter=HAD_MEMORY),
        chats=Count(chat, distinct=True),
        chats_with_memory=Count(chat, distinct=True, filter=HAD_MEMORY),
        compactions=Count("pk", filter=Q(stage__gt=0)),
    )
    for row in by_room:
        if room := rooms.get(row.pop("room")):
            room.replies, room.compactions = row["replies"], row["compactions"]
        for name, value in row.items():
            setattr(found, name, getattr(found, name) + value)
    # Percentiles are not to be had of every database, and a month has a few thousand replies.
    begun = _parts(found.span, _by_time(owner, PromptReport.objects.all())).filter(
        first_token_ms__isnull=False
    )
    found.first_words = [[] for _ in found.span.parts]
    for part, ms in begun.values_list("part", "first_token_ms"):
        found.first_words[part].append(ms)


def _count_usage(owner: Any, found: Figures) -> None:
    rows = (
        _parts(found.span, UsageRecord.objects.filter(owner=owner))
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
    work: dict[str, Work] = {}
    for row in rows:
        i = row["part"]
        found.cached[i] += row["known"]
        found.read[i] += max(0, row["prompt"] - row["known"])
        found.written[i] += row["said"]
        found.background[i] += row["units"]
        one = work.setdefault(row["purpose"], Work(row["purpose"]))
        one.calls += row["calls"]
        one.failed += row["failures"]
        one.seconds += row["units"]
    found.work = sorted(work.values(), key=lambda one: (-one.seconds, -one.calls, one.purpose))


def _looks(owner: Any, span: Span) -> dict[str, int]:
    runs = _recent(span, _by_time(owner, ExtractionRun.objects.all())).annotate(refusals=_Entries("refused"))
    found = runs.aggregate(
        looks=Count("pk"),
        **{name: Sum(name, default=0) for name in ("stored", "reinforced", "ended")},
        refused=Sum("refusals", default=0),
        errors=Count("pk", filter=~Q(error="")),
    )
    return dict(found)
