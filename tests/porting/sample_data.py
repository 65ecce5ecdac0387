"""Sample data for exports and imports: rows of every kind that an owner can have."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

from chat.actions import graph
from chat.actions.fact_events import snapshot
from chat.models import (
    App,
    AppMemory,
    Conversation,
    Fact,
    FactEvent,
    FactEventKind,
    Message,
    OwnerSettings,
    PromptReport,
    Topic,
    TopicArchive,
)
from chat.topics.pack import pack_contents

SAMPLE_FACT_ID = "0d5f8c1e-7a44-4c0e-8f5d-9d3a2b1c4e6f"
NOON = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
_WORDS = ("fjord", "tea", "walnut", "bridge", "lantern", "orchard", "harbour", "compass", "meadow", "violin")


def create_sample_data(owner: Any, *, messages: int = 40, facts: int = 6, in_a_chat: int = 100) -> None:
    """Create settings, two apps, conversations with branches, topics and archives, facts and their graph."""
    OwnerSettings.objects.update_or_create(
        owner=owner,
        defaults={"time_zone": "Europe/Oslo", "language": "de", "theme": "dark", "look_after": 30}
        | {"redact_secrets": True, "prune_after": 365, "faded_through": date(2026, 2, 27)},
    )
    App.objects.for_owner(owner).update(persona="You are calm.", created_at=NOON)
    work = App.objects.create(
        owner=owner, slug="work", name="Work", persona="Be brief.", strategy="topics", created_at=NOON
    )
    first = App.objects.for_owner(owner).get(slug="general")
    chats = [
        _chat(owner, (first, work)[n % 2], n, min(in_a_chat, messages - n * in_a_chat))
        for n in range(-(-messages // in_a_chat))
    ]
    created_facts = _facts(owner, facts, chats)
    for n, chat in enumerate(chats[:4]):
        AppMemory.objects.create(
            owner=owner,
            app=chat.app,
            content=f"They spoke of {_WORDS[n]}.",
            source_conversation=chat,
            edited=n == 1,
            metadata={
                "importance": n,
                "tags": ["a"],
                "through": 2,
                "related_conversations": [str(chats[0].pk)],
            },
            created_at=NOON,
            updated_at=NOON + timedelta(days=n),
        )
    for fact in created_facts:
        graph.sync_fact(fact)


def _chat(owner: Any, app: App, n: int, count: int) -> Conversation:
    started_at = NOON + timedelta(hours=n)
    chat = Conversation.objects.create(
        owner=owner,
        app=app,
        title=f"Of {_WORDS[n % 10]}s 🏔",
        titled_by="model",
        system_prompt="Speak plainly." if n % 3 == 0 else "",
        strategy="hybrid" if n % 4 == 0 else "",
        metadata={"from": "somewhere", "n": n},
        pinned=n % 5 == 0,
        use_past_chats=n % 4 > 0,
        memory_mode=("on", "read_only", "off")[n % 3],
        summary="They spoke.",
        prompt_summary="They spoke before.",
        summarised_through=4,
        extracted_through=count,
        cleared_through=n % 2,
        trimmed_through=3,
        kept=[1],
        cuts={"2": 40},
        app_memory_after=1,
        created_at=started_at,
        updated_at=started_at + timedelta(minutes=count),
        ended_at=started_at + timedelta(minutes=count + 10),
    )
    topics = [
        Topic(
            conversation=chat,
            title=_WORDS[k],
            summary="A summary.",
            summarised_through=2,
            created_at=started_at + timedelta(minutes=k),
            last_active_at=started_at + timedelta(minutes=k + 5),
            importance=0.5,
            access_count=k,
            message_count=count // 2,
            retired_at=started_at if k else None,
        )
        for k in range(2)
    ]
    Topic.objects.bulk_create(topics)
    rows = [
        Message(
            conversation=chat,
            seq=seq,
            role="user" if seq % 2 else "assistant",
            content=f"{' '.join(_WORDS[(seq + k) % 10] for k in range(60))} {n}-{seq} „ö“",
            state="stopped" if seq % 10 == 0 else "complete",
            failure="It was stopped." if seq % 10 == 0 else "",
            note="- User likes tea" if seq % 8 == 1 else "",
            flagged=seq % 9 == 0,
            date_inferred=True if seq % 7 == 0 else None,
            topic=topics[seq % 2],
            tool_calls=[{"id": "c1"}] if seq % 20 == 2 else None,
            tool_call_id="c1" if seq % 20 == 4 else "",
            name="search" if seq % 20 == 4 else "",
            created_at=started_at + timedelta(minutes=seq),
        )
        for seq in range(1, count + 1)
    ]
    if count > 4:
        rows[1].replaced_by = rows[3]
        rows[3].replaced_by = rows[4]
    Message.objects.bulk_create(rows)
    PromptReport.objects.bulk_create(
        PromptReport(
            reply=m,
            sections={"persona": 40},
            facts=[SAMPLE_FACT_ID],
            left_out=[SAMPLE_FACT_ID],
            prompt_tokens=300 + m.seq,
            window=8192,
            created_at=m.created_at,
        )
        for m in rows
        if m.role == "assistant"
    )
    _archive_messages(topics[0], rows[: count // 5])
    return chat


def _archive_messages(topic: Topic, rows: list[Message]) -> None:
    if rows:
        packed = pack_contents({m.seq: m.content for m in rows})
        archive = TopicArchive.objects.create(
            topic=topic, data=packed.data, count=len(rows), sha256=packed.sha256
        )
        Message.objects.filter(pk__in=[m.pk for m in rows]).update(content="", archive=archive)


def _facts(owner: Any, count: int, chats: list[Conversation]) -> list[Fact]:
    """Create `count` live facts, a superseded one and an archived one."""
    source = Message.objects.filter(conversation__in=chats).order_by("created_at").first()
    rows = [
        Fact(
            owner=owner,
            text=f"User likes {_WORDS[n % 10]} number {n}",
            category="preference",
            kind="likes",
            confidence=0.6 + n % 4 / 10,
            mention_count=n + 1,
            first_seen=NOON + timedelta(seconds=n),
            last_seen=NOON + timedelta(days=1, seconds=n),
            last_used=NOON + timedelta(days=2),
            pinned=n < 3,
            origin=("extracted", "told", "manual", "highlight")[n % 4],
            quote=f"I like it, number {n}",
            source_conversation=source.conversation if source else None,
            source_message=source,
            last_seen_conversation=chats[-1] if chats and n % 2 else None,
            language="en",
            idle_days=n % 7,
            holds_from=date(2026, 2, 1) if n % 3 == 0 else None,
            holds_until=date(2096, 4, 12) if n % 3 == 1 else None,
            said_on=date(2026, 3, 1) if n % 3 == 2 else None,
            version=n % 3 + 1,
        )
        for n in range(count + 2)
    ]
    if count:
        rows[count].superseded_at = NOON + timedelta(days=3)
        rows[count + 1].archived_at = NOON + timedelta(days=3)
        rows[0].supersedes = rows[count]
    Fact.objects.bulk_create(rows)
    FactEvent.objects.bulk_create(
        FactEvent(
            fact=fact,
            kind=kind,
            before=snapshot(fact) if k else {},
            after=snapshot(fact),
            actor="memory",
            reason="said again" if k else "",
            source_message=source,
            created_at=NOON + timedelta(seconds=k),
        )
        for fact in rows
        for k, kind in enumerate([FactEventKind.ADD, *[FactEventKind.REINFORCE] * 4])
    )
    return rows
