"""A deleted fact is not extracted again from older messages; newer messages can add it again."""

from __future__ import annotations

import pytest

from chat.actions import archive, deletions, extraction, tombstones
from chat.actions.facts import add_fact, edit_fact
from chat.memory.candidates import Extraction, FactCandidate, RefusedFact
from chat.models import Deletion, ExtractionRun, Fact, Tombstone

pytestmark = pytest.mark.django_db

FORGOTTEN = "forgotten-since"


def record_found(message, text: str = "User likes chess", refused=()) -> ExtractionRun | None:
    candidate = FactCandidate(text, "likes", "preference", "", hedged=False, quote=text)
    return extraction.record_extraction(message, Extraction([candidate], list(refused)), [None], "", 0.1)


@pytest.fixture
def delete_permanently(owner, clock):
    def delete_and_finish(*facts: Fact) -> None:
        deletion = deletions.forget_facts(owner, [fact.pk for fact in facts])
        assert deletions.finish_deletion(deletion.pk, clock(5))

    return delete_and_finish


def test_an_older_message_does_not_add_a_deleted_fact(clock, talk, make_fact, delete_permanently):
    asked, _ = talk("I like chess!")
    clock(1)
    delete_permanently(make_fact("User likes chess"))
    run = record_found(asked, "user likes CHESS.")
    assert not Fact.objects.exists()
    assert (run.stored, run.refused) == (0, [{"text": "", "reason": FORGOTTEN}])


def test_a_newer_message_adds_a_deleted_fact_again(clock, talk, make_fact, delete_permanently):
    delete_permanently(make_fact("User likes chess"))
    asked, _ = talk("I like chess.")
    assert record_found(asked).stored == 1
    assert Fact.objects.live().get().text == "User likes chess"


def test_the_user_can_add_a_deleted_fact_again(owner, make_fact, delete_permanently):
    delete_permanently(make_fact("I like chess"))
    assert add_fact(owner, "I like chess").text == "I like chess"


def test_every_earlier_text_of_a_deleted_fact_is_barred(clock, talk, make_fact, delete_permanently):
    asked, _ = talk("I like chess!")
    clock(1)
    delete_permanently(edit_fact(make_fact("User likes chess"), "User likes go"))
    # Two of texts, two of values, and one of the sentence that said it.
    assert Tombstone.objects.count() == 5
    assert record_found(asked).stored == 0


def test_similar_texts_are_barred_while_the_deletion_can_be_undone(clock, owner, talk, make_fact):
    asked, _ = talk("Chess is what I like.")
    clock(1)
    edited = edit_fact(make_fact("User likes go", confidence=0.8), "User likes chess a lot")
    deletion = deletions.forget_facts(owner, [edited.pk])
    run = record_found(asked, "User likes chess", [RefusedFact("user likes GO", "not sure")])
    assert run.stored == 0
    assert run.refused == [{"text": "", "reason": "not sure"}, {"text": "", "reason": FORGOTTEN}]
    deletions.undo_deletion(deletion)
    back = Fact.objects.live().get()
    assert (back.text, back.mention_count) == ("User likes chess a lot", 1)


def test_earlier_texts_are_barred_while_the_deletion_can_be_undone(clock, owner, talk, make_fact):
    asked, _ = talk("I like tea.")
    clock(1)
    edited = edit_fact(make_fact("User likes tea"), "User is building a boat")
    deletions.forget_facts(owner, [edited.pk])
    assert record_found(asked, "User likes tea").stored == 0


def test_other_facts_of_an_older_message_are_stored(clock, talk, make_fact, delete_permanently):
    asked, _ = talk("I like chess and tea.")
    clock(1)
    delete_permanently(make_fact("User likes chess"))
    assert record_found(asked, "User likes tea").stored == 1


