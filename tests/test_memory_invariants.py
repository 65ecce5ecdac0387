"""The invariants of memory hold after any sequence of user actions and background work."""

from __future__ import annotations

from typing import Any

import pytest
import time_machine
from django.utils import timezone
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    initialize,
    rule,
    run_state_machine_as_test,
)

from chat.actions import archive, decay, deletions, extraction, fact_history, facts, jobs
from chat.errors import Refused, TooLateToUndo
from chat.jobs.runner import run_due
from chat.memory import evict
from chat.memory.candidates import Extraction, FactCandidate, RefusedFact
from chat.memory.consolidate import Action, Opinion
from chat.memory.kinds import KINDS
from chat.memory.text_similarity import normalize_text
from chat.models import (
    App,
    Conversation,
    Deletion,
    Entity,
    ExtractionRun,
    Fact,
    Job,
    Message,
    OwnerSettings,
    Tombstone,
)

from .memory_driver import MemoryDriver
from .memory_invariants import CAP, PINS, PRUNE_FROM

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

TEXTS = {
    "User lives in Oslo": "home",
    "User lives in Bergen": "home",
    "User likes chess": "likes",
    "User dislikes chess": "dislikes",
    "User likes tea": "likes",
    "User likes go": "likes",
    "User works as a nurse": "job",
    "User eats vegan": "diet",
    "User is building a boat": "building",
}
texts = st.sampled_from(list(TEXTS))
picks = st.integers(0, 50)
opinions = st.sampled_from([Action.REINFORCE, Action.SUPERSEDE, Action.END])
pauses = st.sampled_from([0, 3, 5, 9, 3600, 86400, 40 * 86400])


