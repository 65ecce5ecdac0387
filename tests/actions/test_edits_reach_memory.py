"""An edited message takes back what only its old wording taught memory, and an undo restores it."""

from __future__ import annotations

import pytest

from chat.actions import deletions, extraction, message_edits
from chat.actions.facts import add_fact, edit_fact, pin_fact
from chat.actions.messages import finish_reply
from chat.actions.supersession import find_chains
from chat.errors import TooLateToUndo
from chat.memory.candidates import Extraction, FactCandidate
from chat.memory.consolidate import Action, Opinion
from chat.models import Conversation, Deletion, Fact, FactEvent, Message, Tombstone

from .conversation_views import find_message

pytestmark = pytest.mark.django_db

OSLO, BERGEN = "User lives in Oslo", "User lives in Bergen"


def teach(message, *texts, kind="home", category="identity", endings=()):
    """Record the extraction of a message with these facts."""
    found = Extraction(
        [FactCandidate(text, kind, category, "", hedged=False, quote=message.content) for text in texts]
    )
    message = Message.objects.select_related("conversation__owner").get(pk=message.pk)
    vectors = [None] * len(texts)
    return extraction.record_extraction(message, found, vectors, "", 0.1, endings=endings)


def live_texts():
    return sorted(Fact.objects.live().values_list("text", flat=True))


def edit(message, text="Hello there"):
    """Send an edited message and finish its reply; return the new message."""
    asked, reply = message_edits.resend_message(message, text)
    finish_reply(reply, "All right.", "complete")
    return asked


def undo():
    return deletions.undo_deletion(Deletion.objects.get(retraction__isnull=False))


@pytest.fixture
def oslo(chat):
    """A message that taught that the user lives in Oslo."""
    message = find_message(chat("I live in Oslo"), "I live in Oslo")
    teach(message, OSLO)
    return message


class TestWhatIsTakenBack:
    """Only what nothing else taught."""

    def test_a_fact_of_the_old_wording_alone_is_taken_back_when_the_edit_is_sent(self, oslo):
        asked = edit(oslo)
        assert live_texts() == []
        deletion = Deletion.objects.get()
        assert deletion.message == asked
        assert list(deletion.facts.values_list("text", flat=True)) == [OSLO]

    def test_undo_restores_it(self, oslo):
        fact = Fact.objects.get()
        edit(oslo)
        undo()
        assert Fact.objects.live().get() == fact

    def test_it_is_deleted_for_good_without_a_tombstone(self, oslo, clock):
        asked = edit(oslo)
        teach(asked)
        assert deletions.finish_deletion(Deletion.objects.get().pk, clock(125))
        assert not Fact.objects.exists()
        assert not Tombstone.objects.exists()
        assert oslo.kept_out == []
        with pytest.raises(TooLateToUndo):
            undo()

    def test_a_reinforced_fact_loses_this_mention_and_its_rise_in_confidence(self, chat):
        conversation = chat("I live in Oslo", "Oslo is my home")
        first, second = (find_message(conversation, text) for text in ("I live in Oslo", "Oslo is my home"))
        teach(first, OSLO)
        before = Fact.objects.get()
        teach(second, OSLO)
        assert Fact.objects.get().mention_count == 2
        edit(second)
        after = Fact.objects.live().get()
        assert (after.confidence, after.mention_count) == (before.confidence, 1)
        assert after.last_seen.replace(microsecond=0) == before.last_seen.replace(microsecond=0)
        undo()
        again = Fact.objects.live().get()
        assert (again.confidence, again.mention_count) == (0.9, 2)

    def test_a_fact_that_another_chat_repeated_stays_with_that_source(self, chat, oslo):
        other = find_message(chat("My home is Oslo, in Norway"), "My home is Oslo, in Norway")
        teach(other, OSLO)
        edit(oslo)
        fact = Fact.objects.live().get()
        assert (fact.mention_count, fact.confidence, fact.source_message) == (1, 0.75, other)
        assert fact.quote == "My home is Oslo, in Norway"
        assert fact.last_seen_conversation == other.conversation
        undo()
        fact.refresh_from_db()
        assert (fact.mention_count, fact.confidence, fact.source_message) == (2, 0.9, oslo)

    def test_a_superseded_fact_is_current_again(self, chat, oslo):
        moved = find_message(chat("I moved to Bergen"), "I moved to Bergen")
        pin_fact(Fact.objects.get(), True)
        teach(moved, BERGEN)
        assert live_texts() == [BERGEN]
        edit(moved)
        back = Fact.objects.live().get()
        assert (back.text, back.pinned) == (OSLO, True)
        undo()
        bergen = Fact.objects.live().get()
        assert (bergen.text, bergen.pinned, bergen.supersedes.text) == (BERGEN, True, OSLO)

    def test_an_undo_after_a_newer_value_puts_the_old_ones_behind_it(self, chat, oslo):
        moved = find_message(chat("I moved to Bergen"), "I moved to Bergen")
        teach(moved, BERGEN)
        edit(moved)
        third = find_message(chat("I moved to Tromsø"), "I moved to Tromsø")
        teach(third, "User lives in Tromsø")
        undo()
        assert live_texts() == ["User lives in Tromsø"]
        newest = Fact.objects.live().get()
        texts = dict(Fact.objects.values_list("pk", "text"))
        chain = [texts[key] for key in find_chains(newest.owner_id, [newest.pk])[newest.pk]]
        assert chain == [OSLO, BERGEN]

    def test_a_value_that_was_replaced_since_leaves_the_newer_one_as_it_is(self, chat, oslo):
        teach(find_message(chat("I moved to Bergen"), "I moved to Bergen"), BERGEN)
        edit(oslo)
        assert live_texts() == [BERGEN]

    def test_a_fact_that_the_old_wording_ended_is_current_again(self, chat, make_fact):
        car = make_fact("User drives a Saab")
        sold = find_message(chat("I sold my car"), "I sold my car")
        teach(sold, endings=[Opinion(Action.END, car.pk, car.version, "sold")])
        assert live_texts() == []
        edit(sold)
        assert live_texts() == ["User drives a Saab"]
        undo()
        assert live_texts() == []

    def test_messages_after_the_edited_one_are_taken_back_with_it(self, chat):
        conversation = chat("Hello", "I live in Oslo")
        teach(find_message(conversation, "I live in Oslo"), OSLO)
        edit(find_message(conversation, "Hello"), "Good evening")
        assert live_texts() == []

    @pytest.mark.parametrize(
        "confirm",
        [
            lambda fact: edit_fact(fact, "User lives in Oslo, in the west"),
            lambda fact: pin_fact(fact, True),
            lambda fact: add_fact(fact.owner, fact.text),
        ],
        ids=["edited", "pinned", "added"],
    )
    def test_a_fact_that_the_user_confirmed_by_hand_stays(self, oslo, confirm):
        confirm(Fact.objects.get())
        edit(oslo)
        assert Fact.objects.live().count() == 1

    def test_a_fact_that_was_brought_back_by_undo_stays_at_the_next_edit(self, oslo):
        asked = edit(oslo)
        undo()
        edit(asked)
        assert live_texts() == [OSLO]

    def test_an_edit_that_changes_nothing_in_memory_makes_no_deletion(self, chat):
        edit(find_message(chat("cats"), "cats"))
        assert not Deletion.objects.exists()

    def test_with_memory_off_nothing_is_taken_back(self, oslo):
        Conversation.objects.update(memory_mode="read_only")
        oslo.refresh_from_db()
        edit(oslo)
        assert live_texts() == [OSLO]

    def test_a_new_reply_takes_nothing_back(self, oslo):
        message_edits.retry_reply(Message.objects.get(conversation=oslo.conversation, role="assistant"))
        assert live_texts() == [OSLO]

    def test_another_owners_facts_are_untouched(self, oslo, other):
        Fact.objects.update(owner=other)
        edit(oslo)
        assert live_texts() == [OSLO]


