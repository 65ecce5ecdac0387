"""What a page asks every second where no WebSocket reaches it: the frames that its socket would send."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Max
from django.http import JsonResponse
from django.views.decorators.http import require_GET

from chat.access import HtmxHttpRequest, own_conversation, uuid_or_404
from chat.generation.hub import Frame, hub
from chat.llm.registry import registry
from chat.models import Conversation, Fact, FactEvent, Message, Role


@require_GET
def poll(request: HtmxHttpRequest) -> JsonResponse:
    """Return frames, and a stamp of the state that they lead to, which the page sends with its next request.

    `conversation` is the one that the page shows, `reply` the reply that it shows as being written, `model`
    the state of the model that it shows. Without a stamp only the reply's frames are returned.
    """
    given = request.GET.get("conversation", "")
    found = own_conversation(request, uuid_or_404(given)) if given else None
    stamp = _compute_stamp(request.user, found)
    frames = _describe_reply(found, request.GET.get("reply", ""))
    if old := request.GET.get("stamp"):
        frames += _describe_changes(old.split("|"), stamp, found)
    if request.GET.get("model") not in ("", None, registry.status().state.value):
        frames.append({"type": "model"})
    return JsonResponse({"stamp": "|".join(stamp), "frames": frames})


def _describe_reply(found: Conversation | None, shown: str) -> list[Frame]:
    """Return the text so far of the reply that is being written; `done` where the shown one has ended."""
    live = hub.snapshot(str(found.pk)) if found is not None else None
    frames = [live] if live is not None else []
    if shown and (live is None or live["reply"] != shown):
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
