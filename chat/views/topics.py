"""Views that list the topics of a conversation and set their importance."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import OuterRef, Subquery
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext_lazy as lazy
from django.views.decorators.http import require_GET, require_POST

from chat.access import HtmxHttpRequest, own_conversation, own_topic
from chat.actions import topics as actions
from chat.actions.topic_archive import find_active_topic
from chat.errors import Refused
from chat.models import Conversation, Message, Topic
from chat.topics.decay import classify_memory_type, compute_half_life

from .responses import respond_with_error

# The three steps of the page; REST accepts any value from 0 to 1.
IMPORTANCE_LEVELS = ((0.25, lazy("Low")), (0.5, lazy("Medium")), (1.0, lazy("Full")))
_KINDS = {
    "short-term": lazy("short-term"),
    "transitioning": lazy("settling"),
    "long-term": lazy("long-term"),
}
_DAY = timedelta(days=1)


@dataclass(slots=True)
class TopicRow:
    """One topic as its template shows it; `packed` counts archived messages, `first` is a message id."""

    topic: Topic
    packed: int
    first: Any
    is_active: bool

    @property
    def title(self) -> str:
        """Return the title, with an ellipsis where it was cut."""
        text = self.topic.title
        return f"{text.rstrip()}…" if len(text) == actions.MAX_TITLE else text

    @property
    def kind(self) -> Any:
        """Return the label of the topic's memory type."""
        return _KINDS[classify_memory_type(self.topic.access_count)]

    @property
    def days(self) -> int:
        """Return the half-life of the topic in whole days."""
        return compute_half_life(self.topic.access_count) // _DAY

    @property
    def levels(self) -> list[tuple[str, Any, bool]]:
        """Return value and label of each step, and whether it is nearest to the present importance."""
        nearest = min(IMPORTANCE_LEVELS, key=lambda level: abs(level[0] - self.topic.importance))
        return [(str(value), label, (value, label) == nearest) for value, label in IMPORTANCE_LEVELS]


@require_GET
def topic_list(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """List the topics of a conversation, the last active first, then the retired ones."""
    found = own_conversation(request, pk)
    rows = _load_rows(found)
    context = {
        "chat": found,
        "current": [row for row in rows if row.topic.retired_at is None],
        "retired": [row for row in rows if row.topic.retired_at is not None],
    }
    return render(request, "chat/topics.html", context)


@require_POST
def set_importance(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Set the importance of a topic."""
    found = own_topic(request, pk)
    back = reverse("conversation_topics", args=[found.conversation_id])
    try:
        actions.set_importance(found, float(request.POST.get("importance", "")))
    except ValueError:
        return respond_with_error(request, Refused("importance-unknown"), back)
    if not request.htmx:
        return redirect(f"{back}#topic-{found.pk}")
    [row] = [row for row in _load_rows(found.conversation) if row.topic.pk == found.pk]
    return render(request, "chat/_topic.html", {"row": row})


def _load_rows(conversation: Conversation) -> list[TopicRow]:
    first = Message.objects.filter(topic=OuterRef("pk")).current_branch().values("pk")[:1]
    rows = Topic.objects.filter(conversation=conversation).with_counts().annotate(first=Subquery(first))
    active = find_active_topic(conversation.pk)
    return [
        TopicRow(topic, topic.packed, topic.first, topic.pk == active)  # type: ignore[attr-defined]
        for topic in rows.order_by("-last_active_at")
    ]
