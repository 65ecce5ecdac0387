"""What a page asks every second where no WebSocket reaches it: the frames that its socket would send."""

from __future__ import annotations

import logging
from typing import Any

from django.db import DatabaseError
from django.db.models import Count, Max
from django.http import JsonResponse
from django.views.decorators.http import require_GET

from chat.access import HtmxHttpRequest, own_conversation, uuid_or_404
from chat.actions.conversation_jobs import postpone_ends_while_polled
from chat.generation import elsewhere
from chat.generation.hub import Frame, hub
from chat.llm.registry import registry
from chat.models import Conversation, Fact, FactEvent, Message, Role

logger = logging.getLogger(__name__)


@require_GET
def poll(request: HtmxHttpRequest) -> JsonResponse:
    """Return frames, and a stamp of the state that they lead to, which the page sends with its next request.

    `conversation` is the one that the page shows, `reply` the reply that it shows as being written, `model`
    the state of the model that it shows. Without a stamp only the reply's frames are returned.
    """
    given = request.GET.get("conversation", "")
    found = own_conversation(request, uuid_or_404(given)) if given else None
    if found is not None:
        _keep_open(found)
    stamp = _compute_stamp(request.user, found)
    frames = _describe_reply(found, request.GET.get("reply", ""))
    if old := request.GET.get("stamp"):
        frames += _describe_changes(old.split("|"), stamp, found)
    if request.GET.get("model") not in ("", None, registry.status().state.value):
        frames.append({"type": "model"})
    return JsonResponse({"stamp": "|".join(stamp), "frames": frames})


def _keep_open(found: Conversation) -> None:
    """Let the conversation of a page that asks end no sooner than that of a page with a socket."""
    try:
        postpone_ends_while_polled(found)
    except DatabaseError:
        # The next request postpones it.
        logger.warning("the end of a conversation could not be postponed", exc_info=True)


def _describe_reply(found: Conversation | None, shown: str) -> list[Frame]:
    """Return the text so far of the reply that is being written; `done` where the shown one has ended."""
    conversation = str(found.pk) if found is not None else None
    live = hub.snapshot(conversation) if conversation else None
    frames = [live] if live is not None else []
    if not shown or (live is not None and live["reply"] == shown):
        return frames
    if not elsewhere.is_expected(shown, conversation):
        frames.append({"type": "done", "reply": shown})
    return frames


def _compute_stamp(owner: Any, found: Conversation | None) -> list[str]:
    """Return what changes with the list of conversations, with memory, and with the shown conversation."""
    listed = Conversation.objects.for_owner(owner).not_deleted()
    chats = listed.aggregate(count=Count("pk"), last=Max("updated_at"))
    # Each change of a fact writes an event; a deletion for good removes rows.
    facts = Fact.objects.for_owner(owner).aggregate(count=Count("pk"))
    event = FactEvent.objects.for_owner(owner).aggregate(last=Max("created_at"))
    last = None
    if found is not None:
        last = Message.objects.filter(conversation=found).aggregate(last=Max("seq"))["last"]
    title = f"{found.title}-{found.pinned}" if found is not None else ""
    texts = (f"{chats['count']}-{chats['last']}", f"{facts['count']}-{event['last']}", f"{last}", title)
    return [text.replace("|", "") for text in texts]


def _describe_changes(old: list[str], new: list[str], found: Conversation | None) -> list[Frame]:
    changed = [before != now for before, now in zip(old, new, strict=False)]
    if len(old) != len(new):
        changed = [True] * len(new)
    chats, facts, messages, title = changed
    frames: list[Frame] = []
    if messages and found is not None:
        frames.append({"type": "messages", "conversation": str(found.pk)})
    if chats or title:
        frames.append({"type": "conversations"})
    if facts:
        # The reply to the last message lists what was learned from it.
        asked = Message.objects.filter(conversation=found, role=Role.USER).order_by("-seq") if found else None
        ids = [str(pk) for pk in asked.values_list("pk", flat=True)[:1]] if asked is not None else []
        frames.append({"type": "facts", "messages": ids})
    return frames
