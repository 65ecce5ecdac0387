"""Editing a message and retrying a reply replace messages and reset dependent summaries and topics."""

from __future__ import annotations

import pytest
from django.db import DatabaseError

from chat.actions import message_edits, prompts, topic_archive, topics
from chat.actions.conversation_jobs import flush_extraction
from chat.actions.messages import finish_reply
from chat.context.prompt import build_prompt
from chat.errors import Busy, Refused
from chat.models import Conversation, Fact, Job, Message, Topic

from .conversation_views import COMPACTED_FIELDS, add_user_message, find_message, prompt_of, shown_texts

pytestmark = pytest.mark.django_db


class TestResendingAMessage:
    """The old message and all later ones are replaced."""

    def test_the_message_and_all_later_ones_are_replaced_and_stay_stored(self, chat):
        conversation = chat("cats", "dogs", "birds")
        asked, reply = message_edits.resend_message(find_message(conversation, "dogs"), "ducks")
        assert shown_texts(conversation) == ["cats", "About cats", "ducks", ""]
        assert (reply.state, reply.seq) == ("streaming", asked.seq + 1)
        gone = Message.objects.filter(conversation=conversation, replaced_by=asked)
        assert [m.content for m in gone.order_by("seq")] == ["dogs", "About dogs", "birds", "About birds"]

    def test_replaced_messages_are_not_in_the_prompt(self, chat, scripted):
        conversation = chat("cats", "dogs", "birds")
        asked, _ = message_edits.resend_message(find_message(conversation, "dogs"), "ducks")
        prompt = prompt_of(conversation, asked, scripted)
        assert "cats" in prompt
        assert "ducks" in prompt
        assert "dogs" not in prompt
        assert "birds" not in prompt

    def test_the_prompt_before_the_edited_message_is_unchanged(self, chat, scripted):
        conversation = chat("cats", "dogs")
        old = find_message(conversation, "dogs")
        before = build_prompt(conversation, old, scripted).turns
        asked, _ = message_edits.resend_message(old, "ducks")
        fresh = Conversation.objects.get(pk=conversation.pk)
        assert build_prompt(fresh, asked, scripted).turns[:-1] == before[:-1]

    def test_an_edit_during_a_running_reply_is_refused(self, chat, talk):
        conversation = chat("cats")
        talk("dogs", conversation)
        with pytest.raises(Busy, match="still being written"):
            message_edits.resend_message(find_message(conversation, "cats"), "ducks")
        assert shown_texts(conversation) == ["cats", "About cats", "dogs", ""]
        assert not Message.objects.filter(replaced_by__isnull=False).exists()

    def test_a_failing_edit_rolls_back(self, chat, monkeypatch):
        conversation = chat("cats", "dogs")
        before = list(Message.objects.order_by("seq").values())

        def die(*args, **kwargs):
            raise DatabaseError("the disk is full")

        monkeypatch.setattr(message_edits, "note_user_message", die)
        with pytest.raises(DatabaseError):
            message_edits.resend_message(find_message(conversation, "cats"), "ducks")
        assert list(Message.objects.order_by("seq").values()) == before
        assert Conversation.objects.get() == conversation
        assert Conversation.objects.get().branch == 0

    def test_only_user_messages_can_be_edited_and_only_once(self, chat):
        conversation = chat("cats")
        with pytest.raises(Refused):
            message_edits.resend_message(find_message(conversation, "About cats"), "ducks")
        old = find_message(conversation, "cats")
        _, reply = message_edits.resend_message(old, "ducks")
        finish_reply(reply, "Quack.", "complete")
        with pytest.raises(Refused):
            message_edits.resend_message(old, "geese")
        assert shown_texts(conversation) == ["ducks", "Quack."]

    def test_an_empty_message_replaces_nothing(self, chat):
        conversation = chat("cats")
        with pytest.raises(Refused):
            message_edits.resend_message(find_message(conversation, "cats"), "  ")
        assert shown_texts(conversation) == ["cats", "About cats"]

    def test_the_flag_moves_to_the_new_message(self, chat):
        conversation = chat("cats")
        old = find_message(conversation, "cats")
        message_edits.flag_message(old, True)
        asked, _ = message_edits.resend_message(old, "ducks")
        assert asked.flagged

    def test_the_title_follows_an_edit_of_the_first_message(self, chat):
        conversation = chat("cats", "dogs")
        _, reply = message_edits.resend_message(find_message(conversation, "dogs"), "ducks")
        finish_reply(reply, "Quack.", "complete")
        assert Conversation.objects.get().title == "cats"
        message_edits.resend_message(find_message(conversation, "cats"), "geese")
        assert Conversation.objects.get().title == "geese"


class TestExtractionAfterAnEdit:
    """The new message is extracted and the old one is not; facts that are stored already stay."""

    def test_only_the_new_message_waits_for_extraction(self, chat):
        conversation = chat("I live in Oslo")
        asked, _ = message_edits.resend_message(
            find_message(conversation, "I live in Oslo"), "I live in Bergen"
        )
        conversation.refresh_from_db()
        assert list(Message.objects.not_extracted(conversation)) == [asked]
        assert list(Message.objects.backlog(conversation.owner)) == [asked]
        assert flush_extraction(conversation.pk) == 1

    def test_the_new_message_is_extracted_even_if_the_old_one_was(self, chat):
        conversation = chat("I live in Oslo")
        Conversation.objects.update(extracted_through=2)
        asked, _ = message_edits.resend_message(
            find_message(conversation, "I live in Oslo"), "I live in Bergen"
        )
        conversation.refresh_from_db()
        assert list(Message.objects.not_extracted(conversation)) == [asked]
        assert Job.objects.filter(dedupe_key=f"extract:{conversation.pk}").exists()

    def test_the_origin_of_a_fact_links_to_the_current_message(self, chat, ours, make_fact):
        conversation = chat("I live in Oslo", "dogs")
        old = find_message(conversation, "I live in Oslo")
        fact = make_fact("User lives in Oslo", source_message=old, source_conversation=conversation)
        asked, reply = message_edits.resend_message(old, "I live in Bergen")
        finish_reply(reply, "Nice.", "complete")
        again, _ = message_edits.resend_message(asked, "I live in Tromsø")
        page = ours.get(f"/memory/{fact.pk}/origin/").content.decode()
        link = f"/c/{conversation.pk}/?m={old.pk}#m-{old.pk}"
        assert link in page
        answer = ours.get(link.split("#")[0])
        assert answer.url == f"/c/{conversation.pk}/?m={again.pk}#m-{again.pk}"
        assert f'id="m-{again.pk}"' in ours.get(answer.url.split("#")[0]).content.decode()
        assert Fact.objects.get().source_message == old


