"""Messages as the page shows them, all that belongs to them fetched at once."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils.safestring import SafeString, mark_safe

from chat.generation.hub import hub
from chat.generation.markdown import rendered
from chat.models import Fact, FactEvent, Message, MessageState, PromptReport, Role
from chat.topics.contents import with_contents

from .spoken import said


@dataclass(slots=True)
class Article:
    """One message ready for its template; `blocks` and `html` are sanitised HTML."""

    id: Any
    seq: int
    # The place of what is shown before it; what a page has between the two was replaced.
    after: int
    role: str
    state: str
    text: str
    blocks: list[str]
    failure: str
    flagged: bool
    name: str
    calls: list[dict[str, str]]
    # The model sees nothing from here upwards.
    cleared: bool
    created_at: datetime
    used_count: int
    learned: list[Fact]
    ended: list[Fact]
    compacted: bool
    summarised: bool
    shortened: bool
    has_report: bool
    share: int | None

    @property
    def html(self) -> SafeString:
        """Return the whole message as HTML, each block in an element of its own."""
        return mark_safe("".join(f'<div class="block">{block}</div>' for block in self.blocks))  # noqa: S308


def articles(rows: Iterable[Message]) -> list[Article]:
    """Return the articles of messages of one conversation, in a few queries however many there are."""
    messages = with_contents(rows)
    if not messages:
        return []
    reports = {r.reply_id: r for r in PromptReport.objects.filter(reply__in=[m.pk for m in messages])}
    asked = _asked_before(messages)
    learned: dict[Any, list[Fact]] = {}
    for fact in (
        Fact.objects.live().filter(source_message__in=[m.pk for m in asked.values()]).order_by("first_seen")
    ):
        learned.setdefault(fact.source_message_id, []).append(fact)
    ended: dict[Any, list[Fact]] = {}
    for event in FactEvent.objects.endings([m.pk for m in asked.values()]):
        ended.setdefault(event.source_message_id, []).append(event.fact)
    places = [_place_before(messages[0]), *(m.seq for m in messages)]
    cleared = _cleared_at(messages[0])
    alive = set(
        Fact.objects.live()
        .filter(pk__in={i for r in reports.values() for i in r.facts})
        .values_list("pk", flat=True)
    )
    return [
        _article(
            m,
            reports.get(m.pk),
            alive,
            learned.get(asked[m.pk].pk, []) if m.pk in asked else [],
            ended.get(asked[m.pk].pk, []) if m.pk in asked else [],
            after=after,
            cleared=m.seq == cleared,
        )
        for m, after in zip(messages, places, strict=False)
    ]


def _place_before(message: Message) -> int:
    earlier = Message.objects.filter(conversation=message.conversation_id, seq__lt=message.seq).shown()
    return earlier.reverse().values_list("seq", flat=True).first() or 0


def _cleared_at(message: Message) -> int | None:
    """Return the place of the last message that is hidden from the model by a clear."""
    through = message.conversation.cleared_through
    if not through:
        return None
    hidden = Message.objects.filter(conversation=message.conversation_id, seq__lte=through).shown()
    return hidden.reverse().values_list("seq", flat=True).first()


def _calls(message: Message) -> list[dict[str, str]]:
    """Return which tools an assistant's message called, with what it gave them; whatever shape that has."""
    found = []
    for call in message.tool_calls or []:
        given = call.get("function", call) if isinstance(call, dict) else {}
        given = given if isinstance(given, dict) else {}
        told = given.get("arguments", "")
        told = told if isinstance(told, str) else json.dumps(told, ensure_ascii=False)
        found.append({"name": str(given.get("name", "")), "arguments": told})
    return found


def _asked_before(messages: list[Message]) -> dict[Any, Message]:
    """Return for each reply the user message that it answers."""
    result: dict[Any, Message] = {}
    last: Message | None = None
    if messages[0].role == Role.ASSISTANT:
        earlier = Message.objects.filter(conversation=messages[0].conversation_id, seq__lt=messages[0].seq)
        last = earlier.filter(role=Role.USER).order_by("-seq").first()
    for message in messages:
        if message.role == Role.USER:
            last = message
        elif last is not None and message.role == Role.ASSISTANT:
            result[message.pk] = last
    return result


def window_share(report: PromptReport | None) -> int | None:
    """Return how full the window is after a reply, in percent; None where no report says so."""
    if report is None or not report.window:
        return None
    return min(100, round(100 * (report.prompt_tokens + report.completion_tokens) / report.window))


def _article(
    message: Message,
    report: PromptReport | None,
    alive: set[Any],
    learned: list[Fact],
    ended: list[Fact],
    *,
    after: int,
    cleared: bool,
) -> Article:
    live = hub.snapshot(str(message.conversation_id)) if message.state == MessageState.STREAMING else None
    mine = live is not None and live["reply"] == str(message.pk)
    return Article(
        id=message.pk,
        seq=message.seq,
        after=after,
        role=message.role,
        state=message.state,
        text=message.content,
        blocks=live["blocks"] if live is not None and mine else rendered(message.content),
        failure=said(message.failure),
        flagged=message.flagged,
        name=message.name,
        calls=_calls(message),
        cleared=cleared,
        created_at=message.created_at,
        used_count=sum(1 for i in report.facts if UUID(i) in alive) if report else 0,
        learned=learned if message.state != MessageState.STREAMING else [],
        ended=ended if message.state != MessageState.STREAMING else [],
        # Where the prompt was compacted, not at each reply after that.
        compacted=bool(report and report.stage and (report.cut_messages or report.summarised)),
        summarised=bool(report and report.summarised),
        shortened=bool(report and report.shortened),
        has_report=report is not None and bool(report.window),
        share=window_share(report),
    )
