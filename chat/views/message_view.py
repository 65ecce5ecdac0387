"""View models of messages; what a page of messages needs is loaded in a fixed number of queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Prefetch
from django.utils.safestring import SafeString, mark_safe

from chat.context.assembly import importance_of
from chat.context.importance import IMPORTANT
from chat.context.strategies import parse_tool_calls
from chat.error_messages import describe
from chat.generation.hub import hub
from chat.generation.markdown import render_blocks_cached
from chat.llm.types import ToolCall
from chat.models import (
    Deletion,
    DeletionState,
    Fact,
    FactEvent,
    Message,
    MessageState,
    OutcomeKind,
    PromptReport,
    RequestOutcome,
    Role,
)
from chat.topics.contents import load_contents


@dataclass(frozen=True, slots=True)
class ForgottenFacts:
    """A deletion that a message asked for; `texts` of its facts while it can be undone, then none."""

    deletion: UUID
    texts: list[str]


@dataclass(frozen=True, slots=True)
class RetractedFacts:
    """A pending deletion that an edited message caused.

    `texts` are the facts that only the old wording taught, `revived` those that are current again.
    """

    deletion: UUID
    texts: list[str]
    revived: list[str]

    @property
    def first_text(self) -> str:
        """The text by which an undo names them."""
        return (*self.texts, *self.revived)[0]


@dataclass(frozen=True, slots=True)
class OutcomeView:
    """What came of a request to memory; `candidates` are the facts of which the owner has to choose."""

    id: UUID
    kind: str
    candidates: list[Fact]


@dataclass(slots=True)
class MessageView:
    """One message as its template shows it; `blocks` and `html` are sanitised HTML."""

    id: Any
    seq: int
    # `seq` of the previous message. Messages that a page has between the two were replaced.
    after: int
    role: str
    state: str
    text: str
    blocks: list[str]
    failure: str
    # As in `Message`, in whole seconds.
    reasoning: str
    reasoning_seconds: int
    cut_off: bool
    flagged: bool
    # Flagged, or important by its score.
    important: bool
    name: str
    calls: Sequence[ToolCall]
    # True at the last message that /clear hides from the model.
    cleared: bool
    created_at: datetime
    used_count: int
    # Whether its prompt quoted past conversations.
    has_quotations: bool
    # Facts that extraction added, and facts that it ended, from the message that this reply answers.
    learned: list[Fact]
    ended: list[Fact]
    # What that message asked to forget, and what came of its other requests to memory.
    forgotten: list[ForgottenFacts]
    # What was taken back because that message was edited; it can be undone.
    retracted: list[RetractedFacts]
    outcomes: list[OutcomeView]
    compacted: bool
    summarised: bool
    shortened: bool
    has_report: bool
    # Percent of the window that is in use after this reply.
    share: int | None

    @property
    def html(self) -> SafeString:
        """Return the message as HTML, with each block in its own element."""
        return mark_safe("".join(f'<div class="block">{block}</div>' for block in self.blocks))  # noqa: S308


@dataclass(frozen=True, slots=True)
class _Effects:
    """What memory did because of user messages, by the id of the message. Fields as in `MessageView`."""

    learned: dict[Any, list[Fact]] = field(default_factory=dict)
    ended: dict[Any, list[Fact]] = field(default_factory=dict)
    forgotten: dict[Any, list[ForgottenFacts]] = field(default_factory=dict)
    retracted: dict[Any, list[RetractedFacts]] = field(default_factory=dict)
    outcomes: dict[Any, list[OutcomeView]] = field(default_factory=dict)


def build_message_views(rows: Iterable[Message]) -> list[MessageView]:
    """Return the views of messages of one conversation; the number of queries does not grow with them.

    What came of a message is shown when its reply has ended, and costs no query before.
    """
    messages = load_contents(rows)
    if not messages:
        return []
    reports = {r.reply_id: r for r in PromptReport.objects.filter(reply__in=[m.pk for m in messages])}
    questions = _find_questions(messages)
    ended = {m.pk: questions[m.pk].pk for m in messages if m.pk in questions and not _is_streaming(m)}
    effects = _find_effects(list(ended.values())) if ended else _Effects()
    previous = [_find_previous_seq(messages[0]), *(m.seq for m in messages)]
    cleared = _find_cleared_seq(messages[0])
    used = {i for r in reports.values() for i in r.facts}
    live_ids = set(Fact.objects.live().filter(pk__in=used).values_list("pk", flat=True)) if used else set()
    return [
        _build_message_view(
            m, reports.get(m.pk), live_ids, effects, ended.get(m.pk), after=after, cleared=m.seq == cleared
        )
        for m, after in zip(messages, previous, strict=False)
    ]


def _is_streaming(message: Message) -> bool:
    return message.state == MessageState.STREAMING


def _find_effects(question_ids: list[Any]) -> _Effects:
    learned: dict[Any, list[Fact]] = {}
    for fact in Fact.objects.live().filter(source_message__in=question_ids).order_by("first_seen"):
        learned.setdefault(fact.source_message_id, []).append(fact)
    ended: dict[Any, list[Fact]] = {}
    for event in FactEvent.objects.ending_facts(question_ids):
        ended.setdefault(event.source_message_id, []).append(event.fact)
    return _Effects(
        learned,
        ended,
        _find_forgotten(question_ids),
        _find_retracted(question_ids),
        _find_outcomes(question_ids),
    )


def _find_forgotten(question_ids: list[Any]) -> dict[Any, list[ForgottenFacts]]:
    """Return what the messages asked to forget, by message; without texts once it is deleted for good."""
    found: dict[Any, list[ForgottenFacts]] = {}
    made = Deletion.objects.filter(message__in=question_ids, retraction__isnull=True)
    made = made.exclude(state=DeletionState.UNDONE)
    for deletion in made.order_by("pressed_at").prefetch_related("facts"):
        is_pending = deletion.state == DeletionState.PENDING
        texts = [fact.text for fact in deletion.facts.all() if fact.superseded_at is None]
        found.setdefault(deletion.message_id, []).append(
            ForgottenFacts(deletion.pk, texts if is_pending else [])
        )
    return found


def _find_retracted(question_ids: list[Any]) -> dict[Any, list[RetractedFacts]]:
    """Return what was taken back when these messages replaced others and can be undone, by message."""
    pending = Deletion.objects.pending().filter(message__in=question_ids, retraction__isnull=False)
    rows = list(pending.prefetch_related("facts"))
    keys = {key for deletion in rows for key, _ in (deletion.retraction or {})["revived"]}
    revived = {str(fact.pk): fact.text for fact in Fact.objects.live().filter(pk__in=keys)} if keys else {}
    found: dict[Any, list[RetractedFacts]] = {}
    for deletion in rows:
        texts = [fact.text for fact in deletion.facts.all() if fact.superseded_at is None]
        again = [revived[key] for key, _ in (deletion.retraction or {})["revived"] if key in revived]
        if texts or again:
            shown = RetractedFacts(deletion.pk, texts, again)
            found.setdefault(deletion.message_id, []).append(shown)
    return found


def _find_outcomes(question_ids: list[Any]) -> dict[Any, list[OutcomeView]]:
    """Return what came of the messages' requests, by message, without answered and pointless questions."""
    found: dict[Any, list[OutcomeView]] = {}
    live = Prefetch("candidates", Fact.objects.live().order_by("first_seen", "pk"), to_attr="offered")
    rows = RequestOutcome.objects.filter(message__in=question_ids, answered_at__isnull=True)
    for row in rows.prefetch_related(live):
        offered: list[Fact] = getattr(row, "offered", [])
        if offered or row.kind in (OutcomeKind.NOTHING, OutcomeKind.OFF):
            found.setdefault(row.message_id, []).append(OutcomeView(row.pk, row.kind, offered))
    return found


