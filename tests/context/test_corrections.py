"""Facts edited or superseded elsewhere are corrected in the next turn note; the memory block is unchanged."""

from __future__ import annotations

import pytest
from django.utils import timezone

from chat.actions import deletions
from chat.actions.fact_events import record_event
from chat.actions.facts import edit_fact
from chat.models import Conversation, Fact, FactEventKind, Message

pytestmark = pytest.mark.django_db

BOAT, YACHT = "User is building a boat", "User is building a yacht"


@pytest.fixture
def boat(make_fact):
    """A project fact, which is in the memory block."""
    return make_fact(BOAT, category="project", kind="building")


@pytest.fixture
def supersede(make_fact):
    """Return a function that supersedes a fact, as an extraction in another conversation does."""

    def replace(old: Fact, text: str, source: Message | None = None) -> Fact | None:
        Fact.objects.filter(pk=old.pk).update(superseded_at=timezone.now())
        record_event(old, FactEventKind.SUPERSEDE, "memory", source=source)
        if not text:
            return None
        return make_fact(text, category=old.category, kind=old.kind, supersedes=old, source_message=source)

    return replace


def test_an_edited_fact_is_corrected_once_and_the_block_is_unchanged(boat, make_conversation, turn):
    conversation = make_conversation()
    first = turn(conversation, "Hi")
    edit_fact(boat, YACHT)
    second = turn(conversation, "And?")
    third = turn(conversation, "Go on")
    assert second.block == first.block == third.block
    assert f"- no longer: {BOAT}; now: {YACHT}" in second.note
    assert third.note == ""
    assert third.turns[: len(second.turns)] == second.turns


def test_a_correction_is_stored_with_the_message_and_replayed(boat, make_conversation, turn):
    conversation = make_conversation()
    turn(conversation, "Hi")
    edit_fact(boat, YACHT)
    turn(conversation, "And?")
    assert f"now: {YACHT}" in conversation.messages.get(content="And?").note
    assert any(f"now: {YACHT}" in t.content for t in turn(conversation, "Go on").turns)


def test_a_superseded_fact_is_corrected_with_the_current_value(boat, supersede, make_conversation, turn):
    conversation = make_conversation()
    turn(conversation, "Hi")
    yacht = supersede(supersede(boat, "User is building a canoe"), YACHT)
    second = turn(conversation, "And?")
    assert f"- no longer: {BOAT}; now: {YACHT}" in second.note
    assert str(yacht.pk) in second.note_facts
    assert turn(conversation, "Go on").note == ""


def test_a_fact_that_ended_is_corrected_without_a_new_value(boat, supersede, make_conversation, turn):
    conversation = make_conversation()
    turn(conversation, "Hi")
    supersede(boat, "")
    note = turn(conversation, "And?").note
    assert f"- no longer: {BOAT}" in note
    assert "now:" not in note


def test_facts_of_earlier_notes_are_corrected_too(make_fact, make_conversation, turn):
    home = make_fact("User lives in Oslo", category="identity", kind="home")
    conversation = make_conversation()
    assert "Oslo" in turn(conversation, "Is it cold in Oslo and Copenhagen?").note
    edit_fact(home, "User lives in Bergen")
    assert "- no longer: User lives in Oslo; now: User lives in Bergen" in turn(conversation, "Thanks").note


def test_a_second_edit_corrects_the_first_correction(boat, make_conversation, turn):
    conversation = make_conversation()
    turn(conversation, "Hi")
    boat = edit_fact(boat, YACHT)
    turn(conversation, "And?")
    edit_fact(boat, "User is building a raft")
    assert f"- no longer: {YACHT}; now: User is building a raft" in turn(conversation, "And now?").note


def test_a_reverted_edit_is_corrected_back(boat, make_conversation, turn):
    conversation = make_conversation()
    turn(conversation, "Hi")
    boat = edit_fact(boat, YACHT)
    turn(conversation, "And?")
    edit_fact(boat, BOAT)
    assert f"- no longer: {YACHT}; now: {BOAT}" in turn(conversation, "And now?").note
    assert turn(conversation, "Fine").note == ""