class TestTheNewWording:
    """What it teaches again is the same fact."""

    def test_a_fact_that_it_teaches_again_is_the_same_fact(self, oslo):
        before = Fact.objects.get()
        asked = edit(oslo, "I live in Oslo now")
        teach(asked, OSLO)
        after = Fact.objects.live().get()
        assert (after.pk, after.source_message, after.quote) == (before.pk, asked, "I live in Oslo now")
        assert (after.mention_count, after.confidence) == (1, 0.75)
        assert not Tombstone.objects.exists()

    def test_another_value_takes_the_place_of_the_old_wordings_value(self, chat, oslo):
        moved = find_message(chat("I moved to Bergen"), "I moved to Bergen")
        teach(moved, BERGEN)
        asked = edit(moved, "I moved to Tromsø")
        teach(asked, "User lives in Tromsø")
        new = Fact.objects.live().get()
        assert (new.text, new.supersedes.text) == ("User lives in Tromsø", OSLO)

    def test_the_same_value_again_supersedes_the_revived_one(self, chat, oslo):
        moved = find_message(chat("I moved to Bergen"), "I moved to Bergen")
        teach(moved, BERGEN)
        before = Fact.objects.live().get()
        teach(edit(moved, "I have moved to Bergen"), BERGEN)
        after = Fact.objects.live().get()
        assert (after.pk, after.supersedes.text) == (before.pk, OSLO)

    def test_the_deletion_waits_until_the_new_wording_was_extracted(self, oslo, clock):
        before = Fact.objects.get()
        asked = edit(oslo, "I live in Oslo now")
        deletion = Deletion.objects.get()
        assert not deletions.finish_deletion(deletion.pk, clock(3600))
        teach(asked, OSLO)
        assert Fact.objects.live().get() == before
        assert deletions.finish_deletion(deletion.pk, clock(3600))
        assert live_texts() == [OSLO]

    def test_after_a_day_the_deletion_waits_no_longer(self, oslo, clock):
        edit(oslo)
        assert deletions.finish_deletion(Deletion.objects.get().pk, clock(90_000))
        assert not Fact.objects.exists()

    def test_undo_works_after_the_new_wording_was_extracted(self, oslo):
        asked = edit(oslo, "I live in Bergen")
        teach(asked, BERGEN)
        undo()
        assert live_texts() == [BERGEN]
        assert Fact.objects.live().get().supersedes.text == OSLO

    def test_a_later_edit_counts_only_the_shown_wording(self, oslo):
        asked = edit(oslo, "I live in Oslo now")
        teach(asked, OSLO)
        edit(asked)
        assert live_texts() == []


def test_the_old_wording_is_never_extracted_after_the_edit(chat):
    old = find_message(chat("I live in Oslo"), "I live in Oslo")
    asked = edit(old)
    assert teach(old, OSLO) is None
    assert not Fact.objects.exists()
    assert list(Message.objects.not_extracted(Conversation.objects.get())) == [asked]


def test_an_edit_takes_a_fixed_number_of_queries(chat, django_assert_max_num_queries):
    message = find_message(chat("I know many things"), "I know many things")
    teach(
        message,
        *(f"User collects thing {n}x" for n in "abcdefghijklmno"),
        kind="likes",
        category="preference",
    )
    assert Fact.objects.live().count() == 15
    with django_assert_max_num_queries(55):
        message_edits.resend_message(message, "Hello")
    assert live_texts() == []
    assert FactEvent.objects.filter(kind="delete").count() == 15