def _find_previous_seq(message: Message) -> int:
    earlier = Message.objects.filter(
        conversation=message.conversation_id, seq__lt=message.seq
    ).current_branch()
    return earlier.reverse().values_list("seq", flat=True).first() or 0


def _find_cleared_seq(message: Message) -> int | None:
    """Return the `seq` of the last message that /clear hides from the model; None where it hides none."""
    through = message.conversation.cleared_through
    if not through:
        return None
    hidden = Message.objects.filter(conversation=message.conversation_id, seq__lte=through).current_branch()
    return hidden.reverse().values_list("seq", flat=True).first()


def _find_questions(messages: list[Message]) -> dict[Any, Message]:
    """Return for each reply, by its id, the user message that it answers."""
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


def compute_window_share(report: PromptReport | None) -> int | None:
    """Return the percentage of the window in use after a reply; None without a usable report."""
    if report is None or not report.window:
        return None
    return min(100, round(100 * (report.prompt_tokens + report.completion_tokens) / report.window))


def _build_message_view(
    message: Message,
    report: PromptReport | None,
    live_ids: set[Any],
    effects: _Effects,
    question: Any,
    *,
    after: int,
    cleared: bool,
) -> MessageView:
    snapshot = hub.snapshot(str(message.conversation_id)) if _is_streaming(message) else None
    is_writing = snapshot is not None and snapshot["reply"] == str(message.pk)
    blocks = (
        snapshot["blocks"] if snapshot is not None and is_writing else render_blocks_cached(message.content)
    )
    return MessageView(
        id=message.pk,
        seq=message.seq,
        after=after,
        role=message.role,
        state=message.state,
        text=message.content,
        blocks=blocks,
        failure=describe(message.failure),
        reasoning=message.reasoning,
        reasoning_seconds=round(message.reasoning_seconds or 0),
        cut_off=message.cut_off,
        flagged=message.flagged,
        important=importance_of(message) >= IMPORTANT,
        name=message.name,
        calls=parse_tool_calls(message),
        cleared=cleared,
        created_at=message.created_at,
        used_count=sum(1 for i in report.facts if UUID(i) in live_ids) if report else 0,
        has_quotations=bool(report and report.sections.get("past_chats")),
        learned=effects.learned.get(question, []),
        ended=effects.ended.get(question, []),
        forgotten=effects.forgotten.get(question, []),
        retracted=effects.retracted.get(question, []),
        outcomes=effects.outcomes.get(question, []),
        # Only the reply whose prompt was compacted, not each reply after it.
        compacted=bool(report and report.stage and (report.cut_messages or report.summarised)),
        summarised=bool(report and report.summarised),
        shortened=bool(report and report.shortened),
        has_report=report is not None and bool(report.window),
        share=compute_window_share(report),
    )
