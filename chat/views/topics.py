"""What a conversation is about: its topics, how long they are kept in mind, and how much they matter."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import OuterRef, Subquery
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.views.decorators.http import require_GET, require_POST

from chat.actions import topics as actions
from chat.actions.storage import active_topic
from chat.models import Conversation, Message, Topic
from chat.topics.decay import half_life, memory_type

from .answers import refused
from .scope import HtmxHttpRequest, own_conversation, own_topic

# The page offers three; any share from 0 to 1 may be set elsewhere.
LEVELS = ((0.25, lazy("Low")), (0.5, lazy("Medium")), (1.0, lazy("Full")))
_KINDS = {
    "short-term": lazy("short-term"),
    "transitioning": lazy("settling"),
    "long-term": lazy("long-term"),
}
_DAY = timedelta(days=1)


@dataclass(slots=True)
class Row:
    """One topic ready for its template."""

    topic: Topic
    packed: int
    first: Any
    is_active: bool

    @property
    def title(self) -> str:
        """Return the title, with a sign where the message went on."""
        text = self.topic.title
        return f"{text.rstrip()}…" if len(text) == actions.TITLE else text

    @property
    def kind(self) -> Any:
        """Return in a word how well the topic has settled."""
        return _KINDS[memory_type(self.topic.access_count)]

    @property
    def days(self) -> int:
        """Return after how many days without a word the topic counts half."""
        return half_life(self.topic.access_count) // _DAY

    @property
    def levels(self) -> list[tuple[str, Any, bool]]:
        """Return the steps of importance: value, label, whether it is the one in force."""
        nearest = min(LEVELS, key=lambda level: abs(level[0] - self.topic.importance))
        return [(str(value), label, (value, label) == nearest) for value, label in LEVELS]


@require_GET
def topics(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """List a conversation's topics, the last active first, and below them those that have retired."""
    found = own_conversation(request, pk)
    shown = _rows(found)
    context = {
        "chat": found,
        "current": [row for row in shown if row.topic.retired_at is None],
        "retired": [row for row in shown if row.topic.retired_at is not None],
    }
    return render(request, "chat/topics.html", context)


@require_POST
def importance(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Set how much a topic matters."""
    found = own_topic(request, pk)
    back = reverse("topics", args=[found.conversation_id])
    try:
        actions.set_importance(found, float(request.POST.get("importance", "")))
    except ValueError:
        return refused(request, _("Choose low, medium or full."), 422, back)
    if not request.htmx:
        return redirect(f"{back}#topic-{found.pk}")
    [row] = [row for row in _rows(found.conversation) if row.topic.pk == found.pk]
    return render(request, "chat/_topic.html", {"row": row})


def _rows(conversation: Conversation) -> list[Row]:
    first = Message.objects.filter(topic=OuterRef("pk")).shown().values("pk")[:1]
    rows = Topic.objects.filter(conversation=conversation).with_counts().annotate(first=Subquery(first))
    active = active_topic(conversation.pk)
    return [
        Row(topic, topic.packed, topic.first, topic.pk == active)  # type: ignore[attr-defined]
        for topic in rows.order_by("-last_active_at")
    ]
