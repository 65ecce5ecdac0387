"""Extracts facts from messages: the model reads a message, its candidates are compared with known facts, and
actions store the result.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import partial
from typing import Any

import numpy as np
from django.utils import timezone
from numpy.typing import NDArray

from chat.actions import (
    deletions,
    events,
    extraction,
    kept_out,
    unread_messages,
)
from chat.actions.owners import local_day_of, redacts_secrets
from chat.actions.text_extraction import ask_extractor, embed_lasting_candidates
from chat.actions.usage import AccountedProvider, account_calls
from chat.generation import run as generation
from chat.llm.registry import registry
from chat.llm.types import Lane
from chat.memory import clauses, judge, meant_facts, memory_requests, roleplay, speech_acts
from chat.memory.candidates import Extraction, RefusedFact
from chat.memory.changed_facts import FactChanges, find_changes
from chat.memory.consolidate import Action, Opinion
from chat.memory.judge import Verdict, judge_candidate, judge_ending
from chat.memory.kept_out import leave_out_forgotten
from chat.memory.language import detect_language
from chat.memory.own_words import quote_sentence
from chat.memory.sentences import split_clauses
from chat.models import Conversation, Fact, MemoryMode, Message, Role
from chat.topics.contents import is_content_lost, load_contents

from . import schedule
from .forget_requests import forget_on_request
from .registry import Postpone, handles, wait_for_energy

# A role-play without an end is assumed to be over after this many user messages.
_PLAY_MESSAGES = 20


_DENIED = "the user said that it is wrong"


@dataclass(slots=True)
class _Opinions:
    """The model's judgements on the candidates and on the sentences that end facts."""

    candidates: list[Verdict] = field(default_factory=list)
    endings: list[Verdict] = field(default_factory=list)

    @property
    def failure(self) -> str:
        """The first failure among the judgements, "" where there is none."""
        return next((v.failure for v in (*self.candidates, *self.endings) if v.failure), "")


def extract_message(message: Message) -> None:
    """Extract facts from one message and store them. Raises ModelNotReady and Unfinished."""
    started = time.monotonic()
    owner = message.conversation.owner
    if is_content_lost(message):
        _store_result(message, Extraction(error="extraction-given-up"), [], "", _Opinions(), 0.0)
        return
    if deletions.find_clear_after(owner, message.said_at) is not None:
        # The owner deleted all memories after this message was written, so nothing may be extracted from it.
        _store_result(message, Extraction(), [], "", _Opinions(), 0.0)
        return
    earlier = _load_earlier_messages(message)
    is_kept_out = bool(earlier) and memory_requests.keeps_out_next_message(earlier[-1])
    kept_out.mark_requested(message, whole=is_kept_out)
    if is_kept_out:
        unread = Extraction(refused=[RefusedFact("", speech_acts.KEPT_OUT)])
        _store_result(message, unread, [], "", _Opinions(), 0.0)
        return
    message = leave_out_forgotten(message)
    # What the user asks of memory does not wait behind background work.
    lane = Lane.INTERACTIVE if memory_requests.must_be_obeyed_at_once(message.content) else Lane.BACKGROUND
    embedder = registry.embedder()
    name = embedder.name if embedder else ""
    with account_calls(registry.provider(), owner.pk) as provider:
        # A message that will never fit is stored with its error, so that later messages are extracted.
        found = ask_extractor(
            provider,
            owner,
            message.content,
            question=_load_question(message),
            today=_local_date(message),
            # An earlier message began a role-play that no later one has ended.
            playing=roleplay.is_roleplay_active(earlier),
            lane=lane,
        )
        vectors: list[Any] = embed_lasting_candidates(found)
        is_needed = found.candidates or found.sentences or found.to_forget or found.denials
        live = list(Fact.objects.for_owner(owner).live()) if is_needed else []
        changes = find_changes(found.sentences, live, embedder)
        _add_new_values(message, found, vectors, changes)
        opinions = _judge(provider, found, vectors, live, name, changes, lane)
        forget_on_request(provider, message, found.to_forget, live)
        _end_denied_facts(found, live, vectors, opinions)
    _store_result(message, found, vectors, name, opinions, time.monotonic() - started)


def _add_new_values(message: Message, found: Extraction, vectors: list[Any], changes: FactChanges) -> None:
    """Add the sentences that give a stored fact a new value as candidates, in the user's own words."""
    embedder = registry.embedder()
    for sentence, kind in changes.list_new_values(found.candidates, vectors).items():
        redacting = redacts_secrets(message.conversation.owner_id)
        language = detect_language(sentence)
        candidate = quote_sentence(
            sentence, language, _local_date(message), redacting, found.candidates, new_value_of=kind
        )
        if candidate is not None and embedder is not None:
            found.candidates.append(candidate)
            vectors.append(embedder.embed([candidate.text])[0])


