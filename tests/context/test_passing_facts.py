"""A fact that is past is corrected in the next note; the block and the earlier turns stay as they were."""

from __future__ import annotations

from datetime import date

import pytest
from django.utils import timezone

from chat.actions import archive, deletions
from chat.actions.facts import edit_fact
from chat.context.fact_snapshot import list_live_facts
from chat.jobs import schedule
from chat.models import Conversation, FactEvent, FactEventKind, Message, OwnerSettings

pytestmark = pytest.mark.django_db

MARATHON = "User's marathon is on 12 April"
PAST = f"- no longer: {MARATHON}"


@pytest.fixture
def marathon(make_fact, time_machine):
    """An event of 12 April 2027, on Sunday, 29 November 2026."""
    time_machine.move_to("2026-11-29 12:00+00:00", tick=False)
    return make_fact(MARATHON, category="identity", kind="event", pinned=True, holds_until=date(2027, 4, 12))


@pytest.fixture
def son(make_fact, time_machine):
    """An age that is said on Sunday, 29 November 2026."""
    time_machine.move_to("2026-11-29 12:00+00:00", tick=False)
    return make_fact(
        "User's grandson is 3", category="identity", kind="family", pinned=True, said_on=date(2026, 11, 29)
    )


def test_my_marathon_is_on_12_april_is_past_after_it_and_leaves_by_itself(
    owner, marathon, make_conversation, turn, time_machine
):
    conversation = make_conversation()
    first = turn(conversation, "Hi")
    assert MARATHON in first.block.text
    time_machine.move_to("2027-04-12 22:00+00:00", tick=False)
    second = turn(conversation, "Good evening")
    assert PAST not in second.note
    time_machine.move_to("2027-04-13 07:00+00:00", tick=False)
    third = turn(conversation, "Good morning")
    assert PAST in third.note.split("\n")
    assert third.block == second.block == first.block
    assert third.turns[: len(second.turns)] == second.turns
    fresh = turn(make_conversation(), "Hi")
    assert MARATHON not in fresh.block.text


def test_the_correction_is_told_once_and_also_after_the_fact_was_archived(
    owner, marathon, make_conversation, turn, time_machine
):
    conversation, other = make_conversation(), make_conversation()
    turn(conversation, "Hi")
    turn(other, "Hi")
    time_machine.move_to("2027-04-13 02:00+00:00", tick=False)
    assert PAST in turn(conversation, "Good morning").note
    schedule.decay_and_purge(owner, timezone.now(), timezone.get_default_timezone())
    marathon.refresh_from_db()
    assert marathon.archived_at is not None
    assert "no longer" not in turn(conversation, "Go on").note
    assert PAST in turn(other, "Good morning").note


def test_the_day_ends_in_the_owners_zone(owner, marathon, make_conversation, turn, time_machine):
    OwnerSettings.objects.filter(owner=owner).update(time_zone="America/Los_Angeles")
    time_machine.move_to("2027-04-13 05:00+00:00", tick=False)
    assert MARATHON in turn(make_conversation(), "Hi").block.text
    time_machine.move_to("2027-04-13 08:00+00:00", tick=False)
    assert MARATHON not in turn(make_conversation(), "Hi").block.text


def test_a_past_fact_leaves_at_night_with_its_pin_and_its_history_says_why(owner, marathon, time_machine):
    today = date(2027, 4, 12)
    assert archive.archive_past_facts(owner, today, timezone.now()) == []
    assert archive.archive_past_facts(owner, date(2027, 4, 13), timezone.now()) == [marathon]
    marathon.refresh_from_db()
    assert (marathon.archived_at is not None, marathon.pinned) == (True, False)
    event = FactEvent.objects.get(fact=marathon)
    assert (event.kind, event.actor, event.before["pinned"]) == (FactEventKind.PASS, "system", True)
    assert archive.archive_past_facts(owner, date(2027, 4, 13), timezone.now()) == []


def test_a_past_fact_that_is_brought_back_stays(owner, marathon, time_machine):
    time_machine.move_to("2027-04-13 07:00+00:00", tick=False)
    archive.archive_past_facts(owner, date(2027, 4, 13), timezone.now())
    archive.restore_archived_fact(marathon)
    assert archive.archive_past_facts(owner, date(2027, 4, 14), timezone.now()) == []
    assert [fact.text for fact in list_live_facts(owner)] == [MARATHON]


def test_my_son_is_3_is_told_two_years_later_as_3_in_november_2026(
    son, make_conversation, turn, time_machine
):
    told = "- User's grandson is 3 in November 2026"
    assert told in turn(make_conversation(), "Hi").block.text
    time_machine.move_to("2028-11-29 12:00+00:00", tick=False)
    assert told in turn(make_conversation(), "Hi").block.text
    noting = make_conversation(memory_block="", memory_block_facts={})
    assert told in turn(noting, "How old is my grandson?").note


def test_a_block_with_an_age_is_not_corrected_as_time_goes_by(son, make_conversation, turn, time_machine):
    conversation = make_conversation()
    first = turn(conversation, "Hi")
    time_machine.move_to("2028-11-29 12:00+00:00", tick=False)
    second = turn(conversation, "Good morning")
    assert second.note == ""
    assert second.block == first.block


def test_an_age_that_is_edited_is_corrected_with_the_day_of_the_edit(
    son, make_conversation, turn, time_machine
):
    conversation = make_conversation()
    turn(conversation, "Hi")
    time_machine.move_to("2028-02-01 12:00+00:00", tick=False)
    edit_fact(son, "User's grandson is 4")
    note = turn(conversation, "And?").note
    assert (
        "- no longer: User's grandson is 3 in November 2026; now: User's grandson is 4 in February 2028"
        in note
    )


def test_a_forgotten_age_leaves_the_notes_and_blocks_that_told_it(owner, son, make_conversation, turn, clock):
    conversation = make_conversation()
    turn(conversation, "Hi")
    noting = make_conversation(memory_block="", memory_block_facts={})
    turn(noting, "How old is my grandson?")
    deletion = deletions.forget_facts(owner, [son.pk])
    assert "User's grandson" not in str(turn(conversation, "And?").turns[0])
    deletions.finish_deletion(deletion.pk, deletion.expires_at + deletions.UNDO_GRACE * 2)
    stored = [
        *Message.objects.values_list("note", flat=True),
        *Conversation.objects.values_list("memory_block", flat=True),
    ]
    assert "User's grandson" not in str(stored)