class TestTrimmingSummariesAndTopics:
    """Trimming, summaries and topics that include replaced messages are reset."""

    def test_an_edit_within_the_trimmed_part_resets_trimming_and_summary(self, chat, scripted):
        conversation = chat("cats", "dogs", "birds", "fish")
        Conversation.objects.update(**COMPACTED_FIELDS)
        asked, _ = message_edits.resend_message(find_message(conversation, "dogs"), "ducks")
        fresh = Conversation.objects.get()
        assert (fresh.trimmed_through, fresh.kept, fresh.cuts) == (0, [], {})
        assert (fresh.summary, fresh.summarised_through, fresh.prompt_summary) == ("", 0, "")
        assert fresh.prepared is None
        assert "dogs" not in prompt_of(conversation, asked, scripted)

    def test_an_edit_after_the_trimmed_part_keeps_trimming_and_summary(self, chat, scripted):
        conversation = chat("cats", "dogs", "birds", "fish")
        Conversation.objects.update(**COMPACTED_FIELDS)
        asked, _ = message_edits.resend_message(find_message(conversation, "birds"), "ducks")
        fresh = Conversation.objects.get()
        assert (fresh.trimmed_through, fresh.summarised_through) == (4, 4)
        assert fresh.prepared is None
        assert "They spoke of dogs." in prompt_of(conversation, asked, scripted)

    def test_a_summary_computed_before_the_edit_is_discarded(self, chat):
        conversation = chat("cats", "dogs")
        message_edits.resend_message(find_message(conversation, "cats"), "ducks")
        assert not prompts.record_summary(conversation, "They spoke of cats.", 0, 2)
        assert Conversation.objects.get().summary == ""

    def test_a_topic_without_remaining_messages_is_deleted(self, chat):
        conversation = chat(
            "the garden and its roses", "How do I repair the rusty chain and the flat tyre of an old bicycle?"
        )
        assert Topic.objects.count() == 2
        message_edits.resend_message(
            find_message(
                conversation, "How do I repair the rusty chain and the flat tyre of an old bicycle?"
            ),
            "ducks",
        )
        assert [t.title for t in Topic.objects.all()] == ["the garden and its roses"]

    def test_a_topic_counts_only_messages_of_the_current_branch(self, chat):
        conversation = chat("the garden and its roses", "when do roses in the garden bloom?")
        topic = Topic.objects.get()
        assert topic.message_count == 4
        message_edits.resend_message(
            find_message(conversation, "when do roses in the garden bloom?"), "ducks"
        )
        topic.refresh_from_db()
        assert topic.message_count == 2

    def test_a_topic_summary_that_includes_replaced_messages_is_reset(self, chat):
        conversation = chat("the garden and its roses", "when do roses in the garden bloom?")
        topic = Topic.objects.get()
        Topic.objects.update(summary="Roses bloom in June.", summarised_through=4)
        message_edits.resend_message(
            find_message(conversation, "when do roses in the garden bloom?"), "ducks"
        )
        topic.refresh_from_db()
        assert (topic.summary, topic.summarised_through) == ("", 0)

    def test_archived_messages_are_unpacked_before_their_topic_is_deleted(self, chat, monkeypatch):
        monkeypatch.setattr(topic_archive, "MAX_LIVE", 2)
        monkeypatch.setattr(topic_archive, "KEPT_LIVE", 1)
        conversation = chat("the garden and its roses", "when do roses in the garden bloom?")
        added = add_user_message(
            conversation, "How do I repair the rusty chain and the flat tyre of an old bicycle?"
        )
        topics.assign_topic(added, None, "")
        Conversation.objects.update(trimmed_through=4, extracted_through=4)
        roses = Topic.objects.get(title="the garden and its roses")
        assert topic_archive.pack_topic(roses) == 3
        message_edits.resend_message(Message.objects.get(seq=1), "ducks")
        assert not Topic.objects.filter(pk=roses.pk).exists()
        assert Message.objects.get(seq=1).content == "the garden and its roses"


class TestRetriedReply:
    """Retrying the last reply."""

    def test_a_retry_resets_a_summary_that_includes_the_old_reply(self, chat):
        conversation = chat("cats")
        Conversation.objects.update(summary="About cats.", summarised_through=2)
        message_edits.retry_reply(find_message(conversation, "About cats"))
        assert Conversation.objects.get().summary == ""
        assert shown_texts(conversation) == ["cats", ""]


def test_flagging_a_message_discards_the_prepared_compaction(chat):
    conversation = chat("cats")
    Conversation.objects.update(prepared={"strategy": "hybrid"})
    message_edits.flag_message(find_message(conversation, "cats"), True)
    assert Message.objects.get(content="cats").flagged
    assert Conversation.objects.get().prepared is None