def test_an_undone_deletion_bars_nothing(clock, owner, talk, make_fact):
    asked, _ = talk("I like chess.")
    clock(1)
    deletions.undo_deletion(deletions.forget_facts(owner, [make_fact("User likes chess").pk]))
    assert record_found(asked).reinforced == 1
    assert not Tombstone.objects.exists()


def test_a_tombstone_stores_a_keyed_hash_and_no_text(owner, make_fact, delete_permanently, settings):
    delete_permanently(make_fact("User likes chess"))
    digest = tombstones.hash_fact_text(owner, "user likes chess!")
    tombstone = Tombstone.objects.get(digest=digest)
    assert len(tombstone.digest) == 64
    settings.SECRET_KEY = "another"
    assert tombstone.digest != tombstones.hash_fact_text(owner, "User likes chess")


def test_two_owners_get_different_digests_for_one_text(owner, other):
    assert tombstones.hash_fact_text(owner, "User likes chess") != tombstones.hash_fact_text(
        other, "User likes chess"
    )


def test_a_second_deletion_moves_the_tombstones_time(clock, owner, talk, make_fact, delete_permanently):
    delete_permanently(make_fact("User likes chess"))
    asked, _ = talk("I like chess.")
    clock(1)
    delete_permanently(make_fact("User likes chess"))
    # One of the text, one of the value, and one of the sentence that said it.
    assert Tombstone.objects.count() == 3
    assert record_found(asked).stored == 0


def test_another_owners_tombstones_bar_nothing(clock, owner, other, talk):
    asked, _ = talk("I like chess.")
    theirs = add_fact(other, "User likes chess")
    clock(1)
    deletion = deletions.forget_facts(other, [theirs.pk])
    deletions.finish_deletion(deletion.pk, clock(5))
    assert record_found(asked).stored == 1


def test_a_text_is_barred_though_the_archive_deleted_the_fact_before_the_deletion_ended(
    clock, owner, talk, make_fact
):
    archived = make_fact("User likes chess", archived_at=clock(0) - archive.ARCHIVE_RETENTION)
    later = make_fact("User likes go")
    earlier = make_fact("User likes chess", superseded_at=clock(0))
    Fact.objects.filter(pk=later.pk).update(supersedes=earlier)
    first, _ = talk("I like chess.")
    second, _ = talk("I do like chess.")
    clock(1)
    deletion = deletions.forget_facts(owner, [later.pk])
    assert archive.purge_archive(owner, clock(1)) == 1
    assert not Fact.objects.filter(pk__in=[archived.pk, earlier.pk]).exists()
    assert record_found(first).refused == [{"text": "", "reason": FORGOTTEN}]
    assert deletions.finish_deletion(deletion.pk, clock(5))
    assert record_found(second).refused == [{"text": "", "reason": FORGOTTEN}]


def test_an_earlier_text_is_barred_though_another_deletion_removed_it_from_the_history(
    clock, owner, talk, make_fact
):
    edited = edit_fact(make_fact("User likes chess"), "User likes go")
    first = deletions.forget_facts(owner, [make_fact("User likes chess").pk])
    asked, _ = talk("I like chess.")
    clock(1)
    second = deletions.forget_facts(owner, [edited.pk])
    assert deletions.finish_deletion(first.pk, clock(5))
    assert deletions.finish_deletion(second.pk, clock(5))
    assert record_found(asked).refused == [{"text": "", "reason": FORGOTTEN}]


def test_a_deletion_keeps_no_hashes_after_its_end_or_its_undo(clock, owner, make_fact):
    done = deletions.forget_facts(owner, [make_fact("User likes chess").pk])
    undone = deletions.forget_facts(owner, [make_fact("User likes go").pk])
    whole = deletions.erase_account(owner)
    deletions.undo_deletion(undone)
    assert deletions.finish_deletion(done.pk, clock(5))
    assert deletions.finish_deletion(whole.pk, clock(5))
    assert not any(Deletion.objects.values_list("digests", flat=True))
