"""Forgetting: gone at once, undone in time, and for good at a deadline that the server keeps."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions import deletions, looks, prompts
from chat.actions.facts import add_fact, edit_fact
from chat.actions.messages import Refused
from chat.context.prompt import build
from chat.jobs.runner import run_due
from chat.memory.extract import Candidate, Extraction, Refusal
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


def learn(message, text: str, kind: str = "home", category: str = "identity") -> None:
    found = Extraction([Candidate(text, kind, category, "", hedged=False, quote="…")])
    looks.record_look(message, found, [None], "", 0.1)


def test_a_forgotten_fact_is_out_of_sight_at_once(clock, owner, make_fact):
    fact = make_fact("User likes chess")
    deletion = deletions.forget(owner, [fact.pk])
    assert not Fact.objects.live().exists()
    assert (deletion.state, deletion.expires_at) == ("pending", timezone.now() + timedelta(seconds=4))
    assert FactEvent.objects.get().kind == "delete"


@pytest.mark.parametrize("seconds", [0, 3.9, 4.9])
def test_undo_within_four_seconds_and_one_of_grace_brings_it_back_as_it_was(clock, owner, make_fact, seconds):
    fact = make_fact("User likes chess", pinned=True, confidence=0.9, mention_count=3)
    deletion = deletions.forget(owner, [fact.pk])
    clock(seconds)
    deletions.undo(deletion)
    back = Fact.objects.live().get()
    assert (back.pk, back.pinned, back.confidence, back.mention_count) == (fact.pk, True, 0.9, 3)
    assert [e.kind for e in FactEvent.objects.all()] == ["delete", "restore"]


@pytest.mark.parametrize("seconds", [5, 60])
def test_undo_after_that_is_too_late(clock, owner, make_fact, seconds):
    deletion = deletions.forget(owner, [make_fact("User likes chess").pk])
    clock(seconds)
    with pytest.raises(deletions.TooLate, match="too late"):
        deletions.undo(deletion)
    assert not Fact.objects.live().exists()


def test_undo_works_once(clock, owner, make_fact):
    deletion = deletions.forget(owner, [make_fact("User likes chess").pk])
    deletions.undo(deletion)
    with pytest.raises(deletions.TooLate):
        deletions.undo(deletion)
    assert FactEvent.objects.filter(kind="restore").count() == 1


@pytest.mark.parametrize("seconds", [4.999, 5.0, 5.001])
def test_at_every_moment_either_undo_or_the_end_wins_never_both_never_none(clock, owner, make_fact, seconds):
    deletion = deletions.forget(owner, [make_fact("User likes chess").pk])
    now = clock(seconds)
    try:
        deletions.undo(deletion)
        undone = True
    except deletions.TooLate:
        undone = False
    assert deletions.finish(deletion.pk, now) is not undone
    assert Fact.objects.exists() is undone


def test_two_deletions_in_one_window_are_independent(clock, owner, make_fact):
    chess, tea = make_fact("User likes chess"), make_fact("User likes tea")
    first = deletions.forget(owner, [chess.pk])
    clock(2)
    second = deletions.forget(owner, [tea.pk])
    deletions.undo(first)
    assert [f.text for f in Fact.objects.live()] == ["User likes chess"]
    now = clock(5)
    assert deletions.finish(second.pk, now)
    assert [f.text for f in Fact.objects.all()] == ["User likes chess"]


def test_a_batch_is_undone_as_one(clock, owner, make_fact):
    facts = [make_fact(f"User likes {i}") for i in range(3)]
    deletions.undo(deletions.forget(owner, [f.pk for f in facts]))
    assert Fact.objects.live().count() == 3


def test_forgetting_what_is_gone_already_is_refused(clock, owner, make_fact):
    fact = make_fact("User likes chess")
    deletions.forget(owner, [fact.pk])
    with pytest.raises(Refused, match="gone already"):
        deletions.forget(owner, [fact.pk])
    assert Deletion.objects.count() == 1


def test_another_persons_fact_cannot_be_forgotten(clock, other, make_fact):
    fact = make_fact("User likes chess")
    with pytest.raises(Refused):
        deletions.forget(other, [fact.pk])
    assert Fact.objects.live().get() == fact


def test_the_server_keeps_the_deadline_whether_a_page_is_open_or_not(clock, owner, make_fact):
    deletions.forget(owner, [make_fact("User likes chess").pk])
    clock(4.5)
    assert run_due(["finish_deletion"]) == 0
    clock(0.5)
    assert run_due(["finish_deletion"]) == 1
    assert not Fact.objects.exists()
    assert Deletion.objects.get().state == "done"
    assert not Job.objects.filter(kind="finish_deletion").exists()


def test_a_deadline_that_passed_while_the_process_was_away_is_kept_at_the_next_start(clock, owner, make_fact):
    deletions.forget(owner, [make_fact("User likes chess").pk])
    assert deletions.finish_overdue(clock(2)) == 0
    assert deletions.finish_overdue(clock(3600)) == 1
    assert not Fact.objects.exists()
    # The job that is still there finds nothing left to do.
    run_due(["finish_deletion"])
    assert not Job.objects.filter(kind="finish_deletion").exists()


def test_an_undone_deletion_is_never_finished(clock, owner, make_fact):
    deletions.undo(deletions.forget(owner, [make_fact("User likes chess").pk]))
    assert deletions.finish_overdue(clock(3600)) == 0
    assert run_due(["finish_deletion"]) == 1
    assert Fact.objects.live().count() == 1


def test_undo_merges_with_the_same_fact_learned_meanwhile(clock, owner, talk, make_fact):
    fact = make_fact("User likes chess", mention_count=2, confidence=0.9)
    deletion = deletions.forget(owner, [fact.pk])
    asked, _ = talk("I like chess.")
    learn(asked, "User likes chess", "likes", "preference")
    deletions.undo(deletion)
    back = Fact.objects.get()
    assert (back.pk, back.mention_count, back.confidence) == (fact.pk, 3, 0.9)


def test_undo_under_a_newer_single_value_brings_the_old_one_back_as_superseded(clock, owner, talk, make_fact):
    old = make_fact("User lives in Oslo", kind="home", category="identity", pinned=True)
    deletion = deletions.forget(owner, [old.pk])
    asked, _ = talk("I live in Bergen.")
    learn(asked, "User lives in Bergen")
    deletions.undo(deletion)
    old.refresh_from_db()
    new = Fact.objects.live().get()
    assert (new.text, new.supersedes) == ("User lives in Bergen", old)
    assert old.superseded_at is not None
    assert not old.pinned


def test_the_older_value_does_not_come_back_to_life_when_the_newer_is_forgotten(
    clock, owner, make_fact, talk
):
    make_fact("User lives in Oslo", kind="home", category="identity")
    asked, _ = talk("I moved to Bergen.")
    learn(asked, "User lives in Bergen")
    deletion = deletions.forget(owner, [Fact.objects.live().get().pk])
    deletions.finish(deletion.pk, clock(5))
    assert not Fact.objects.live().exists()


@pytest.fixture
def used(owner, talk, scripted):
    """Returns a sender of messages whose prompt is built and recorded as for a real reply."""

    def send(text: str, conversation: Conversation | None = None) -> Message:
        asked, reply = talk(text, conversation)
        prompt = build(asked.conversation, asked, scripted)
        prompts.record_prompt(asked.conversation, asked, reply, prompt, scripted.context_window)
        Message.objects.filter(pk=reply.pk).update(content="Yes.", state="complete")
        return asked

    return send


def everything_kept_by_memory() -> str:
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


def forget_for_good(owner, clock, *facts: Fact) -> None:
    deletion = deletions.forget(owner, [f.pk for f in facts])
    assert deletions.finish(deletion.pk, clock(5))


def test_at_the_end_the_words_are_gone_from_everywhere_memory_keeps_them(clock, owner, make_fact, used):
    home = make_fact("User lives in Copenhagen", kind="home", category="identity", quote="in Copenhagen")
    boat = make_fact("User builds a boat", kind="building", category="project", quote="a boat")
    chess = make_fact("User plays chess", kind="likes")
    asked = used("Is chess played in my city?")
    looks.record_look(
        asked,
        Extraction(refused=[Refusal("User lives in Copenhagen", "twice"), Refusal("User flies", "a joke")]),
        [],
        "",
        0.1,
    )
    kept_before = everything_kept_by_memory()
    assert "Copenhagen" in kept_before
    assert "a boat" in kept_before
    forget_for_good(owner, clock, home, boat)
    kept = everything_kept_by_memory()
    for trace in ("Copenhagen", "a boat", str(home.pk), str(boat.pk)):
        assert trace not in kept
    assert "- User plays chess" in Message.objects.get(pk=asked.pk).note
    assert str(chess.pk) in PromptReport.objects.get().facts
    assert ExtractionRun.objects.get().refused == [{"text": "User flies", "reason": "a joke"}]
    assert Message.objects.get(pk=asked.pk).content == "Is chess played in my city?"


def test_earlier_wordings_of_a_forgotten_fact_are_gone_too(clock, owner, make_fact, used):
    home = make_fact("User lives in Copenhagen", kind="home", category="identity")
    used("How is my city?")
    forget_for_good(owner, clock, edit_fact(home, "User lives in Aarhus"))
    assert "Copenhagen" not in everything_kept_by_memory()


def test_a_merged_twins_wording_is_gone_too(clock, owner, used):
    first = add_fact(owner, "My home is Copenhagen")
    deletion = deletions.forget(owner, [first.pk])
    add_fact(owner, "my home is COPENHAGEN!")
    used("How is my home?")
    deletions.undo(deletion)
    forget_for_good(owner, clock, Fact.objects.get())
    assert "copenhagen" not in everything_kept_by_memory().casefold()


def test_another_persons_notes_are_left_alone(clock, owner, other, make_fact, talk):
    from chat.actions.messages import send_message

    asked, _ = send_message(other, "Hello")
    Message.objects.filter(pk=asked.pk).update(note="[\n- User likes chess\n]")
    forget_for_good(owner, clock, make_fact("User likes chess"))
    asked.refresh_from_db()
    assert "chess" in asked.note
