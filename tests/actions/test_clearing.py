"""Clear all: everything at once, for good after eight seconds, and nothing from before it ever comes back."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions import archive, deletions, looks
from chat.actions.facts import add_fact, pin_fact
from chat.actions.messages import Refused
from chat.jobs import handlers
from chat.jobs.registry import Postpone
from chat.jobs.runner import run_due
from chat.memory.extract import Candidate, Extraction, Refusal
from chat.models import Conversation, Deletion, Entity, ExtractionRun, Fact, FactEvent, Message

pytestmark = pytest.mark.django_db


def look(message: Message, text: str = "User likes chess", **found) -> ExtractionRun | None:
    candidate = Candidate(text, "likes", "preference", "", hedged=False, quote="I like chess.")
    return looks.record_look(message, Extraction([candidate], **found), [None], "", 0.1)


def test_all_that_is_known_is_out_of_sight_at_once_and_gone_after_eight_seconds(clock, owner, make_fact):
    make_fact("User likes chess")
    old = make_fact("User lives in Oslo", superseded_at=timezone.now())
    make_fact("User lives in Bergen", supersedes=old)
    make_fact("User likes tea", archived_at=timezone.now())
    deletion = deletions.clear_all(owner)
    assert (deletion.everything, deletion.expires_at) == (True, timezone.now() + timedelta(seconds=8))
    assert not Fact.objects.live().exists()
    assert not Fact.objects.archived().exists()
    assert FactEvent.objects.filter(kind="delete").count() == 4
    clock(8.5)
    assert run_due(["finish_deletion"]) == 0
    clock(0.5)
    assert run_due(["finish_deletion"]) == 1
    assert not Fact.objects.exists()
    assert not Entity.objects.exists()


def test_clearing_an_empty_memory_is_refused(owner):
    with pytest.raises(Refused, match="nothing to forget"):
        deletions.clear_all(owner)
    assert not Deletion.objects.exists()


def test_another_persons_memory_is_left_alone(owner, other, make_fact):
    make_fact("User likes chess")
    theirs = make_fact("User likes tea", owner=other)
    deletions.clear_all(owner)
    assert list(Fact.objects.live()) == [theirs]


def test_its_undo_leaves_other_batches_alone(clock, owner, make_fact):
    chess, tea = make_fact("User likes chess"), make_fact("User likes tea")
    earlier = deletions.forget(owner, [chess.pk])
    clock(1)
    deletions.undo(deletions.clear_all(owner))
    assert list(Fact.objects.live()) == [tea]
    deletions.undo(earlier)
    assert Fact.objects.live().count() == 2


def test_undo_brings_everything_back_as_it_was(clock, owner, make_fact):
    pinned = make_fact("User likes chess", pinned=True, confidence=0.9, mention_count=4)
    old = make_fact("User lives in Oslo", kind="home", category="identity", superseded_at=timezone.now())
    home = make_fact("User lives in Bergen", kind="home", category="identity", supersedes=old)
    evicted = make_fact("User likes tea", archived_at=timezone.now())
    undone = deletions.undo(deletions.clear_all(owner))
    assert set(undone.returned) == {pinned, home}
    assert set(Fact.objects.live()) == {pinned, home}
    pinned.refresh_from_db()
    assert (pinned.pinned, pinned.confidence, pinned.mention_count) == (True, 0.9, 4)
    assert list(Fact.objects.archived()) == [evicted]
    assert Fact.objects.get(pk=old.pk).superseded_at is not None


def test_what_was_not_read_before_the_press_is_never_read(clock, owner, make_fact, talk, scripted):
    make_fact("User likes tea")
    asked, _ = talk("I like chess.")
    clock(1)
    deletions.clear_all(owner)
    clock(9)
    run_due(["finish_deletion"])
    handlers.extract_conversation({"conversation": str(asked.conversation_id)})
    assert scripted.calls == []
    assert not Fact.objects.exists()
    run = ExtractionRun.objects.get()
    assert (run.stored, run.reinforced) == (0, 0)
    assert run.refused == [{"text": "", "reason": "You cleared all memory after you wrote this."}]
    assert Conversation.objects.get().extracted_through == asked.seq


def test_while_it_can_be_undone_older_messages_wait_for_its_outcome(clock, owner, make_fact, talk, scripted):
    make_fact("User likes tea")
    asked, _ = talk("I like chess.")
    clock(1)
    deletion = deletions.clear_all(owner)
    with pytest.raises(Postpone) as postponed:
        handlers.extract_conversation({"conversation": str(asked.conversation_id)})
    assert postponed.value.until == deletion.expires_at + deletions.GRACE
    assert Conversation.objects.get().extracted_through == 0
    deletions.undo(deletion)
    assert look(asked).stored == 1


def test_a_look_that_was_in_flight_at_the_press_stores_nothing(clock, owner, make_fact, talk):
    make_fact("User likes tea")
    asked, _ = talk("I like chess.")
    clock(1)  # the model reads the message while the user presses
    deletion = deletions.clear_all(owner)
    with pytest.raises(deletions.Undecided):
        look(asked)
    assert not ExtractionRun.objects.exists()
    deletions.finish(deletion.pk, clock(9))
    refused = [Refusal("User likes tea", "not sure")]
    assert look(asked, refused=refused, error="User likes tea").stored == 0
    assert not Fact.objects.exists()
    assert "tea" not in str(list(ExtractionRun.objects.values("refused", "error")))


def test_messages_after_the_press_are_learned_from_at_once_and_stay(clock, owner, make_fact, talk):
    make_fact("User likes tea")
    deletion = deletions.clear_all(owner)
    clock(1)
    asked, _ = talk("I like chess.")
    assert look(asked).stored == 1
    deletions.finish(deletion.pk, clock(9))
    assert [fact.text for fact in Fact.objects.live()] == ["User likes chess"]


def test_the_barrier_is_this_owners_and_not_an_undone_one(clock, owner, other, make_fact):
    make_fact("User likes tea")
    said = timezone.now()
    clock(1)
    pending = deletions.clear_all(owner)
    assert deletions.barrier(owner, said) == pending
    assert deletions.barrier(owner, clock(1)) is None
    assert deletions.barrier(other, said) is None
    deletions.undo(pending)
    assert deletions.barrier(owner, said) is None
    deletions.forget(owner, list(Fact.objects.values_list("pk", flat=True)))
    assert deletions.barrier(owner, said) is None


def test_a_clear_all_that_is_done_decides_before_one_that_is_pending(clock, owner, make_fact):
    make_fact("User likes tea")
    said = timezone.now()
    clock(1)
    first = deletions.clear_all(owner)
    deletions.finish(first.pk, clock(9))
    make_fact("User likes go")
    deletions.clear_all(owner)
    assert deletions.barrier(owner, said) == first
    assert not deletions.may_read(owner, said)


def test_clearing_a_full_memory_turns_nothing_away_that_is_said_meanwhile(clock, owner, make_fact):
    for i in range(150):
        make_fact(f"User likes number {i}")
    deletion = deletions.clear_all(owner)
    clock(1)
    added = [add_fact(owner, f"I like letter {c}") for c in "abc"]
    assert set(Fact.objects.live()) == set(added)
    deletions.undo(deletion)
    assert Fact.objects.live().count() == 150
    assert Fact.objects.archived().count() == 3


def test_pins_on_their_way_out_still_count(clock, owner, make_fact):
    for i in range(10):
        make_fact(f"User likes number {i}", pinned=True)
    deletions.clear_all(owner)
    with pytest.raises(Refused, match="most"):
        pin_fact(add_fact(owner, "I like tea"), True)


def test_a_clear_all_is_one_transaction(clock, owner, make_fact, monkeypatch):
    make_fact("User likes tea")

    def killed(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(deletions.jobs, "enqueue", killed)
    with pytest.raises(KeyboardInterrupt):
        deletions.clear_all(owner)
    assert Fact.objects.live().count() == 1
    assert not Deletion.objects.exists()
    assert not FactEvent.objects.exists()


def test_what_it_takes_cannot_be_brought_back_from_the_archive(clock, owner, make_fact):
    evicted = make_fact("User likes tea", archived_at=timezone.now())
    deletions.clear_all(owner)
    with pytest.raises(Refused, match="no longer in the archive"):
        archive.bring_back(evicted)
