"""What each kind of job does: fetch, ask memory, apply through actions. Thin on purpose."""

from __future__ import annotations

import contextlib
import logging
from datetime import timedelta
from functools import partial
from typing import Any

from django.utils import timezone

from chat.actions import (
    conversations,
    deletions,
    events,
    facts,
    graph,
    importing,
    jobs,
    looks,
    messages,
    overdue,
    prompts,
    vectors,
)
from chat.actions.accounts import accounted
from chat.context import prepared
from chat.generation import run as generation
from chat.generation.hub import hub
from chat.llm.registry import registry
from chat.llm.types import ModelNotReady
from chat.memory.asking import forget_texts
from chat.memory.classify import classify
from chat.models import Conversation, Fact, MemoryMode, Message

from . import schedule
from .look import look
from .prepare import prepare
from .registry import Postpone, handles
from .thrift import wait_for_energy
from .warm import background_prompts, rewarm

logger = logging.getLogger(__name__)

# A minute of reading each: the conversations that somebody is most likely to go on with.
_REWARMED = 2
# While a reply is being written the look waits; the model would only be taken from it (design §5, "When").
# A reply's end asks for the look at its own conversation again; this is for the other conversations.
_STOPPING_SECONDS = 1.0
_AFTER_REPLY = timedelta(seconds=5)


@handles("extract")
def extract_conversation(payload: dict[str, Any]) -> None:
    """Look at each user message past the watermark, one at a time, oldest first."""
    while True:
        there = Conversation.objects.kept().select_related("owner")
        conversation = there.filter(pk=payload["conversation"]).first()
        if conversation is None or conversation.memory_mode != MemoryMode.ON:
            return
        # The engine's lanes see to it that a reply is not slower for what outranks idleness.
        if generation.running() and not conversation.is_flushed:
            raise Postpone(timezone.now() + _AFTER_REPLY)
        message = Message.objects.unread_by_memory(conversation).select_related("conversation__owner").first()
        if message is None:
            return
        wait_for_energy(unless=partial(looks.is_asked_for, conversation))
        look(message)
        events.send_now(conversation.owner_id, {"type": "chat", "conversation": str(conversation.pk)})


@handles("settle")
def settle_fact(payload: dict[str, Any]) -> None:
    """Let the model sort a fact that was just written by hand, and embed it."""
    fact = Fact.objects.filter(pk=payload["fact"], version=payload["version"]).first()
    if fact is None:
        return
    kind, subject = fact.kind, fact.subject
    if facts.is_unsorted(fact):
        with accounted(registry.provider(), fact.owner_id, "classify") as provider:
            kind, _, subject = classify(provider, fact.text)
    embedder = registry.embedder()
    vector = embedder.embed([fact.text])[0].tobytes() if embedder else None
    facts.settle(
        fact.pk,
        payload["version"],
        kind=kind,
        subject=subject,
        vector=vector,
        embedder=embedder.name if embedder else "",
    )


@handles("prepare", slow=True)
def prepare_prompt(payload: dict[str, Any]) -> None:
    """Make a conversation's next compaction ready, so that nobody waits for it."""
    prepare(payload)


@handles("reindex", model=False)
def reindex(payload: dict[str, Any]) -> None:
    """Embed anew what was embedded by another embedder, or by none."""
    embedder = registry.embedder()
    while embedder is not None and (stale := vectors.outdated(embedder.name)):
        vectors.store(stale, list(embedder.embed([fact.text for fact in stale])), embedder.name)


@handles("finish_deletion", quick=True)
def finish_deletion(payload: dict[str, Any]) -> None:
    """Forget for good what nobody undid in time; raises Postpone while it can be undone still."""
    now, key = timezone.now(), payload["deletion"]
    if not deletions.finish(key, now) and (due := deletions.due(key)) is not None:
        raise Postpone(due)


@handles("catch_up_graph", quick=True)
def catch_up_graph(payload: dict[str, Any]) -> None:
    """Read facts from before there was a graph, a batch a run."""
    last = graph.catch_up(payload.get("after"))
    if last is not None:
        jobs.enqueue("catch_up_graph", {"after": last})


@handles("finish_import", quick=True)
def finish_import(payload: dict[str, Any]) -> None:
    """Do what an import that was killed once all was shown has left."""
    importing.finish(payload["owner"], payload["facts"])


@handles("end_idle", quick=True)
def end_idle(payload: dict[str, Any]) -> None:
    """End a conversation that nobody has written in or looked at for a while."""
    now = timezone.now()
    # Its page may have been opened by a link; that it is closed asks anew.
    again = now + messages.IDLE_END if hub.is_watched(payload["conversation"]) else None
    again = again or conversations.end_if_idle(payload["conversation"], now)
    if again is not None:
        raise Postpone(again)


@handles("discard", quick=True)
def discard(payload: dict[str, Any]) -> None:
    """Delete temporary conversations whose pages were closed and have not come back."""
    for key in payload["conversations"]:
        if hub.is_watched(key):
            # A page says when it is closed; a program that follows a reply does not.
            conversations.discard_when_left(key)
        else:
            generation.stop_in(key, patience=_STOPPING_SECONDS)
            conversations.discard(key)


@handles("free_caches", quick=True)
def free_caches(payload: dict[str, Any]) -> None:
    """Let the model drop what it has read of forgotten words; a process without a model has read none."""
    forget_texts()
    touched = payload["conversations"]
    ahead = [prepared.slot_of(key) for key in touched]
    with contextlib.suppress(ModelNotReady):
        registry.provider().forget([*touched, *ahead], keep=background_prompts())
    recent = Conversation.objects.kept().filter(pk__in=touched, ended_at__isnull=True).order_by("-updated_at")
    for conversation in recent[:_REWARMED]:
        jobs.enqueue("warm", {"conversation": str(conversation.pk)}, key=f"warm:{conversation.pk}")


@handles("warm", slow=True)
def warm_conversation(payload: dict[str, Any]) -> None:
    """Read a conversation's prompt anew, so that its next reply does not wait for it."""
    rewarm(payload)


@handles(schedule.KIND, quick=True, again=schedule.next_of_all)
def nightly(payload: dict[str, Any]) -> None:
    """Let memory fade, empty the archive and delete old conversations, for every owner who asked for it."""
    schedule.tonight(timezone.now())


@handles("sweep_deletions", quick=True, again=schedule.half_an_hour_later)
def sweep_deletions(payload: dict[str, Any]) -> None:
    """Forget what was pressed and whose own job was lost or failed, and remove what killed imports left."""
    deletions.finish_overdue(timezone.now())
    importing.remove_abandoned()
    importing.remove_old()


@handles("sweep_graph", quick=True, again=schedule.half_an_hour_later)
def sweep_graph(payload: dict[str, Any]) -> None:
    """Have the graph read what it has not yet."""
    jobs.enqueue("catch_up_graph", {}, key="catch_up_graph")


@handles("sweep_looks", quick=True, again=schedule.half_an_hour_later)
def sweep_looks(payload: dict[str, Any]) -> None:
    """Have messages read whose own job was lost or has given up."""
    overdue.see_to_unread(timezone.now())


@handles("sweep_summaries", quick=True, again=schedule.half_an_hour_later)
def sweep_summaries(payload: dict[str, Any]) -> None:
    """Have long conversations summed up that nobody sees to."""
    for conversation, tokens, window in prompts.lagging(timezone.now()):
        prompts.ask_to_prepare(conversation, tokens, window)
