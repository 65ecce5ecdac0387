"""Whatever the user does, in whatever order: what must always hold of memory holds (design §5)."""

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

from chat.actions import archive, deletions, facts, fading, jobs, looks, revisions
from chat.actions.messages import Refused
from chat.jobs.runner import run_due
from chat.memory import evict
from chat.memory.consolidate import Action, Opinion
from chat.memory.extract import Candidate, Extraction, Refusal
from chat.memory.kinds import KINDS
from chat.memory.similar import normalise
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

from .driven_memory import DrivenMemory
from .sound_memory import CAP, PINS, PRUNE_FROM

pytestmark = pytest.mark.django_db

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


class Memory(DrivenMemory):
    """One owner's memory, driven through the verbs that every door calls."""

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
        self.talk = Conversation.objects.create(owner=self.owner, app=app)
        # What a batch held when it was pressed, and the words that must not be found any more.
        self.pressed: dict[Any, dict[Any, dict[str, Any]]] = {}
        self.forgotten: set[str] = set()
        # What each batch that was not undone forbids messages from before its press to teach.
        self.barred: dict[Any, tuple[Any, set[str] | None]] = {}
        for text in known:
            self.say(text)

    def teardown(self) -> None:
        self.clock.stop()

    # -- what the user does ---------------------------------------------------------------------------------

    @rule(text=texts)
    def write(self, text: str) -> None:
        """Write a message that memory has not looked at yet."""
        self.tick(1)
        seq = self.talk.messages.count() + 1
        Message.objects.create(conversation=self.talk, seq=seq, role="user", content=text)

    @rule(pick=picks)
    def say_and_forget_before_memory_looks(self, pick: int) -> None:
        if fact := self.pick(Fact.objects.live(), pick):
            self.write(fact.text)
            self.press([fact], lambda: deletions.forget(self.owner, [fact.pk]))

    @rule(text=texts)
    def say(self, text: str) -> None:
        """Write a message that memory looks at, with all that still waited."""
        self.write(text)
        self.look()

    @rule()
    def look(self) -> None:
        self.talk.refresh_from_db()
        for message in Message.objects.unread_by_memory(self.talk):
            if self.read(message) is None:
                return

    @rule(text=texts, action=opinions, pick=picks, meanwhile=st.none() | texts)
    def say_what_the_model_weighs(self, text: str, action: Action, pick: int, meanwhile: str | None) -> None:
        """Write what the model has an opinion about; `meanwhile` its fact is edited to that."""
        self.look()
        self.write(text)
        if (message := self.unread()) and (fact := self.pick(Fact.objects.live(), pick)):
            opinion = Opinion(action, fact.pk, fact.version, "the model said so")
            if meanwhile:
                self.edit(pick, meanwhile)
            self.read(message, opinions=[opinion])

    @rule(text=texts, pick=picks, meanwhile=st.none() | texts)
    def say_that_something_is_over(self, text: str, pick: int, meanwhile: str | None) -> None:
        self.look()
        self.write(text)
        if (message := self.unread()) and (fact := self.pick(Fact.objects.live(), pick)):
            ending = Opinion(Action.END, fact.pk, fact.version, "the user said that it is over")
            if meanwhile:
                self.edit(pick, meanwhile)
            unchanged = Fact.objects.live().filter(pk=fact.pk, version=fact.version).exists()
            run = looks.record_look(message, Extraction(), [], "", 0.1, endings=[ending])
            assert run is not None
            over = unchanged and not self.is_barred(message)
            assert run.ended == over
            assert not (over and Fact.objects.live().filter(pk=fact.pk).exists())

    def unread(self) -> Message | None:
        """Return the one message that memory has not looked at and may; None while a clear is undecided."""
        self.talk.refresh_from_db()
        waiting = list(Message.objects.unread_by_memory(self.talk))
        return waiting[0] if len(waiting) == 1 else None

    def read(self, message: Message, **thought: Any) -> ExtractionRun | None:
        """Store what the message says; None while a clear-all can still be undone."""
        text, kind = message.content, TEXTS[message.content]
        candidate = Candidate(text, kind, KINDS[kind].category, "", False, f"They said: {text}")
        found = Extraction([candidate], [Refusal(text, "said twice in one message")])
        known = self.live_texts()
        try:
            run = looks.record_look(message, found, [None], "", 0.1, **thought)
        except deletions.Undecided:
            assert Deletion.objects.pending().filter(everything=True).exists()
            return None
        assert run is not None
        assert (run.stored + run.reinforced + run.ended == 0) is self.is_barred(message)
        if run.stored or run.reinforced or run.ended:
            self.taught(text)
        else:
            assert self.live_texts() == known
            assert all(line["text"] == "" for line in run.refused)
        return run

    @rule(text=texts)
    def add_by_hand(self, text: str) -> None:
        facts.add_fact(self.owner, text)
        self.taught(text)

    @rule(pick=picks, text=texts)
    def edit(self, pick: int, text: str) -> None:
        if fact := self.pick(Fact.objects.live(), pick):
            says = facts.edit_fact(fact, text)
            assert normalise(says.text) == normalise(text)
            self.taught(text)

    @rule(pick=picks, pinned=st.booleans())
    def pin(self, pick: int, pinned: bool) -> None:
        if fact := self.pick(Fact.objects.live(), pick):
            try:
                facts.pin_fact(fact, pinned)
            except Refused:
                assert Fact.objects.filter(pinned=True).count() >= PINS

    @rule(pick=picks)
    def settle(self, pick: int) -> None:
        if fact := self.pick(Fact.objects.filter(origin="manual"), pick):
            kind = TEXTS[fact.text]
            facts.settle(fact.pk, fact.version, kind=kind, subject="", vector=None, embedder="")

    @rule(pick=picks, many=st.booleans())
    def delete(self, pick: int, many: bool) -> None:
        shown = list(Fact.objects.live().order_by("first_seen", "pk"))
        if shown:
            chosen = shown[pick % len(shown) :][: 3 if many else 1]
            self.press(chosen, lambda: deletions.forget(self.owner, [f.pk for f in chosen]))

    @rule(unread=st.none() | texts)
    def clear(self, unread: str | None) -> None:
        if unread:
            self.write(unread)
        shown = list(Fact.objects.live())
        try:
            self.press(shown, lambda: deletions.clear_all(self.owner))
        except Refused:
            assert not Fact.objects.filter(deletion=None).exists()
        assert not Fact.objects.live().exists()

    @rule(pick=picks)
    def undo(self, pick: int) -> None:
        batch = self.pick(Deletion.objects.pending(), pick)
        if batch is None:
            return
        live = {fact.pk: fact for fact in Fact.objects.live()}
        before = self.pressed.pop(batch.pk)
        try:
            undone = deletions.undo(batch)
        except deletions.TooLate:
            assert batch.expires_at + deletions.GRACE <= timezone.now()
            self.pressed[batch.pk] = before
            return
        assert undone.sentence
        del self.barred[batch.pk]
        self.check_undo(before, live, undone)

    @rule(pick=picks, point=picks)
    def restore(self, pick: int, point: int) -> None:
        fact = self.pick(Fact.objects.live(), pick)
        if fact is None:
            return
        event = revisions.history(fact)[point % len(revisions.history(fact))]
        try:
            restored = revisions.restore_to(fact, event)
        except Refused:
            return
        restored.refresh_from_db()
        assert facts.is_live(restored)
        assert restored.text == event.after["text"]

    @rule(pick=picks)
    def bring_back(self, pick: int) -> None:
        young = Fact.objects.archived().filter(archived_at__gt=timezone.now() - archive.KEPT_FOR)
        if fact := self.pick(young, pick):
            archive.bring_back(fact)
            fact.refresh_from_db()
            assert facts.is_live(fact)

    # -- what happens by itself -----------------------------------------------------------------------------

    @rule(seconds=pauses)
    def restart(self, seconds: int) -> None:
        """Come back some time after the process was killed."""
        self.tick(seconds)
        jobs.release_leases(timezone.now())
        self.expect_the_end()
        deletions.finish_overdue(timezone.now())
        self.check_the_end()

    @rule(seconds=pauses)
    def work_off_jobs(self, seconds: int) -> None:
        self.tick(seconds)
        self.expect_the_end()
        run_due(["finish_deletion", "free_caches"])
        self.check_the_end()

    @rule()
    def evict(self) -> None:
        archive.evict(self.owner, timezone.now())

    @rule()
    def night(self) -> None:
        fading.fade(self.owner, timezone.now().date())
        old = Fact.objects.archived().filter(archived_at__lte=timezone.now() - archive.KEPT_FOR)
        gone = {fact.pk for fact in old}
        assert archive.purge(self.owner, timezone.now()) == len(gone)
        assert not Fact.objects.filter(pk__in=gone).exists()


def test_no_sequence_of_events_breaks_what_must_always_hold(owner, monkeypatch):
    monkeypatch.setattr(evict, "CAP", CAP)
    monkeypatch.setattr(evict, "PRUNE_FROM", PRUNE_FROM)
    monkeypatch.setattr(facts, "MAX_PINNED", PINS)
    Memory.owner = owner
    run_state_machine_as_test(
        Memory,
        settings=settings(
            max_examples=40,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
