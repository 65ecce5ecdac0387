"""A finished deletion removes the facts' texts from all stored data, and removes nothing else."""

from __future__ import annotations

import pytest

from chat.actions import deletions, purge
from chat.actions.fact_events import record_event
from chat.actions.facts import add_fact, edit_fact
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
def delete_permanently(owner, clock):
    def delete_and_finish(*facts: Fact) -> Deletion:
        deletion = deletions.forget_facts(owner, [fact.pk for fact in facts])
        assert deletions.finish_deletion(deletion.pk, clock(5))
        return deletion

    return delete_and_finish


def test_undo_of_a_later_deletion_does_not_restore_the_text(owner, clock, make_fact):
    archived = make_fact("User lives in Oslo", kind="home", category="identity")
    Fact.objects.filter(pk=archived.pk).update(archived_at=clock(0))
    first = deletions.forget_facts(
        owner, [make_fact("User lives in Oslo", kind="home", category="identity").pk]
    )
    clock(3)
    later = deletions.clear_memory(owner)
    assert deletions.finish_deletion(first.pk, clock(3))
    deletions.undo_deletion(later)
    assert not Fact.objects.filter(text="User lives in Oslo").exists()


def test_the_text_is_removed_from_other_facts_history(clock, make_fact, delete_permanently):
    other = edit_fact(make_fact("User likes chess"), "User likes go")
    delete_permanently(make_fact("user likes CHESS"))
    event = FactEvent.objects.get(fact=other)
    assert (event.kind, event.after["text"]) == ("edit", "User likes go")
    assert "text" not in event.before
    assert event.before["confidence"] == 0.75


def test_quotes_of_other_facts_that_contain_the_text_are_emptied(make_fact, delete_permanently):
    corrected = make_fact("User likes go", quote="They said: User likes chess!")
    other = make_fact("User likes rye", quote="I like rye.")
    delete_permanently(make_fact("User likes chess"))
    corrected.refresh_from_db()
    other.refresh_from_db()
    assert (corrected.quote, other.quote) == ("", "I like rye.")


def test_event_reasons_that_contain_the_text_are_emptied(make_fact, delete_permanently):
    tea = make_fact("User likes tea")
    record_event(tea, "update", "memory", reason="merged with “User likes chess”")
    record_event(tea, "reinforce", "memory", reason="said again")
    delete_permanently(make_fact("User likes chess"))
    assert {event.reason for event in FactEvent.objects.filter(fact=tea)} == {"", "said again"}


def test_extraction_runs_and_jobs_no_longer_contain_the_text(talk, make_fact, delete_permanently):
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
    delete_permanently(fact)
    run = ExtractionRun.objects.get()
    assert (run.error, run.refused) == ("", [{"text": "User flies", "reason": "a joke"}])
    assert not Job.objects.filter(kind="settle").exists()
    assert Job.objects.get(kind="other").last_error == ""


def test_a_short_text_does_not_match_within_longer_words(talk, make_fact, delete_permanently):
    asked, _ = talk("Hello")
    ExtractionRun.objects.create(message=asked, error="instead", refused=[{"text": "x", "reason": "teal"}])
    delete_permanently(make_fact("tea"))
    run = ExtractionRun.objects.get()
    assert (run.error, run.refused) == ("instead", [{"text": "x", "reason": "teal"}])


def test_entities_without_other_facts_leave_the_graph(owner, clock, delete_permanently):
    gone = add_fact(owner, "I live in Oslo")
    add_fact(owner, "My sister lives in Bergen")
    names = set(Entity.objects.values_list("name", flat=True))
    assert "Oslo" in names
    delete_permanently(gone)
    assert set(Entity.objects.values_list("name", flat=True)) == names - {"Oslo"}
    assert not Relationship.objects.filter(source_fact_id=gone.pk).exists()


def test_the_text_of_a_fact_learned_again_meanwhile_stays(clock, owner, make_fact, talk):
    deletion = deletions.forget_facts(owner, [make_fact("User likes chess").pk])
    clock(1)
    again = add_fact(owner, "User likes chess")
    asked, _ = talk("Hello")
    Message.objects.filter(pk=asked.pk).update(note="(\n- User likes chess\n)")
    deletions.finish_deletion(deletion.pk, clock(5))
    assert Fact.objects.get() == again
    assert FactEvent.objects.get(fact=again, kind="add").after["text"] == "User likes chess"
    asked.refresh_from_db()
    assert "User likes chess" in asked.note