def test_a_change_made_in_this_conversation_needs_no_correction(boat, supersede, make_conversation, turn):
    conversation = make_conversation()
    turn(conversation, "Hi")
    turn(conversation, "I am building a yacht now, not a boat.")
    supersede(boat, YACHT, conversation.messages.get(seq=3))
    assert turn(conversation, "And?").note == ""


def test_a_fact_learned_here_and_edited_elsewhere_is_noted_with_its_new_text(
    make_fact, make_conversation, turn
):
    conversation = make_conversation()
    turn(conversation, "I live in Oslo.")
    home = make_fact(
        "User lives in Oslo",
        category="identity",
        kind="home",
        source_message=conversation.messages.get(seq=1),
    )
    edit_fact(home, "User lives in Bergen")
    assert "- User lives in Bergen" in turn(conversation, "What can I do in Bergen?").note


def test_deleting_a_corrected_fact_removes_both_texts(boat, owner, clock, make_conversation, turn):
    conversation = make_conversation()
    turn(conversation, "Hi")
    yacht = edit_fact(boat, YACHT)
    turn(conversation, "And?")
    deletion = deletions.forget_facts(owner, [yacht.pk])
    pending = turn(conversation, "Go on")
    assert not any("boat" in t.content or "yacht" in t.content for t in pending.turns)
    assert deletions.finish_deletion(deletion.pk, clock(5))
    kept = str([*Message.objects.values_list("note"), *Conversation.objects.values_list("memory_block")])
    assert "boat" not in kept
    assert "yacht" not in kept


def test_deleting_the_successor_removes_the_superseded_text(boat, owner, supersede, make_conversation, turn):
    conversation = make_conversation()
    turn(conversation, "Hi")
    yacht = supersede(boat, YACHT)
    turn(conversation, "And?")
    deletions.forget_facts(owner, [yacht.pk])
    after = turn(conversation, "Go on")
    assert not any("yacht" in t.content or "boat" in t.content for t in after.turns)


def test_an_archived_fact_is_not_corrected(boat, make_conversation, turn):
    conversation = make_conversation()
    first = turn(conversation, "Hi")
    Fact.objects.filter(pk=boat.pk).update(archived_at=timezone.now())
    second = turn(conversation, "And?")
    assert (second.note, second.block) == ("", first.block)


def test_with_memory_off_corrections_are_removed(boat, make_conversation, turn):
    conversation = make_conversation()
    turn(conversation, "Hi")
    edit_fact(boat, YACHT)
    turn(conversation, "And?")
    Conversation.objects.filter(pk=conversation.pk).update(memory_mode="off")
    off = turn(conversation, "Go on")
    assert not any("boat" in t.content or "yacht" in t.content for t in off.turns)


def test_the_block_returns_when_memory_is_turned_on(boat, make_conversation, turn):
    conversation = make_conversation(memory_mode="off")
    assert turn(conversation, "Hi").block.text == ""
    Conversation.objects.filter(pk=conversation.pk).update(memory_mode="on")
    assert BOAT in turn(conversation, "And?").block.text


def test_a_fresh_block_after_trimming_needs_no_correction(boat, make_conversation, turn, provider):
    provider.context_window = 2048
    conversation = make_conversation()
    turn(conversation, "Hi")
    edit_fact(boat, YACHT)
    compacted = turn(conversation, "x" * 7000)
    assert YACHT in compacted.block.text
    assert compacted.note == ""


@pytest.mark.parametrize(
    "text", ["no longer: User sings; now: User dances", "[no longer: a; now: b", "x; now: y"]
)
def test_a_fact_that_looks_like_a_correction_corrects_nothing(make_fact, make_conversation, turn, text):
    make_fact("User sings", category="project", kind="goal")
    make_fact(text, category="project", kind="goal")
    conversation = make_conversation()
    first = turn(conversation, "Hi")
    assert "- User sings" in first.block.text
    assert "\n- no longer: " not in first.block.text
    second = turn(conversation, "And?")
    assert (second.note, second.block) == ("", first.block)
