"""What takes the place of what was said: other words for a message, a reply written anew."""

from __future__ import annotations

import pytest
from django.db import DatabaseError

from chat.actions import branches, prompts, storage, topics
from chat.actions.messages import Busy, Refused, finish_reply, flush
from chat.context.prompt import build
from chat.models import Conversation, Fact, Job, Message, Topic

from .branching import SHAPED, chat_more, message, prompt_of, shown

pytestmark = pytest.mark.django_db


class TestSendingAMessageInOtherWords:
    """It and all that came after it make way."""

    def test_the_message_and_all_after_it_make_way_and_are_kept(self, chat):
        conversation = chat("cats", "dogs", "birds")
        asked, reply = branches.resend(message(conversation, "dogs"), "ducks")
        assert shown(conversation) == ["cats", "About cats", "ducks", ""]
        assert (reply.state, reply.seq) == ("streaming", asked.seq + 1)
        gone = Message.objects.filter(conversation=conversation, replaced_by=asked)
        assert [m.content for m in gone.order_by("seq")] == ["dogs", "About dogs", "birds", "About birds"]

    def test_what_was_replaced_is_in_no_prompt(self, chat, scripted):
        conversation = chat("cats", "dogs", "birds")
        asked, _ = branches.resend(message(conversation, "dogs"), "ducks")
        said = prompt_of(conversation, asked, scripted)
        assert "cats" in said
        assert "ducks" in said
        assert "dogs" not in said
        assert "birds" not in said

    def test_what_stands_before_it_is_the_same_for_the_model_as_before(self, chat, scripted):
        conversation = chat("cats", "dogs")
        old = message(conversation, "dogs")
        before = build(conversation, old, scripted).turns
        asked, _ = branches.resend(old, "ducks")
        fresh = Conversation.objects.get(pk=conversation.pk)
        assert build(fresh, asked, scripted).turns[:-1] == before[:-1]

    def test_while_a_reply_is_being_written_it_is_refused_and_nothing_changes(self, chat, talk):
        conversation = chat("cats")
        talk("dogs", conversation)
        with pytest.raises(Busy, match="still being written"):
            branches.resend(message(conversation, "cats"), "ducks")
        assert shown(conversation) == ["cats", "About cats", "dogs", ""]
        assert not Message.objects.filter(replaced_by__isnull=False).exists()

    def test_a_process_that_dies_in_the_middle_leaves_all_as_it_was(self, chat, monkeypatch):
        conversation = chat("cats", "dogs")
        before = list(Message.objects.order_by("seq").values())

        def die(*args, **kwargs):
            raise DatabaseError("the disk is full")

        monkeypatch.setattr(branches, "heard", die)
        with pytest.raises(DatabaseError):
            branches.resend(message(conversation, "cats"), "ducks")
        assert list(Message.objects.order_by("seq").values()) == before
        assert Conversation.objects.get() == conversation
        assert Conversation.objects.get().branch == 0

    def test_it_takes_only_the_users_own_messages_and_each_once(self, chat):
        conversation = chat("cats")
        with pytest.raises(Refused):
            branches.resend(message(conversation, "About cats"), "ducks")
        old = message(conversation, "cats")
        _, reply = branches.resend(old, "ducks")
        finish_reply(reply, "Quack.", "complete")
        with pytest.raises(Refused):
            branches.resend(old, "geese")
        assert shown(conversation) == ["ducks", "Quack."]

    def test_an_empty_message_replaces_nothing(self, chat):
        conversation = chat("cats")
        with pytest.raises(Refused):
            branches.resend(message(conversation, "cats"), "  ")
        assert shown(conversation) == ["cats", "About cats"]

    def test_the_mark_stays_with_the_new_words(self, chat):
        conversation = chat("cats")
        old = message(conversation, "cats")
        branches.flag(old, True)
        asked, _ = branches.resend(old, "ducks")
        assert asked.flagged

    def test_the_title_of_a_chat_follows_its_first_message(self, chat):
        conversation = chat("cats", "dogs")
        _, reply = branches.resend(message(conversation, "dogs"), "ducks")
        finish_reply(reply, "Quack.", "complete")
        assert Conversation.objects.get().title == "cats"
        branches.resend(message(conversation, "cats"), "geese")
        assert Conversation.objects.get().title == "geese"


class TestMemoryAfterAnEdit:
    """It reads the new words, not the old ones, and what it knows already stays."""

    def test_the_new_message_waits_to_be_read_and_the_old_one_does_not(self, chat):
        conversation = chat("I live in Oslo")
        asked, _ = branches.resend(message(conversation, "I live in Oslo"), "I live in Bergen")
        conversation.refresh_from_db()
        assert list(Message.objects.unread_by_memory(conversation)) == [asked]
        assert list(Message.objects.backlog(conversation.owner)) == [asked]
        assert flush(conversation.pk) == 1

    def test_it_is_read_though_the_old_one_was(self, chat):
        conversation = chat("I live in Oslo")
        Conversation.objects.update(extracted_through=2)
        asked, _ = branches.resend(message(conversation, "I live in Oslo"), "I live in Bergen")
        conversation.refresh_from_db()
        assert list(Message.objects.unread_by_memory(conversation)) == [asked]
        assert Job.objects.filter(dedupe_key=f"extract:{conversation.pk}").exists()

    def test_where_a_fact_came_from_leads_to_what_stands_there_now(self, chat, ours, make_fact):
        conversation = chat("I live in Oslo", "dogs")
        old = message(conversation, "I live in Oslo")
        fact = make_fact("User lives in Oslo", source_message=old, source_conversation=conversation)
        asked, reply = branches.resend(old, "I live in Bergen")
        finish_reply(reply, "Nice.", "complete")
        again, _ = branches.resend(asked, "I live in Tromsø")
        page = ours.get(f"/memory/{fact.pk}/origin/").content.decode()
        link = f"/c/{conversation.pk}/?m={old.pk}#m-{old.pk}"
        assert link in page
        answer = ours.get(link.split("#")[0])
        assert answer.url == f"/c/{conversation.pk}/?m={again.pk}#m-{again.pk}"
        assert f'id="m-{again.pk}"' in ours.get(answer.url.split("#")[0]).content.decode()
        assert Fact.objects.get().source_message == old


