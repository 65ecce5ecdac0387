"""A deleted fact is hidden immediately; it can be undone until the server deletes it at the deadline."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions import deletions, extraction, prompts
from chat.actions.facts import add_fact, edit_fact
from chat.context.prompt import build_prompt
from chat.errors import Refused, TooLateToUndo
from chat.jobs.runner import run_due
from chat.memory.candidates import Extraction, FactCandidate, RefusedFact
from chat.models import (
    Conversation,
    Deletion,
    ExtractionRun,
    Fact,
    FactEvent,
    Job,
    Message,
    PromptReport,
)

pytestmark = pytest.mark.django_db


def record_fact(message, text: str, kind: str = "home", category: str = "identity") -> None:
    found = Extraction([FactCandidate(text, kind, category, "", hedged=False, quote="…")])
    extraction.record_extraction(message, found, [None], "", 0.1)


def test_a_deleted_fact_is_hidden_immediately(clock, owner, make_fact):
    fact = make_fact("User likes chess")
    deletion = deletions.forget_facts(owner, [fact.pk])
    assert not Fact.objects.live().exists()
    assert (deletion.state, deletion.expires_at) == ("pending", timezone.now() + timedelta(seconds=4))
    assert FactEvent.objects.get().kind == "delete"


@pytest.mark.parametrize("seconds", [0, 3.9, 4.9])
def test_undo_within_four_seconds_and_one_second_grace_restores_the_fact(clock, owner, make_fact, seconds):
    fact = make_fact("User likes chess", pinned=True, confidence=0.9, mention_count=3)
    deletion = deletions.forget_facts(owner, [fact.pk])
    clock(seconds)
    deletions.undo_deletion(deletion)
    back = Fact.objects.live().get()
    assert (back.pk, back.pinned, back.confidence, back.mention_count) == (fact.pk, True, 0.9, 3)
    assert [e.kind for e in FactEvent.objects.all()] == ["delete", "restore"]


@pytest.mark.parametrize("seconds", [5, 60])
def test_undo_after_the_grace_is_too_late(clock, owner, make_fact, seconds):
    deletion = deletions.forget_facts(owner, [make_fact("User likes chess").pk])
    clock(seconds)
    with pytest.raises(TooLateToUndo, match="too late"):
        deletions.undo_deletion(deletion)
    assert not Fact.objects.live().exists()


def test_undo_works_once(clock, owner, make_fact):
    deletion = deletions.forget_facts(owner, [make_fact("User likes chess").pk])
    deletions.undo_deletion(deletion)
    with pytest.raises(TooLateToUndo):
        deletions.undo_deletion(deletion)
    assert FactEvent.objects.filter(kind="restore").count() == 1


@pytest.mark.parametrize("seconds", [4.999, 5.0, 5.001])
def test_at_the_deadline_either_undo_or_the_deletion_succeeds(clock, owner, make_fact, seconds):
    deletion = deletions.forget_facts(owner, [make_fact("User likes chess").pk])
    now = clock(seconds)
    try:
        deletions.undo_deletion(deletion)
        undone = True
    except TooLateToUndo:
        undone = False
    assert deletions.finish_deletion(deletion.pk, now) is not undone
    assert Fact.objects.exists() is undone


def test_two_deletions_in_one_window_are_independent(clock, owner, make_fact):
    chess, tea = make_fact("User likes chess"), make_fact("User likes tea")
    first = deletions.forget_facts(owner, [chess.pk])
    clock(2)
    second = deletions.forget_facts(owner, [tea.pk])
    deletions.undo_deletion(first)
    assert [f.text for f in Fact.objects.live()] == ["User likes chess"]
    now = clock(5)
    assert deletions.finish_deletion(second.pk, now)
    assert [f.text for f in Fact.objects.all()] == ["User likes chess"]


def test_undo_restores_all_facts_of_a_deletion(clock, owner, make_fact):
    facts = [make_fact(f"User likes {i}") for i in range(3)]
    deletions.undo_deletion(deletions.forget_facts(owner, [f.pk for f in facts]))
    assert Fact.objects.live().count() == 3


def test_deleting_a_deleted_fact_is_refused(clock, owner, make_fact):
    fact = make_fact("User likes chess")
    deletions.forget_facts(owner, [fact.pk])
    with pytest.raises(Refused, match="already been deleted"):
        deletions.forget_facts(owner, [fact.pk])
    assert Deletion.objects.count() == 1


def test_another_owners_fact_cannot_be_deleted(clock, other, make_fact):
    fact = make_fact("User likes chess")
    with pytest.raises(Refused):
        deletions.forget_facts(other, [fact.pk])
    assert Fact.objects.live().get() == fact


def test_the_job_finishes_the_deletion_at_the_deadline(clock, owner, make_fact):
    deletions.forget_facts(owner, [make_fact("User likes chess").pk])
    clock(4.5)
    assert run_due(["finish_deletion"]) == 0
    clock(0.5)
    assert run_due(["finish_deletion"]) == 1
    assert not Fact.objects.exists()
    assert Deletion.objects.get().state == "done"
    assert not Job.objects.filter(kind="finish_deletion").exists()


def test_overdue_deletions_are_finished_at_process_start(clock, owner, make_fact):
    deletions.forget_facts(owner, [make_fact("User likes chess").pk])
    assert deletions.finish_overdue_deletions(clock(2)) == 0
    assert deletions.finish_overdue_deletions(clock(3600)) == 1
    assert not Fact.objects.exists()
    # The job is still queued; it finds the deletion done and ends without error.
    run_due(["finish_deletion"])
    assert not Job.objects.filter(kind="finish_deletion").exists()


def test_an_undone_deletion_is_never_finished(clock, owner, make_fact):
    deletions.undo_deletion(deletions.forget_facts(owner, [make_fact("User likes chess").pk]))
    assert deletions.finish_overdue_deletions(clock(3600)) == 0
    assert run_due(["finish_deletion"]) == 1
    assert Fact.objects.live().count() == 1


def test_undo_merges_with_the_same_fact_learned_meanwhile(clock, owner, talk, make_fact):
    fact = make_fact("User likes chess", mention_count=2, confidence=0.9)
    deletion = deletions.forget_facts(owner, [fact.pk])
    asked, _ = talk("I like chess.")
    record_fact(asked, "User likes chess", "likes", "preference")
    deletions.undo_deletion(deletion)
    back = Fact.objects.get()
    assert (back.pk, back.mention_count, back.confidence) == (fact.pk, 3, 0.9)


def test_undo_restores_a_value_replaced_meanwhile_as_superseded(clock, owner, talk, make_fact):
    old = make_fact("User lives in Oslo", kind="home", category="identity", pinned=True)
    deletion = deletions.forget_facts(owner, [old.pk])
    asked, _ = talk("I live in Bergen.")
    record_fact(asked, "User lives in Bergen")
    deletions.undo_deletion(deletion)
    old.refresh_from_db()
    new = Fact.objects.live().get()
    assert (new.text, new.supersedes) == ("User lives in Bergen", old)
    assert old.superseded_at is not None
    assert not old.pinned


def test_deleting_a_value_does_not_revive_the_value_it_superseded(clock, owner, make_fact, talk):
    make_fact("User lives in Oslo", kind="home", category="identity")
    asked, _ = talk("I moved to Bergen.")
    record_fact(asked, "User lives in Bergen")
    deletion = deletions.forget_facts(owner, [Fact.objects.live().get().pk])
    deletions.finish_deletion(deletion.pk, clock(5))
    assert not Fact.objects.live().exists()


@pytest.fixture
def send_and_record_prompt(owner, talk, scripted):
    """Return a function that sends a message and records its prompt as for a real reply."""

    def send(text: str, conversation: Conversation | None = None) -> Message:
        asked, reply = talk(text, conversation)
        prompt = build_prompt(asked.conversation, asked, scripted)
        prompts.record_prompt(asked.conversation, asked, reply, prompt, scripted.context_window)
        Message.objects.filter(pk=reply.pk).update(content="Yes.", state="complete")
        return asked

    return send


def dump_memory_texts() -> str:
    return str(
        [
            *Fact.objects.values_list("text", "quote"),
            *FactEvent.objects.values_list("before", "after", "reason"),
            *Conversation.objects.values_list("memory_block", "memory_block_facts"),
            *Message.objects.values_list("note"),
            *PromptReport.objects.values_list("facts", "sections"),
            *ExtractionRun.objects.values_list("refused", "error"),
            *Job.objects.values_list("payload", "last_error"),
        ]
    )


def delete_permanently(owner, clock, *facts: Fact) -> None:
    deletion = deletions.forget_facts(owner, [f.pk for f in facts])
    assert deletions.finish_deletion(deletion.pk, clock(5))


def test_a_finished_deletion_removes_the_text_everywhere(clock, owner, make_fact, send_and_record_prompt):
    home = make_fact("User lives in Copenhagen", kind="home", category="identity", quote="in Copenhagen")
    boat = make_fact("User builds a boat", kind="building", category="project", quote="a boat")
    chess = make_fact("User plays chess", kind="likes")
    asked = send_and_record_prompt("Is chess played in my city?")
    extraction.record_extraction(
        asked,
        Extraction(
            refused=[RefusedFact("User lives in Copenhagen", "twice"), RefusedFact("User flies", "a joke")]
        ),
        [],
        "",
        0.1,
    )
    texts_before = dump_memory_texts()
    assert "Copenhagen" in texts_before
    assert "a boat" in texts_before
    delete_permanently(owner, clock, home, boat)
    texts = dump_memory_texts()
    for trace in ("Copenhagen", "a boat", str(home.pk), str(boat.pk)):
        assert trace not in texts
    assert "- User plays chess" in Message.objects.get(pk=asked.pk).note
    assert str(chess.pk) in PromptReport.objects.get().facts
    assert ExtractionRun.objects.get().refused == [{"text": "User flies", "reason": "a joke"}]
    assert Message.objects.get(pk=asked.pk).content == "Is chess played in my city?"


def test_earlier_texts_of_a_deleted_fact_are_removed(clock, owner, make_fact, send_and_record_prompt):
    home = make_fact("User lives in Copenhagen", kind="home", category="identity")
    send_and_record_prompt("How is my city?")
    delete_permanently(owner, clock, edit_fact(home, "User lives in Aarhus"))
    assert "Copenhagen" not in dump_memory_texts()


def test_the_text_of_a_merged_fact_is_removed(clock, owner, send_and_record_prompt):
    first = add_fact(owner, "My home is Copenhagen")
    deletion = deletions.forget_facts(owner, [first.pk])
    add_fact(owner, "my home is COPENHAGEN!")
    send_and_record_prompt("How is my home?")
    deletions.undo_deletion(deletion)
    delete_permanently(owner, clock, Fact.objects.get())
    assert "copenhagen" not in dump_memory_texts().casefold()


def test_other_owners_notes_are_unchanged(clock, owner, other, make_fact, talk):
    from chat.actions.messages import send_message

    asked, _ = send_message(other, "Hello")
    Message.objects.filter(pk=asked.pk).update(note="[\n- User likes chess\n]")
    delete_permanently(owner, clock, make_fact("User likes chess"))
    asked.refresh_from_db()
    assert "chess" in asked.note
