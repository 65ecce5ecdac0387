"""Asks the model for the facts in a text of an owner, and stores nothing but the cost of the call."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import numpy as np
from numpy.typing import NDArray

from chat.errors import PromptTooLong
from chat.llm.registry import registry
from chat.llm.time_limit import limit_time
from chat.llm.types import Lane, StopFlag
from chat.memory import clauses, extractor, speech_acts
from chat.memory.candidates import Extraction, RefusedFact
from chat.memory.durability import judge_durability
from chat.memory.extract import extract_facts
from chat.memory.ground import FOR_NOW
from chat.memory.mask import count_words
from chat.models import Durability, User

from . import graph
from .owners import local_day_of, redacts_secrets
from .usage import AccountedProvider, account_calls

# A cold model reads the prompt of extraction for up to 50 seconds on two cores, and a text makes up to eight
# calls. Programs wait as long for a reply.
MAX_SECONDS = 120.0
# Words of a sentence such as "I'm also building a plugin called Spoon".
_SHORT = 8


def extract_from_text(owner: User, text: str, question: str = "") -> Extraction:
    """Return the facts that the model finds in a text of the owner, as it would in a message; stores nothing.

    `question` is what the assistant had asked before. Blocks up to `MAX_SECONDS`, so call it outside any
    transaction. Raises ModelTooSlow after that time, ModelNotReady where there is no model, and other
    ProviderErrors. Answers that cannot be parsed and texts that do not fit into the window set `error`.
    """
    today = local_day_of(owner.pk)
    # A program waits for the answer, so the calls precede background work; replies still precede them.
    with account_calls(registry.provider(), owner.pk) as provider, limit_time(MAX_SECONDS) as stop:
        found = ask_extractor(
            provider, owner, text, question=question, today=today, lane=Lane.INTERACTIVE, stop=stop
        )
    embed_lasting_candidates(found)
    return found


def ask_extractor(
    provider: AccountedProvider,
    owner: User,
    text: str,
    *,
    question: str,
    today: date | None,
    lane: Lane,
    playing: bool = False,
    stop: StopFlag | None = None,
) -> Extraction:
    """Return what the model finds in a text of the owner, with the owner's settings; stores nothing.

    The arguments are those of `extract_facts`. A text that never fits into the window sets `error`. Raises
    the other ProviderErrors.
    """
    try:
        found = extract_facts(
            provider,
            text,
            question=question,
            today=today,
            playing=playing,
            lane=lane,
            redacting=redacts_secrets(owner.pk),
            own_names=graph.list_own_names(owner),
            stop=stop,
        )
    except PromptTooLong as reason:
        return Extraction(error=reason.reason.encode())
    if found.error:
        provider.mark_failed(extractor.SLOT)
    return found


def _is_short_statement(sentence: str) -> bool:
    """Return whether a sentence is so short that the model can hardly misread it, and states a fact."""
    return count_words(sentence) <= _SHORT and clauses.is_likely_statement(sentence)


def embed_lasting_candidates(found: Extraction) -> list[NDArray[np.float32] | None]:
    """Refuse the candidates that will not matter in a month, mark the doubtful ones, and return the vectors
    of the others: float32 of shape (dimensions,), None without an embedder.

    What the user asked to remember, or asked for from now on, and what ends on a day ahead, is lasting.
    """
    embedder = registry.embedder()
    if embedder is None or not found.candidates:
        return [None] * len(found.candidates)
    given = found.candidates
    both = embedder.embed([c.text for c in given] + [c.quote for c in given])
    vectors: list[NDArray[np.float32] | None] = []
    found.candidates = []
    for candidate, text, quote in zip(given, both, both[len(given) :], strict=False):
        durability = judge_durability(text, quote, embedder.name)
        # What has a day ahead is kept until it is over.
        is_ahead = candidate.dates.holds_until is not None
        is_plain = durability is Durability.DOUBTFUL and _is_short_statement(candidate.quote)
        is_standing = speech_acts.is_standing_request(candidate.quote)
        if candidate.explicit or candidate.in_own_words or is_ahead or is_plain or is_standing:
            durability = Durability.LASTING
        if durability is Durability.PASSING:
            found.refused.append(RefusedFact(candidate.text, FOR_NOW))
        else:
            found.candidates.append(replace(candidate, durability=durability))
            vectors.append(text)
    return vectors
