"""Invariants of one owner's memory, checked after each step of a stateful test."""

from __future__ import annotations

import json
from typing import Any

from hypothesis.stateful import RuleBasedStateMachine, invariant

from chat.actions import facts
from chat.memory.kinds import KINDS
from chat.memory.text_similarity import normalize_text
from chat.models import Conversation, Entity, ExtractionRun, Fact, FactEvent, Job, Message

CAP, PRUNE_FROM, PINS = 5, 3, 2
RESTORABLE = ("text", "category", "kind", "subject", "confidence", "mention_count", "pinned", "last_seen")


def restorable_fields(fact: Fact) -> dict[str, Any]:
    """Return the fields of a fact that undo must restore."""
    return {name: getattr(fact, name) for name in RESTORABLE}


class MemoryInvariants(RuleBasedStateMachine):
    """Checks all invariants after each step; `forgotten` has the texts that must not be stored anywhere."""

    forgotten: set[str]

    @invariant()
    def memory_is_sound(self) -> None:
        """Check all invariants with one read of the tables."""
        known = list(Fact.objects.all())
        events = list(FactEvent.objects.values("fact_id", "before", "after", "reason"))
        live = [fact for fact in known if facts.is_live(fact)]
        self.check_caps(known, live)
        self.check_no_contradictions_or_duplicates(live)
        self.check_history(known, live, events)
        self.check_chains(known, live)
        if self.forgotten:
            self.check_deleted_texts_are_not_stored(known, events)

    def check_caps(self, known: list[Fact], live: list[Fact]) -> None:
        assert len(live) <= CAP
        pinned = [fact for fact in known if fact.pinned]
        assert len(pinned) <= PINS
        assert all(fact.superseded_at is None and fact.archived_at is None for fact in pinned)

    def check_no_contradictions_or_duplicates(self, live: list[Fact]) -> None:
        single = [(f.kind, f.subject) for f in live if KINDS[f.kind].single]
        assert len(set(single)) == len(single)
        assert len({normalize_text(f.text) for f in live}) == len(live)

    def check_history(self, known: list[Fact], live: list[Fact], events: list[dict[str, Any]]) -> None:
        assert {fact.pk for fact in known} == {event["fact_id"] for event in events}
        recorded_texts = {(event["fact_id"], event["after"].get("text")) for event in events}
        assert {(fact.pk, fact.text) for fact in live} <= recorded_texts

    def check_chains(self, known: list[Fact], live: list[Fact]) -> None:
        parents = {fact.pk: fact.supersedes_id for fact in known}
        for start in parents:
            seen: set[Any] = set()
            at: Any = start
            while at is not None:
                assert at not in seen
                seen.add(at)
                at = parents[at]
        assert not {fact.pk for fact in live} & set(parents.values())

    def check_deleted_texts_are_not_stored(self, known: list[Fact], events: list[dict[str, Any]]) -> None:
        kept = json.dumps(
            [
                *([fact.text, fact.quote] for fact in known),
                *([event["before"], event["after"], event["reason"]] for event in events),
                *ExtractionRun.objects.values_list("refused", "error"),
                *Message.objects.exclude(note="").values_list("note"),
                *Conversation.objects.values_list("memory_block", "memory_block_facts"),
                *Job.objects.values_list("payload", "last_error"),
                *Entity.objects.values_list("name", "key"),
            ]
        )
        for text in self.forgotten:
            assert f'"{text}"' not in kept
            assert f": {text}" not in kept

    def check_undo(self, before: dict[Any, dict[str, Any]], live: dict[Any, Fact], undone: Any) -> None:
        events = [*undone.returned, *undone.merged, *undone.superseded]
        assert {fact.pk for fact in events} == set(before)
        for pk, was in before.items():
            fact = Fact.objects.get(pk=pk)
            twin = next(
                (f for f in live.values() if normalize_text(f.text) == normalize_text(was["text"])), None
            )
            rivals = [f for f in live.values() if (f.kind, f.subject) == (fact.kind, fact.subject)]
            if twin is not None:
                assert not Fact.objects.filter(pk=twin.pk).exists()
                assert fact.mention_count == was["mention_count"] + twin.mention_count
            elif rivals and KINDS[fact.kind].single:
                stays = [f for f in Fact.objects.live() if (f.kind, f.subject) == (fact.kind, fact.subject)]
                assert len(stays) == 1
                assert fact.text == was["text"]
            else:
                assert facts.is_live(fact)
                assert restorable_fields(fact) == was