def _judge(
    provider: AccountedProvider,
    found: Extraction,
    vectors: Sequence[NDArray[np.float32] | None],
    live: Sequence[Fact],
    embedder: str,
    changes: FactChanges,
    lane: Lane,
) -> _Opinions:
    opinions = _Opinions()
    if not live:
        return opinions
    for candidate, vector in zip(found.candidates, vectors, strict=True):
        if (opinion := changes.take_for(candidate, vector)) is not None:
            opinions.candidates.append(Verdict(opinion))
        else:
            verdict = judge_candidate(provider, candidate, vector, live, embedder, lane=lane)
            opinions.candidates.append(verdict)
    opinions.endings += [Verdict(opinion) for opinion in changes.take_endings()]
    for sentence in found.endings:
        if not changes.is_settled(sentence):
            verdict = judge_ending(provider, sentence, live, found.candidates, lane=lane)
            opinions.endings.append(verdict)
    if opinions.failure:
        provider.mark_failed(judge.SLOT)
    return opinions


def _end_denied_facts(
    found: Extraction,
    live: Sequence[Fact],
    vectors: list[Any],
    opinions: _Opinions,
) -> None:
    """Let the facts end that the message says are wrong, and remove the candidates that only deny them."""
    denied: list[Fact] = []
    sentences = []
    for denial in found.denials:
        facts = meant_facts.find_denied_facts(denial.sentence, live, said_wrong=denial.said_wrong)
        denied += facts
        sentences += [denial.sentence] if facts else []
    for fact in denied:
        opinions.endings.append(Verdict(Opinion(Action.END, fact.pk, fact.version, _DENIED)))
    for index in reversed(range(len(found.candidates))):
        candidate = found.candidates[index]
        is_denial = (
            candidate.in_own_words
            and not candidate.explicit
            and any(said in candidate.quote for said in sentences)
            and not _affirms_fact(candidate.quote)
        )
        if is_denial or meant_facts.restates_denied(candidate.text, denied):
            del found.candidates[index], vectors[index]
            del opinions.candidates[index : index + 1]


def _affirms_fact(sentence: str) -> bool:
    """Return whether a clause of a sentence states a fact without a negation: "I play the viola, not the
    violin".
    """
    return any(
        clauses.states_fact(clause) and not memory_requests.is_negated_by_words(clause)
        for clause in split_clauses(sentence)
    )


def _store_result(
    message: Message,
    found: Extraction,
    vectors: list[Any],
    embedder: str,
    opinions: _Opinions,
    seconds: float,
) -> None:
    found.error = found.error or opinions.failure
    try:
        extraction.record_extraction(
            message,
            found,
            vectors,
            embedder,
            seconds,
            opinions=[verdict.opinion for verdict in opinions.candidates],
            endings=[verdict.opinion for verdict in opinions.endings if verdict.opinion],
        )
    except deletions.Undecided as reason:
        raise Postpone(reason.until) from reason


def _load_question(message: Message) -> str:
    """Return the assistant's message before this one, which gives a short answer its meaning; facts are never
    taken from it.
    """
    before = (
        Message.objects.filter(conversation=message.conversation).current_branch().filter(seq__lt=message.seq)
    )
    last = load_contents(before.reverse()[:1])
    return last[0].content if last and last[0].role == Role.ASSISTANT else ""


def _load_earlier_messages(message: Message) -> list[str]:
    """Return the texts of the user's messages before this one, oldest first, at most _PLAY_MESSAGES."""
    earlier = Message.objects.filter(conversation=message.conversation, role=Role.USER).current_branch()
    newest = load_contents(earlier.filter(seq__lt=message.seq).reverse()[:_PLAY_MESSAGES])
    return [m.content for m in newest[::-1]]


def _local_date(message: Message) -> date | None:
    """Return the local date of the user when the message was written; None where that is unknown."""
    if message.date_inferred:
        return None
    return local_day_of(message.conversation.owner_id, message.created_at)


# Extraction waits this long while a reply is being written, since both need the model. The end of a reply
# requests the extraction of its own conversation; this delay is for the others.
_AFTER_REPLY = timedelta(seconds=5)


@handles("extract")
def extract_conversation(payload: dict[str, Any]) -> None:
    """Extract each user message after the conversation's watermark, oldest first.

    Raises Postpone while a reply is being written in any conversation, unless messages were flushed.
    """
    while True:
        there = Conversation.objects.not_deleted().select_related("owner")
        conversation = there.filter(pk=payload["conversation"]).first()
        if conversation is None or conversation.memory_mode != MemoryMode.ON:
            return
        # A flushed conversation is extracted at once: the engine's priorities keep replies fast.
        if generation.count_running() and not conversation.has_flushed_messages:
            raise Postpone(timezone.now() + _AFTER_REPLY)
        message = Message.objects.not_extracted(conversation).select_related("conversation__owner").first()
        if message is None:
            return
        wait_for_energy(
            conversation.owner_id, unless=partial(unread_messages.has_explicit_request, conversation)
        )
        # A program's session may have packed it before it was read.
        [message] = load_contents([message])
        extract_message(message)
        events.send_now(conversation.owner_id, {"type": "chat", "conversation": str(conversation.pk)})


@handles("sweep_looks", quick=True, again=schedule.next_sweep)
def sweep_unread_messages(payload: dict[str, Any]) -> None:
    """Request extraction for messages whose own job was lost or failed."""
    unread_messages.queue_unread_messages(timezone.now())
