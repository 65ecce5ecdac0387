"""At the end of a deletion its words are gone from wherever memory keeps them, and from nothing else."""

from __future__ import annotations

import pytest

from chat.actions import deletions, traces
from chat.actions.facts import add_fact, edit_fact
from chat.actions.history import record
from chat.jobs.runner import run_due
from chat.models import (
    Conversation,
    Deletion,
    Entity,
    ExtractionRun,
    Fact,
    FactEvent,
    Job,
    Message,
    Relationship,
    Tombstone,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def forget_for_good(owner, clock):
    def forget(*facts: Fact) -> Deletion:
        deletion = deletions.forget(owner, [fact.pk for fact in facts])
        assert deletions.finish(deletion.pk, clock(5))
        return deletion

    return forget


def test_the_undo_of_a_later_batch_does_not_bring_the_words_back(owner, clock, make_fact):
    put_away = make_fact("User lives in Oslo", kind="home", category="identity")
    Fact.objects.filter(pk=put_away.pk).update(archived_at=clock(0))
    first = deletions.forget(owner, [make_fact("User lives in Oslo", kind="home", category="identity").pk])
    clock(3)
    later = deletions.clear_all(owner)
    assert deletions.finish(first.pk, clock(3))
    deletions.undo(later)
    assert not Fact.objects.filter(text="User lives in Oslo").exists()


def test_another_facts_history_no_longer_says_it(clock, make_fact, forget_for_good):
    other = edit_fact(make_fact("User likes chess"), "User likes go")
    forget_for_good(make_fact("user likes CHESS"))
    event = FactEvent.objects.get(fact=other)
    assert (event.kind, event.after["text"]) == ("edit", "User likes go")
    assert "text" not in event.before
    assert event.before["confidence"] == 0.75


def test_another_facts_quote_no_longer_says_it(make_fact, forget_for_good):
    corrected = make_fact("User likes go", quote="They said: User likes chess!")
    other = make_fact("User likes rye", quote="I like rye.")
    forget_for_good(make_fact("User likes chess"))
    corrected.refresh_from_db()
    other.refresh_from_db()
    assert (corrected.quote, other.quote) == ("", "I like rye.")


def test_a_reason_that_names_it_is_emptied(make_fact, forget_for_good):
    tea = make_fact("User likes tea")
    record(tea, "update", "memory", reason="merged with “User likes chess”")
    record(tea, "reinforce", "memory", reason="said again")
    forget_for_good(make_fact("User likes chess"))
    assert {event.reason for event in FactEvent.objects.filter(fact=tea)} == {"", "said again"}


def test_looks_and_jobs_no_longer_say_it(talk, make_fact, forget_for_good):
    asked, _ = talk("Hello")
    fact = make_fact("User likes chess", quote="I do like chess")
    ExtractionRun.objects.create(
        message=asked,
        error="could not place “User likes chess”",
        refused=[
            {"text": "I do like chess", "reason": "twice"},
            {"text": "x", "reason": "as User likes chess"},
            {"text": "User flies", "reason": "a joke"},
        ],
    )
    Job.objects.create(kind="settle", payload={"fact": str(fact.pk), "version": 1})
    Job.objects.create(kind="other", last_error="ValueError: User likes chess")
    forget_for_good(fact)
    run = ExtractionRun.objects.get()
    assert (run.error, run.refused) == ("", [{"text": "User flies", "reason": "a joke"}])
    assert not Job.objects.filter(kind="settle").exists()
    assert Job.objects.get(kind="other").last_error == ""


def test_a_short_text_takes_no_longer_words_with_it(talk, make_fact, forget_for_good):
    asked, _ = talk("Hello")
    ExtractionRun.objects.create(message=asked, error="instead", refused=[{"text": "x", "reason": "teal"}])
    forget_for_good(make_fact("tea"))
    run = ExtractionRun.objects.get()
    assert (run.error, run.refused) == ("instead", [{"text": "x", "reason": "teal"}])


def test_names_that_only_it_knew_leave_the_graph(owner, clock, forget_for_good):
    gone = add_fact(owner, "I live in Oslo")
    add_fact(owner, "My sister lives in Bergen")
    names = set(Entity.objects.values_list("name", flat=True))
    assert "Oslo" in names
    forget_for_good(gone)
    assert set(Entity.objects.values_list("name", flat=True)) == names - {"Oslo"}
    assert not Relationship.objects.filter(source_fact_id=gone.pk).exists()


def test_what_was_learned_again_meanwhile_keeps_its_words(clock, owner, make_fact, talk):
    deletion = deletions.forget(owner, [make_fact("User likes chess").pk])
    clock(1)
    again = add_fact(owner, "User likes chess")
    asked, _ = talk("Hello")
    Message.objects.filter(pk=asked.pk).update(note="(\n- User likes chess\n)")
    deletions.finish(deletion.pk, clock(5))
    assert Fact.objects.get() == again
    assert FactEvent.objects.get(fact=again, kind="add").after["text"] == "User likes chess"
    asked.refresh_from_db()
    assert "User likes chess" in asked.note


def test_an_archived_copy_goes_with_it(clock, make_fact, forget_for_good):
    make_fact("user likes chess.", archived_at=clock(0))
    kept = make_fact("User likes tea", archived_at=clock(0))
    forget_for_good(make_fact("User likes chess"))
    assert list(Fact.objects.all()) == [kept]


def test_a_replaced_copy_goes_and_what_it_had_replaced_stays_reachable(clock, make_fact, forget_for_good):
    oldest = make_fact("User likes go", superseded_at=clock(0))
    middle = make_fact("User likes chess", superseded_at=clock(0), supersedes=oldest)
    newest = make_fact("User likes tea", supersedes=middle)
    forget_for_good(make_fact("User likes CHESS"))
    newest.refresh_from_db()
    assert newest.supersedes == oldest
    assert not Fact.objects.filter(pk=middle.pk).exists()


def test_what_it_had_replaced_is_gone_with_it_and_neither_is_live(owner, make_fact, forget_for_good):
    make_fact("User lives in Oslo", kind="home", category="identity")
    forget_for_good(add_fact(owner, "I live in Bergen"))
    assert not Fact.objects.exists()
    assert Tombstone.objects.count() == 2


def test_the_model_drops_what_it_has_read_of_it(owner, talk, make_fact, scripted, forget_for_good):
    noted, _ = talk("Is chess hard?")
    Message.objects.filter(pk=noted.pk).update(note="(\n- User likes chess\n)")
    opened, _ = talk("Hello")
    fact = make_fact("User likes chess")
    Conversation.objects.filter(pk=opened.conversation_id).update(
        memory_block="- User likes chess", memory_block_facts={str(fact.pk): 1}
    )
    talk("Something else")
    forget_for_good(fact)
    assert scripted.forgotten == []
    run_due(["free_caches"])
    read = {str(noted.conversation_id), str(opened.conversation_id)}
    assert set(scripted.forgotten) == read | {f"{key}:next" for key in read}


def test_without_a_model_there_is_nothing_to_drop(make_fact, forget_for_good):
    forget_for_good(make_fact("User likes chess"))
    assert run_due(["free_caches"]) == 1
    assert not Job.objects.filter(kind="free_caches").exists()


def test_a_second_end_does_nothing(clock, owner, make_fact, forget_for_good):
    deletion = forget_for_good(make_fact("User likes chess"))
    again = make_fact("User likes chess")
    assert deletions.finish(deletion.pk, clock(60)) is False
    assert Fact.objects.get() == again


def test_an_end_that_is_killed_half_way_has_not_begun(clock, owner, make_fact, monkeypatch):
    fact = make_fact("User likes chess")
    deletion = deletions.forget(owner, [fact.pk])
    now = clock(5)

    def killed(*args, **kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(deletions.tombstones, "bury", killed)
        with pytest.raises(KeyboardInterrupt):
            deletions.finish(deletion.pk, now)
    deletion.refresh_from_db()
    assert deletion.state == "pending"
    assert Fact.objects.get() == fact
    assert deletions.finish_overdue(now) == 1
    assert not Fact.objects.exists()


def test_a_thousand_messages_cost_no_more_queries_than_one(
    clock, owner, make_fact, talk, django_assert_max_num_queries
):
    first, _ = talk("Hello")
    Message.objects.bulk_create(
        Message(
            conversation=first.conversation,
            seq=i,
            role="user",
            content="x",
            note="(\n- User likes chess\n- User likes tea\n)",
        )
        for i in range(10, 1010)
    )
    deletion = deletions.forget(owner, [make_fact("User likes chess").pk])
    now = clock(5)
    with django_assert_max_num_queries(60):
        deletions.finish(deletion.pk, now)
    assert not Message.objects.filter(note__contains="chess").exists()
    assert Message.objects.filter(note__contains="- User likes tea").count() == 1000


def test_clearing_three_hundred_facts_at_once_works(clock, owner, make_fact):
    for i in range(150):
        edit_fact(make_fact(f"User likes number {i}"), f"User likes letter {i}")
    deletion = deletions.clear_all(owner)
    assert deletions.finish(deletion.pk, clock(9))
    assert not FactEvent.objects.exists()
    assert Tombstone.objects.count() == 300


def test_erasing_returns_the_words(owner, make_fact):
    fact = edit_fact(make_fact("User likes chess"), "User likes go")
    assert traces.erase(owner, {fact.pk}) == {"User likes chess", "User likes go"}
