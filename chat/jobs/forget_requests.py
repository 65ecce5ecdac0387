"""Forgets the facts that a message asks to forget, or records what the page has to ask."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from chat.actions import deletions, request_outcomes
from chat.actions.usage import AccountedProvider
from chat.errors import Refused
from chat.llm.registry import registry
from chat.memory import meant_facts
from chat.memory.classify import classify_fact
from chat.memory.kinds import KINDS
from chat.memory.meant_facts import MeantFacts
from chat.models import Fact, Message, OutcomeKind


def forget_on_request(
    provider: AccountedProvider, message: Message, abouts: Sequence[str], live: Sequence[Fact]
) -> None:
    """Forget what the message asks to forget, or record what has to be asked. A killed process does it again.

    Where neither words nor meaning show which fact is meant, the model says of which kind it is; a kind with
    one value, such as the home, names the fact. A program cannot be asked: what its message means is
    forgotten, however much it is, and can be undone for longer.
    """
    window = deletions.PROGRAM_UNDO_WINDOW if message.by_program else deletions.REQUEST_UNDO_WINDOW
    outcomes: list[tuple[OutcomeKind, Sequence[Fact]]] = []
    for about in abouts:
        meant = _find_meant_facts(provider, about, live)
        certain = meant.facts or (meant.candidates if meant.many and message.by_program else [])
        if certain:
            # One of them may have been forgotten by hand meanwhile.
            with suppress(Refused):
                ids = [fact.pk for fact in certain]
                deletions.forget_facts(message.conversation.owner, ids, window, message=message)
        elif meant.candidates:
            outcomes.append((OutcomeKind.MANY if meant.many else OutcomeKind.UNCLEAR, meant.candidates))
        else:
            outcomes.append((OutcomeKind.NOTHING, ()))
    if abouts:
        request_outcomes.record_outcomes(message, outcomes)


def _find_meant_facts(provider: AccountedProvider, about: str, live: Sequence[Fact]) -> MeantFacts:
    embedder = registry.embedder()
    meant = meant_facts.find_facts_to_forget(
        about,
        live,
        embedder.name if embedder else "",
        lambda text: embedder.embed([text])[0] if embedder else None,
    )
    if meant.facts or meant.many or not live or not meant_facts.names_only_a_kind(about):
        return meant
    kind, _, _ = classify_fact(provider, about)
    of_kind = [fact for fact in live if fact.kind == kind and KINDS[kind].single]
    return MeantFacts(facts=of_kind) if of_kind else meant