class TestWhatWasLeftOutBefore:
    """Trimming and summaries that reach behind the edit are not kept."""

    def test_an_edit_behind_them_begins_afresh(self, chat, scripted):
        conversation = chat("cats", "dogs", "birds", "fish")
        Conversation.objects.update(**SHAPED)
        asked, _ = branches.resend(message(conversation, "dogs"), "ducks")
        fresh = Conversation.objects.get()
        assert (fresh.trimmed_through, fresh.kept, fresh.cuts) == (0, [], {})
        assert (fresh.summary, fresh.summarised_through, fresh.prompt_summary) == ("", 0, "")
        assert fresh.prepared is None
        assert "dogs" not in prompt_of(conversation, asked, scripted)

    def test_an_edit_after_them_keeps_them(self, chat, scripted):
        conversation = chat("cats", "dogs", "birds", "fish")
        Conversation.objects.update(**SHAPED)
        asked, _ = branches.resend(message(conversation, "birds"), "ducks")
        fresh = Conversation.objects.get()
        assert (fresh.trimmed_through, fresh.summarised_through) == (4, 4)
        assert fresh.prepared is None
        assert "They spoke of dogs." in prompt_of(conversation, asked, scripted)

    def test_a_summary_that_was_being_made_meanwhile_is_not_kept(self, chat):
        conversation = chat("cats", "dogs")
        branches.resend(message(conversation, "cats"), "ducks")
        assert not prompts.record_summary(conversation, "They spoke of cats.", 0, 2)
        assert Conversation.objects.get().summary == ""

    def test_a_topic_of_which_nothing_is_left_goes(self, chat):
        conversation = chat(
            "the garden and its roses", "How do I repair the rusty chain and the flat tyre of an old bicycle?"
        )
        assert Topic.objects.count() == 2
        branches.resend(
            message(conversation, "How do I repair the rusty chain and the flat tyre of an old bicycle?"),
            "ducks",
        )
        assert [t.title for t in Topic.objects.all()] == ["the garden and its roses"]

    def test_a_topic_counts_only_what_is_shown(self, chat):
        conversation = chat("the garden and its roses", "when do roses in the garden bloom?")
        topic = Topic.objects.get()
        assert topic.message_count == 4
        branches.resend(message(conversation, "when do roses in the garden bloom?"), "ducks")
        topic.refresh_from_db()
        assert topic.message_count == 2

    def test_a_topics_summary_that_speaks_of_it_is_made_anew_from_what_is_left(self, chat):
        conversation = chat("the garden and its roses", "when do roses in the garden bloom?")
        topic = Topic.objects.get()
        Topic.objects.update(summary="Roses bloom in June.", summarised_through=4)
        branches.resend(message(conversation, "when do roses in the garden bloom?"), "ducks")
        topic.refresh_from_db()
        assert (topic.summary, topic.summarised_through) == ("", 0)

    def test_what_was_packed_comes_back_before_its_topic_goes(self, chat, monkeypatch):
        monkeypatch.setattr(storage, "MOST_LIVE", 2)
        monkeypatch.setattr(storage, "KEPT", 1)
        conversation = chat("the garden and its roses", "when do roses in the garden bloom?")
        talked = chat_more(
            conversation, "How do I repair the rusty chain and the flat tyre of an old bicycle?"
        )
        topics.assign(talked, None, "")
        Conversation.objects.update(trimmed_through=4, extracted_through=4)
        roses = Topic.objects.get(title="the garden and its roses")
        assert storage.pack(roses) == 3
        branches.resend(Message.objects.get(seq=1), "ducks")
        assert not Topic.objects.filter(pk=roses.pk).exists()
        assert Message.objects.get(seq=1).content == "the garden and its roses"


class TestAReplyWrittenAnew:
    """Only the last one, however it ended."""

    def test_what_was_summed_up_of_the_old_one_is_not_kept(self, chat):
        conversation = chat("cats")
        Conversation.objects.update(summary="About cats.", summarised_through=2)
        branches.retry_reply(message(conversation, "About cats"))
        assert Conversation.objects.get().summary == ""
        assert shown(conversation) == ["cats", ""]


def test_a_mark_outlives_what_was_prepared(chat):
    conversation = chat("cats")
    Conversation.objects.update(prepared={"strategy": "hybrid"})
    branches.flag(message(conversation, "cats"), True)
    assert Message.objects.get(content="cats").flagged
    assert Conversation.objects.get().prepared is None