class Memory(MemoryDriver):
    """One owner's memory, driven through the actions that pages and APIs call."""

    owner: Any

    @initialize(known=st.lists(texts, min_size=2, max_size=6, unique=True))
    def begin(self, known: list[str]) -> None:
        Deletion.objects.all().delete()
        for model in (Entity, Fact, Message, Conversation, Job, Tombstone):
            model.objects.all().delete()
        OwnerSettings.objects.filter(owner=self.owner).update(faded_through=None)
        self.clock = time_machine.travel("2026-03-01 12:00+00:00", tick=False)
        self.time = self.clock.start()
        app = App.objects.for_owner(self.owner).first()
        assert app is not None
        self.talk = Conversation.objects.create(owner=self.owner, app=app)
        # The fields of each deletion's facts before it, and the texts that must not be stored any more.
        self.facts_before_deletion: dict[Any, dict[Any, dict[str, Any]]] = {}
        self.forgotten: set[str] = set()
        # For each deletion that was not undone: its time and the texts barred from earlier messages.
        self.barriers: dict[Any, tuple[Any, set[str] | None]] = {}
        for text in known:
            self.say(text)

    def teardown(self) -> None:
        self.clock.stop()

    # -- user actions ---------------------------------------------------------------------------------------

    @rule(text=texts)
    def write(self, text: str) -> None:
        """Create a message without extracting it."""
        self.move_clock(1)
        seq = self.talk.messages.count() + 1
        Message.objects.create(conversation=self.talk, seq=seq, role="user", content=text)

    @rule(pick=picks)
    def delete_fact_before_extraction(self, pick: int) -> None:
        if fact := self.pick_row(Fact.objects.live(), pick):
            self.write(fact.text)
            self.start_deletion([fact], lambda: deletions.forget_facts(self.owner, [fact.pk]))

    @rule(text=texts)
    def say(self, text: str) -> None:
        """Create a message and extract it and all waiting ones."""
        self.write(text)
        self.extract_waiting()

    @rule()
    def extract_waiting(self) -> None:
        self.talk.refresh_from_db()
        for message in Message.objects.not_extracted(self.talk):
            if self.record_message(message) is None:
                return

    @rule(text=texts, action=opinions, pick=picks, meanwhile=st.none() | texts)
    def extract_with_opinion(self, text: str, action: Action, pick: int, meanwhile: str | None) -> None:
        """Record an extraction with an opinion of the model; `meanwhile` edits its fact in between."""
        self.extract_waiting()
        self.write(text)
        if (message := self.only_unextracted()) and (fact := self.pick_row(Fact.objects.live(), pick)):
            opinion = Opinion(action, fact.pk, fact.version, "the model said so")
            if meanwhile:
                self.edit(pick, meanwhile)
            self.record_message(message, opinions=[opinion])

    @rule(text=texts, pick=picks, meanwhile=st.none() | texts)
    def extract_ending(self, text: str, pick: int, meanwhile: str | None) -> None:
        self.extract_waiting()
        self.write(text)
        if (message := self.only_unextracted()) and (fact := self.pick_row(Fact.objects.live(), pick)):
            ending = Opinion(Action.END, fact.pk, fact.version, "the user said that it is over")
            if meanwhile:
                self.edit(pick, meanwhile)
            unchanged = Fact.objects.live().filter(pk=fact.pk, version=fact.version).exists()
            run = extraction.record_extraction(message, Extraction(), [], "", 0.1, endings=[ending])
            assert run is not None
            over = unchanged and not self.is_barred(message)
            assert run.ended == over
            assert not (over and Fact.objects.live().filter(pk=fact.pk).exists())

    def only_unextracted(self) -> Message | None:
        """Return the only unextracted message; None if there are several, while a clear can be undone."""
        self.talk.refresh_from_db()
        waiting = list(Message.objects.not_extracted(self.talk))
        return waiting[0] if len(waiting) == 1 else None

    def record_message(self, message: Message, **thought: Any) -> ExtractionRun | None:
        """Record the extraction of a message; None while a clear-all can still be undone."""
        text, kind = message.content, TEXTS[message.content]
        candidate = FactCandidate(text, kind, KINDS[kind].category, "", False, f"They said: {text}")
        found = Extraction([candidate], [RefusedFact(text, "said twice in one message")])
        known = self.live_texts()
        try:
            run = extraction.record_extraction(message, found, [None], "", 0.1, **thought)
        except deletions.Undecided:
            assert Deletion.objects.pending().filter(everything=True).exists()
            return None
        assert run is not None
        assert (run.stored + run.reinforced + run.ended == 0) is self.is_barred(message)
        if run.stored or run.reinforced or run.ended:
            self.record_as_known(text)
        else:
            assert self.live_texts() == known
            assert all(line["text"] == "" for line in run.refused)
        return run

    @rule(text=texts)
    def add_by_hand(self, text: str) -> None:
        facts.add_fact(self.owner, text)
        self.record_as_known(text)

    @rule(pick=picks, text=texts)
    def edit(self, pick: int, text: str) -> None:
        if fact := self.pick_row(Fact.objects.live(), pick):
            says = facts.edit_fact(fact, text)
            assert normalize_text(says.text) == normalize_text(text)
            self.record_as_known(text)

    @rule(pick=picks, pinned=st.booleans())
    def pin(self, pick: int, pinned: bool) -> None:
        if fact := self.pick_row(Fact.objects.live(), pick):
            try:
                facts.pin_fact(fact, pinned)
            except Refused:
                assert Fact.objects.filter(pinned=True).count() >= PINS

    @rule(pick=picks)
    def settle(self, pick: int) -> None:
        if fact := self.pick_row(Fact.objects.filter(origin="manual"), pick):
            kind = TEXTS[fact.text]
            facts.store_classification(fact.pk, fact.version, kind=kind, subject="", vector=None, embedder="")

    @rule(pick=picks, many=st.booleans())
    def delete(self, pick: int, many: bool) -> None:
        shown = list(Fact.objects.live().order_by("first_seen", "pk"))
        if shown:
            chosen = shown[pick % len(shown) :][: 3 if many else 1]
            self.start_deletion(chosen, lambda: deletions.forget_facts(self.owner, [f.pk for f in chosen]))

    @rule(unread=st.none() | texts)
    def clear(self, unread: str | None) -> None:
        if unread:
            self.write(unread)
        shown = list(Fact.objects.live())
        try:
            self.start_deletion(shown, lambda: deletions.clear_memory(self.owner))
        except Refused:
            assert not Fact.objects.filter(deletion=None).exists()
        assert not Fact.objects.live().exists()

    @rule(pick=picks)
    def undo(self, pick: int) -> None:
        batch = self.pick_row(Deletion.objects.pending(), pick)
        if batch is None:
            return
        live = {fact.pk: fact for fact in Fact.objects.live()}
        before = self.facts_before_deletion.pop(batch.pk)
        try:
            undone = deletions.undo_deletion(batch)
        except TooLateToUndo:
            assert batch.expires_at + deletions.UNDO_GRACE <= timezone.now()
            self.facts_before_deletion[batch.pk] = before
            return
        assert undone.sentence
        del self.barriers[batch.pk]
        self.check_undo(before, live, undone)

    @rule(pick=picks, point=picks)
    def restore(self, pick: int, point: int) -> None:
        fact = self.pick_row(Fact.objects.live(), pick)
        if fact is None:
            return
        event = fact_history.list_history(fact)[point % len(fact_history.list_history(fact))]
        try:
            restored = fact_history.restore_fact(fact, event)
        except Refused:
            return
        restored.refresh_from_db()
        assert facts.is_live(restored)
        assert restored.text == event.after["text"]

    @rule(pick=picks)
    def bring_back(self, pick: int) -> None:
        young = Fact.objects.archived().filter(archived_at__gt=timezone.now() - archive.ARCHIVE_RETENTION)
        if fact := self.pick_row(young, pick):
            archive.restore_archived_fact(fact)
            fact.refresh_from_db()
            assert facts.is_live(fact)

    # -- background work ------------------------------------------------------------------------------------

    @rule(seconds=pauses)
    def restart(self, seconds: int) -> None:
        """Start the process again `seconds` after a kill."""
        self.move_clock(seconds)
        jobs.release_leases(timezone.now())
        self.note_expired_deletions()
        deletions.finish_overdue_deletions(timezone.now())
        self.check_expired_deletions()

    @rule(seconds=pauses)
    def work_off_jobs(self, seconds: int) -> None:
        self.move_clock(seconds)
        self.note_expired_deletions()
        run_due(["finish_deletion", "free_caches"])
        self.check_expired_deletions()

    @rule()
    def evict(self) -> None:
        archive.evict_facts(self.owner, timezone.now())

    @rule()
    def night(self) -> None:
        decay.apply_decay(self.owner, timezone.now().date())
        old = Fact.objects.archived().filter(archived_at__lte=timezone.now() - archive.ARCHIVE_RETENTION)
        gone = {fact.pk for fact in old}
        assert archive.purge_archive(self.owner, timezone.now()) == len(gone)
        assert not Fact.objects.filter(pk__in=gone).exists()


def test_no_sequence_of_steps_breaks_an_invariant(owner, monkeypatch):
    monkeypatch.setattr(evict, "CAP", CAP)
    monkeypatch.setattr(evict, "PRUNE_FROM", PRUNE_FROM)
    monkeypatch.setattr(facts, "MAX_PINNED", PINS)
    Memory.owner = owner
    run_state_machine_as_test(
        Memory,
        settings=settings(
            max_examples=25,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
