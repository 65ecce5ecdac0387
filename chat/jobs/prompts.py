"""Reads prompts in advance and prepares compactions, so that replies start sooner."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from django.db import close_old_connections
from django.utils import timezone

from chat.actions import energy, jobs, processes, prompts, summaries
from chat.actions.usage import account_calls
from chat.context import budget, compaction, precompute, title
from chat.context.prompt import DEFAULT_PERSONA
from chat.context.strategies import uses_summary
from chat.errors import ModelNotReady, ProviderError, Unfinished
from chat.generation.hub import hub
from chat.llm.embedder import forget_vectors
from chat.llm.registry import registry
from chat.llm.types import Provider, Turn
from chat.memory import app_memories, consolidation_prompt, extraction_prompt, extractor, judge
from chat.memory.language import detect_language
from chat.memory.query_intent import clear_text_caches
from chat.models import Conversation
from chat.past_chats.vector_search import bit_cache

from . import schedule
from .registry import handles, wait_for_energy

logger = logging.getLogger(__name__)

_PATIENCE_SECONDS = 600.0


def start_warming() -> None:
    """Run `warm_fixed_prompts` in a daemon thread.

    Its work has background priority, so requests of the user come first.
    """
    threading.Thread(target=warm_fixed_prompts, name="warm-prompts", daemon=True).start()


def warm_fixed_prompts() -> None:
    """Let the model read the beginnings that all prompts share, once it is loaded.

    It is part of the start and uses no energy.
    """
    _warm_text_models()
    _load_past_chats()
    if not registry.wait_ready(_PATIENCE_SECONDS):
        return
    try:
        provider = registry.provider()
    except ModelNotReady:
        # Another model was chosen at this moment.
        return
    # Only the engine in this process has it, and a server whose model is elsewhere may have none.
    prefill = getattr(provider, "prefill_fixed", None)
    if prefill is None:
        return
    try:
        # They use no energy: they are read once for all owners; on a slow machine their cost alone would use
        # up the energy that the first extractions need.
        prefill([Turn("system", DEFAULT_PERSONA), Turn("user", "")], slot="persona")
        for slot, turns in background_prompts().items():
            prefill(turns, slot=slot, background=True)
    except ProviderError:
        # The prompt is read when it is needed.
        return
    finally:
        energy.save_meter()
        close_old_connections()


def rewarm_conversation(payload: dict[str, Any]) -> None:
    """Read a conversation's prompt again after facts in it were deleted, unless it has ended."""
    open_ones = (
        Conversation.objects.not_deleted().select_related("owner", "app").filter(ended_at__isnull=True)
    )
    conversation = open_ones.filter(pk=payload["conversation"]).first()
    if conversation is None:
        return
    wait_for_energy(conversation.owner_id)
    provider = registry.provider()
    turns = precompute.build_next_turns(conversation, provider)
    if turns is not None:
        read_in_advance(provider, conversation, turns)


def read_in_advance(provider: Provider, conversation: Conversation, turns: list[Turn]) -> None:
    """Let the model read the beginning of a conversation's next prompt, into a slot of its own.

    It is read message by message, so that an extraction can run in between. Raises ModelNotReady and
    Unfinished; other errors of the provider are logged, since the reply then only starts later.
    """
    slot = compaction.next_prompt_slot(conversation.pk)
    try:
        with account_calls(provider, conversation.owner_id) as asked:
            for end in range(1, len(turns)):
                if turns[end].role == "user":
                    asked.prefill([*turns[:end], Turn("user", "")], slot=slot)
    except (ModelNotReady, Unfinished):
        raise
    except ProviderError:
        logger.warning("the next prompt could not be read in advance")


def _warm_text_models() -> None:
    """Load what analyses a message, about a second's work, so that the first message need not wait for it."""
    detect_language("The first message is in this language.")
    embedder = registry.embedder()
    if embedder is not None:
        # In Python 3.11, ast.literal_eval raises SystemError if two threads call it at the same moment
        # (gh-106905). numpy calls it when it reads the embedder's files. Its next call tries again.
        with suppress(OSError, SystemError):
            embedder.embed(["warm"])


