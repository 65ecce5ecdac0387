"""Clear all hides all facts immediately and deletes them after eight seconds.

Messages from before the clear are not extracted any more.
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions import archive, deletion_batch, deletions, extraction
from chat.actions.facts import add_fact, pin_fact
from chat.actions.messages import send_message
from chat.errors import Refused
from chat.jobs import extract
from chat.jobs.registry import Postpone
from chat.jobs.runner import run_due
from chat.memory.candidates import Extraction, FactCandidate, RefusedFact
from chat.models import Conversation, Deletion, Entity, ExtractionRun, Fact, FactEvent, Message

pytestmark = pytest.mark.django_db


def record_found(message: Message, text: str = "User likes chess", **found) -> ExtractionRun | None:
    candidate = FactCandidate(text, "likes", "preference", "", hedged=False, quote="I like chess.")
    return extraction.record_extraction(message, Extraction([candidate], **found), [None], "", 0.1)


def test_all_facts_are_hidden_immediately_and_deleted_after_the_undo_window(clock, owner, make_fact):
    make_fact("User likes chess")
    old = make_fact("User lives in Oslo", superseded_at=timezone.now())
    make_fact("User lives in Bergen", supersedes=old)
    make_fact("User likes tea", archived_at=timezone.now())
    deletion = deletions.clear_memory(owner)
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
        deletions.clear_memory(owner)
    assert not Deletion.objects.exists()


def test_a_second_clear_covers_a_message_that_was_sent_after_the_first_one(owner, make_fact, clock):
    make_fact("User likes chess")
    first = deletions.clear_memory(owner)
    clock(4)
    asked, _ = send_message(owner, "I like tea.")
    clock(1)
    second = deletions.clear_memory(owner)
    assert second != first
    with pytest.raises(deletions.Undecided):
        deletions.is_extraction_allowed(owner, asked.created_at)
    clock(20)
    run_due(["finish_deletion"])
    assert not deletions.is_extraction_allowed(owner, asked.created_at)
    with pytest.raises(Refused, match="nothing to forget"):
        deletions.clear_memory(owner)


def test_other_owners_memory_is_unchanged(owner, other, make_fact):
    make_fact("User likes chess")
    theirs = make_fact("User likes tea", owner=other)
    deletions.clear_memory(owner)
    assert list(Fact.objects.live()) == [theirs]


def test_undo_does_not_affect_other_deletions(clock, owner, make_fact):
    chess, tea = make_fact("User likes chess"), make_fact("User likes tea")
    earlier = deletions.forget_facts(owner, [chess.pk])
    clock(1)
    deletions.undo_deletion(deletions.clear_memory(owner))
    assert list(Fact.objects.live()) == [tea]
    deletions.undo_deletion(earlier)
    assert Fact.objects.live().count() == 2


def test_undo_restores_all_facts_unchanged(clock, owner, make_fact):
    pinned = make_fact("User likes chess", pinned=True, confidence=0.9, mention_count=4)
    old = make_fact("User lives in Oslo", kind="home", category="identity", superseded_at=timezone.now())
    home = make_fact("User lives in Bergen", kind="home", category="identity", supersedes=old)
    evicted = make_fact("User likes tea", archived_at=timezone.now())
    undone = deletions.undo_deletion(deletions.clear_memory(owner))
    assert set(undone.returned) == {pinned, home}
    assert set(Fact.objects.live()) == {pinned, home}
    pinned.refresh_from_db()
    assert (pinned.pinned, pinned.confidence, pinned.mention_count) == (True, 0.9, 4)
    assert list(Fact.objects.archived()) == [evicted]
    assert Fact.objects.get(pk=old.pk).superseded_at is not None


def test_messages_not_extracted_before_the_clear_are_never_extracted(clock, owner, make_fact, talk, scripted):
    make_fact("User likes tea")
    asked, _ = talk("I like chess.")
    clock(1)
    deletions.clear_memory(owner)
    clock(9)
    run_due(["finish_deletion"])
    extract.extract_conversation({"conversation": str(asked.conversation_id)})
    assert scripted.calls == []
    assert not Fact.objects.exists()
    run = ExtractionRun.objects.get()
    assert (run.stored, run.reinforced) == (0, 0)
    assert run.refused == [{"text": "", "reason": "memory-cleared-since"}]
    assert Conversation.objects.get().extracted_through == asked.seq


def test_extraction_of_older_messages_waits_while_the_clear_can_be_undone(
    clock, owner, make_fact, talk, scripted
):
    make_fact("User likes tea")
    asked, _ = talk("I like chess.")
    clock(1)
    deletion = deletions.clear_memory(owner)
    with pytest.raises(Postpone) as postponed:
        extract.extract_conversation({"conversation": str(asked.conversation_id)})
    assert postponed.value.until == deletion.expires_at + deletions.UNDO_GRACE
    assert Conversation.objects.get().extracted_through == 0
    deletions.undo_deletion(deletion)
    assert record_found(asked).stored == 1


def test_an_extraction_running_during_the_clear_stores_nothing(clock, owner, make_fact, talk):
    make_fact("User likes tea")
    asked, _ = talk("I like chess.")
    clock(1)  # The user clears while the model extracts.
    deletion = deletions.clear_memory(owner)
    with pytest.raises(deletions.Undecided):
        record_found(asked)
    assert not ExtractionRun.objects.exists()
    deletions.finish_deletion(deletion.pk, clock(9))
    refused = [RefusedFact("User likes tea", "not sure")]
    assert record_found(asked, refused=refused, error="User likes tea").stored == 0
    assert not Fact.objects.exists()
    assert "tea" not in str(list(ExtractionRun.objects.values("refused", "error")))


def test_messages_after_the_clear_are_extracted_immediately(clock, owner, make_fact, talk):
    make_fact("User likes tea")
    deletion = deletions.clear_memory(owner)
    clock(1)
    asked, _ = talk("I like chess.")
    assert record_found(asked).stored == 1
    deletions.finish_deletion(deletion.pk, clock(9))
    assert [fact.text for fact in Fact.objects.live()] == ["User likes chess"]


def test_only_the_owners_own_clear_that_was_not_undone_blocks_extraction(clock, owner, other, make_fact):
    make_fact("User likes tea")
    said = timezone.now()
    clock(1)
    pending = deletions.clear_memory(owner)
    assert deletions.find_clear_after(owner, said) == pending
    assert deletions.find_clear_after(owner, clock(1)) is None
    assert deletions.find_clear_after(other, said) is None
    deletions.undo_deletion(pending)
    assert deletions.find_clear_after(owner, said) is None
    deletions.forget_facts(owner, list(Fact.objects.values_list("pk", flat=True)))
    assert deletions.find_clear_after(owner, said) is None


def test_a_finished_clear_takes_precedence_over_a_pending_one(clock, owner, make_fact):
    make_fact("User likes tea")
    said = timezone.now()
    clock(1)
    first = deletions.clear_memory(owner)
    deletions.finish_deletion(first.pk, clock(9))
    make_fact("User likes go")
    deletions.clear_memory(owner)
    assert deletions.find_clear_after(owner, said) == first
    assert not deletions.is_extraction_allowed(owner, said)


def test_facts_can_be_added_while_a_full_memory_is_pending_deletion(clock, owner, make_fact):
    for i in range(150):
        make_fact(f"User likes number {i}")
    deletion = deletions.clear_memory(owner)
    clock(1)
    added = [add_fact(owner, f"I like letter {c}") for c in "abc"]
    assert set(Fact.objects.live()) == set(added)
    deletions.undo_deletion(deletion)
    assert Fact.objects.live().count() == 150
    assert Fact.objects.archived().count() == 3


def test_pins_pending_deletion_count_towards_the_pin_limit(clock, owner, make_fact):
    for i in range(10):
        make_fact(f"User likes number {i}", pinned=True)
    deletions.clear_memory(owner)
    with pytest.raises(Refused, match="most"):
        pin_fact(add_fact(owner, "I like tea"), True)


def test_a_clear_all_is_one_transaction(clock, owner, make_fact, monkeypatch):
    make_fact("User likes tea")

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(deletion_batch.jobs, "enqueue", interrupt)
    with pytest.raises(KeyboardInterrupt):
        deletions.clear_memory(owner)
    assert Fact.objects.live().count() == 1
    assert not Deletion.objects.exists()
    assert not FactEvent.objects.exists()


def test_a_cleared_archived_fact_cannot_be_restored(clock, owner, make_fact):
    evicted = make_fact("User likes tea", archived_at=timezone.now())
    deletions.clear_memory(owner)
    with pytest.raises(Refused, match="no longer in the archive"):
        archive.restore_archived_fact(evicted)