def test_an_archived_copy_is_deleted_too(clock, make_fact, delete_permanently):
    make_fact("user likes chess.", archived_at=clock(0))
    kept = make_fact("User likes tea", archived_at=clock(0))
    delete_permanently(make_fact("User likes chess"))
    assert list(Fact.objects.all()) == [kept]


def test_a_superseded_copy_is_deleted_and_its_chain_is_closed(clock, make_fact, delete_permanently):
    oldest = make_fact("User likes go", superseded_at=clock(0))
    middle = make_fact("User likes chess", superseded_at=clock(0), supersedes=oldest)
    newest = make_fact("User likes tea", supersedes=middle)
    delete_permanently(make_fact("User likes CHESS"))
    newest.refresh_from_db()
    assert newest.supersedes == oldest
    assert not Fact.objects.filter(pk=middle.pk).exists()


def test_the_superseded_fact_is_deleted_with_its_successor(owner, make_fact, delete_permanently):
    make_fact("User lives in Oslo", kind="home", category="identity")
    delete_permanently(add_fact(owner, "I live in Bergen"))
    assert not Fact.objects.exists()
    # Two texts and two values.
    assert Tombstone.objects.count() == 4


def test_the_models_caches_that_contain_the_text_are_freed(
    owner, talk, make_fact, scripted, delete_permanently
):
    noted, _ = talk("Is chess hard?")
    Message.objects.filter(pk=noted.pk).update(note="(\n- User likes chess\n)")
    opened, _ = talk("Hello")
    fact = make_fact("User likes chess")
    Conversation.objects.filter(pk=opened.conversation_id).update(
        memory_block="- User likes chess", memory_block_facts={str(fact.pk): 1}
    )
    talk("Something else")
    delete_permanently(fact)
    assert scripted.forgotten == []
    run_due(["free_caches"])
    read = {str(noted.conversation_id), str(opened.conversation_id)}
    assert set(scripted.forgotten) == read | {f"{key}:next" for key in read}


def test_without_a_model_the_cache_job_does_nothing(make_fact, delete_permanently):
    delete_permanently(make_fact("User likes chess"))
    assert run_due(["free_caches"]) == 1
    assert not Job.objects.filter(kind="free_caches").exists()


def test_finishing_a_deletion_twice_does_nothing(clock, owner, make_fact, delete_permanently):
    deletion = delete_permanently(make_fact("User likes chess"))
    again = make_fact("User likes chess")
    assert deletions.finish_deletion(deletion.pk, clock(60)) is False
    assert Fact.objects.get() == again


def test_an_interrupted_finish_rolls_back(clock, owner, make_fact, monkeypatch):
    fact = make_fact("User likes chess")
    deletion = deletions.forget_facts(owner, [fact.pk])
    now = clock(5)

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(deletions.tombstones, "add_tombstones", interrupt)
        with pytest.raises(KeyboardInterrupt):
            deletions.finish_deletion(deletion.pk, now)
    deletion.refresh_from_db()
    assert deletion.state == "pending"
    assert Fact.objects.get() == fact
    assert deletions.finish_overdue_deletions(now) == 1
    assert not Fact.objects.exists()


def test_the_query_count_does_not_grow_with_the_messages(
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
    deletion = deletions.forget_facts(owner, [make_fact("User likes chess").pk])
    now = clock(5)
    with django_assert_max_num_queries(72):
        deletions.finish_deletion(deletion.pk, now)
    assert not Message.objects.filter(note__contains="chess").exists()
    assert Message.objects.filter(note__contains="- User likes tea").count() == 1000


def test_clearing_150_facts_with_300_texts_works(clock, owner, make_fact):
    for i in range(150):
        edit_fact(make_fact(f"User likes number {i}"), f"User likes letter {i}")
    deletion = deletions.clear_memory(owner)
    assert deletions.finish_deletion(deletion.pk, clock(9))
    assert not FactEvent.objects.exists()
    # 300 texts and 300 values.
    assert Tombstone.objects.count() == 600


def test_purge_facts_returns_the_removed_texts(owner, make_fact):
    fact = edit_fact(make_fact("User likes chess"), "User likes go")
    assert purge.purge_facts(owner, {fact.pk}) == {"User likes chess", "User likes go"}