def _load_past_chats() -> None:
    """Load the search by meaning for the owner who wrote last; 160,000 windows take over a second."""
    if (embedder := registry.embedder()) is None:
        return
    last = Conversation.objects.select_related("owner").order_by("-updated_at").first()
    if last is not None:
        bit_cache.load(last.owner, embedder.name)
    close_old_connections()


def background_prompts() -> dict[str, list[Turn]]:
    """Return the fixed beginnings of the background prompts by slot; caches of these may stay when facts are
    deleted.
    """
    return {
        extractor.SLOT: list(extraction_prompt.build_prompt("", "")),
        judge.SLOT: consolidation_prompt.build_prefix(),
        title.SLOT: title.build_prefix(),
        app_memories.SLOT: app_memories.build_prefix(),
    }


# Conversations whose prompt is read again: about a minute of model time each.
_REWARMED = 2


@handles("prepare", slow=True)
def prepare_prompt(payload: dict[str, Any]) -> None:
    """Prepare a conversation's next compaction."""
    prepare_compaction(payload)


@handles("warm", slow=True)
def warm_conversation(payload: dict[str, Any]) -> None:
    """Read a conversation's prompt again, so that its next reply starts sooner."""
    rewarm_conversation(payload)


def free_own_caches(conversations: Sequence[str]) -> None:
    """Remove the texts of these conversations from the caches of this process and of its model.

    With `processes.ALL_CACHES` among them, those of all conversations.
    """
    clear_text_caches()
    forget_vectors()
    ahead = [compaction.next_prompt_slot(key) for key in conversations]
    slots = None if processes.ALL_CACHES in conversations else [*conversations, *ahead]
    with contextlib.suppress(ModelNotReady):
        registry.provider().forget(slots, keep=background_prompts())


@handles("free_caches", quick=True)
def free_caches(payload: dict[str, Any]) -> None:
    """Remove deleted texts from the caches of all processes and of the model, then request the prompts of
    recent conversations again.
    """
    touched = payload["conversations"]
    hub.erase_texts(touched)
    processes.let_others_free_caches(touched)
    free_own_caches(touched)
    recent = (
        Conversation.objects.not_deleted()
        .filter(pk__in=touched, ended_at__isnull=True)
        .order_by("-updated_at")
    )
    for conversation in recent[:_REWARMED]:
        where = {"conversation": str(conversation.pk)}
        jobs.enqueue("warm", where, key=f"warm:{conversation.pk}", owner_id=conversation.owner_id)


@handles("sweep_summaries", quick=True, again=schedule.next_sweep)
def sweep_summaries(payload: dict[str, Any]) -> None:
    """Request summaries for long conversations whose own job was lost."""
    for conversation, tokens, window in prompts.find_unprepared(timezone.now()):
        prompts.queue_preparation(conversation, tokens, window)


def prepare_compaction(payload: dict[str, Any]) -> None:
    """Summarise the messages that the next compaction leaves out (from 60 % of the window on), and read the
    next prompt (from 70 % on). Raises ModelNotReady.
    """
    conversation = (
        Conversation.objects.not_deleted()
        .select_related("owner", "app")
        .filter(pk=payload["conversation"])
        .first()
    )
    if conversation is None:
        return
    provider = registry.provider()
    ready = precompute.precompute_compaction(conversation, provider)
    if ready is None:
        return
    leaving = ready[0].shape.trimmed_through
    if uses_summary(conversation.effective_strategy) and summaries.extend_conversation_summary(
        provider, conversation, leaving, partial(wait_for_energy, conversation.owner_id)
    ):
        conversation.refresh_from_db()
        ready = precompute.precompute_compaction(conversation, provider) or ready
    more = ready[0].shape.trimmed_through > conversation.trimmed_through
    if more and budget.should_precompute(payload["tokens"], payload["window"]):
        wait_for_energy(conversation.owner_id)
        _read_in_advance(provider, conversation, *ready)


def _read_in_advance(
    provider: Provider, conversation: Conversation, ready: compaction.PrecomputedCompaction, turns: list[Turn]
) -> None:
    """Store the next compaction and let the model read its prompt."""
    if prompts.record_prepared(conversation, ready):
        read_in_advance(provider, conversation, turns)
