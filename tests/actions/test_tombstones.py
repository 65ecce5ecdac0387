"""What was forgotten is not learned again from what was said before, and is when it is said anew."""

from __future__ import annotations

import pytest

from chat.actions import deletions, looks, tombstones
from chat.actions.facts import add_fact, edit_fact
from chat.memory.extract import Candidate, Extraction, Refusal
from chat.models import ExtractionRun, Fact, Tombstone

pytestmark = pytest.mark.django_db

FORGOTTEN = "You asked to forget this after you wrote it."


def look(message, text: str = "User likes chess", refused=()) -> ExtractionRun | None:
    candidate = Candidate(text, "likes", "preference", "", hedged=False, quote=text)
    return looks.record_look(message, Extraction([candidate], list(refused)), [None], "", 0.1)


@pytest.fixture
def forget_for_good(owner, clock):
    def forget(*facts: Fact) -> None:
        deletion = deletions.forget(owner, [fact.pk for fact in facts])
        assert deletions.finish(deletion.pk, clock(5))

    return forget


def test_an_older_message_does_not_teach_it_again(clock, talk, make_fact, forget_for_good):
    asked, _ = talk("I like chess!")
    clock(1)
    forget_for_good(make_fact("User likes chess"))
    run = look(asked, "user likes CHESS.")
    assert not Fact.objects.exists()
    assert (run.stored, run.refused) == (0, [{"text": "", "reason": FORGOTTEN}])


def test_a_newer_message_does(clock, talk, make_fact, forget_for_good):
    forget_for_good(make_fact("User likes chess"))
    asked, _ = talk("I like chess.")
    assert look(asked).stored == 1
    assert Fact.objects.live().get().text == "User likes chess"


def test_adding_it_by_hand_does_too(owner, make_fact, forget_for_good):
    forget_for_good(make_fact("I like chess"))
    assert add_fact(owner, "I like chess").text == "I like chess"


def test_every_wording_it_ever_had_is_barred(clock, talk, make_fact, forget_for_good):
    asked, _ = talk("I like chess!")
    clock(1)
    forget_for_good(edit_fact(make_fact("User likes chess"), "User likes go"))
    assert Tombstone.objects.count() == 2
    assert look(asked).stored == 0


def test_while_it_can_be_undone_an_older_message_does_not_teach_it_in_other_words_either(
    clock, owner, talk, make_fact
):
    asked, _ = talk("Chess is what I like.")
    clock(1)
    edited = edit_fact(make_fact("User likes go", confidence=0.8), "User likes chess a lot")
    deletion = deletions.forget(owner, [edited.pk])
    run = look(asked, "User likes chess", [Refusal("user likes GO", "not sure")])
    assert run.stored == 0
    assert run.refused == [{"text": "", "reason": "not sure"}, {"text": "", "reason": FORGOTTEN}]
    deletions.undo(deletion)
    back = Fact.objects.live().get()
    assert (back.text, back.mention_count) == ("User likes chess a lot", 1)


def test_an_earlier_wording_of_what_can_be_undone_is_barred(clock, owner, talk, make_fact):
    asked, _ = talk("I like tea.")
    clock(1)
    edited = edit_fact(make_fact("User likes tea"), "User is building a boat")
    deletions.forget(owner, [edited.pk])
    assert look(asked, "User likes tea").stored == 0


def test_other_facts_of_an_older_message_are_learned(clock, talk, make_fact, forget_for_good):
    asked, _ = talk("I like chess and tea.")
    clock(1)
    forget_for_good(make_fact("User likes chess"))
    assert look(asked, "User likes tea").stored == 1


def test_an_undone_deletion_bars_nothing(clock, owner, talk, make_fact):
    asked, _ = talk("I like chess.")
    clock(1)
    deletions.undo(deletions.forget(owner, [make_fact("User likes chess").pk]))
    assert look(asked).reinforced == 1
    assert not Tombstone.objects.exists()


def test_it_holds_no_text_and_needs_the_secret_key(owner, make_fact, forget_for_good, settings):
    forget_for_good(make_fact("User likes chess"))
    stone = Tombstone.objects.get()
    assert len(stone.digest) == 64
    assert stone.digest == tombstones.digest_of(owner, "user likes chess!")
    settings.SECRET_KEY = "another"
    assert stone.digest != tombstones.digest_of(owner, "User likes chess")


def test_two_people_who_forget_the_same_have_different_stones(owner, other):
    assert tombstones.digest_of(owner, "User likes chess") != tombstones.digest_of(other, "User likes chess")


def test_the_later_press_counts(clock, owner, talk, make_fact, forget_for_good):
    forget_for_good(make_fact("User likes chess"))
    asked, _ = talk("I like chess.")
    clock(1)
    forget_for_good(make_fact("User likes chess"))
    assert Tombstone.objects.count() == 1
    assert look(asked).stored == 0


def test_another_persons_tombstones_bar_nothing(clock, owner, other, talk):
    asked, _ = talk("I like chess.")
    theirs = add_fact(other, "User likes chess")
    clock(1)
    deletion = deletions.forget(other, [theirs.pk])
    deletions.finish(deletion.pk, clock(5))
    assert look(asked).stored == 1
