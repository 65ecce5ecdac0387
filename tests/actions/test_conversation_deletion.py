"""Deleting a conversation deletes its messages, topics and reports; facts learned in it stay."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions import erasure
from chat.actions.messages import finish_reply
from chat.models import (
    Conversation,
    ExtractionRun,
    Fact,
    FactEvent,
    FactEventKind,
    Job,
    Message,
    PromptReport,
    Topic,
    TopicArchive,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat(talk):
    """A conversation with one exchange, a prompt report, a topic and an archived message."""
    asked, reply = talk("I live in Oslo.")
    finish_reply(reply, "Nice.", "complete")
    PromptReport.objects.create(reply=reply)
    ExtractionRun.objects.create(message=asked)
    topic = Topic.objects.create(conversation=asked.conversation, title="Oslo")
    archive = TopicArchive.objects.create(topic=topic, data=b"", count=1, sha256="")
    Message.objects.filter(pk=asked.pk).update(topic=topic, archive=archive, content="")
    return asked.conversation


def test_messages_topics_archives_and_reports_are_deleted(chat):
    erasure.purge_conversation(chat)
    for model in (Conversation, Message, Topic, TopicArchive, PromptReport, ExtractionRun):
        assert not model.objects.exists(), model


def test_facts_stay_and_their_origin_names_a_deleted_conversation(chat, make_fact, ours):
    asked = Message.objects.get(conversation=chat, seq=1)
    fact = make_fact(
        "User lives in Oslo",
        quote="I live in Oslo.",
        source_message=asked,
        source_conversation=chat,
    )
    FactEvent.objects.create(fact=fact, kind=FactEventKind.ADD, actor="memory", source_message=asked)
    erasure.purge_conversation(chat)
    kept = Fact.objects.live().get()
    assert (kept.quote, kept.source_message, kept.source_conversation) == ("I live in Oslo.", None, None)
    assert "from a deleted conversation" in ours.get(f"/memory/{fact.pk}/origin/").content.decode()


def test_pending_jobs_are_deleted_and_the_cache_is_freed(chat):
    erasure.purge_conversation(chat)
    assert {job.kind: job.payload for job in Job.objects.all()} == {
        "free_caches": {"conversations": [str(chat.pk)]},
        "index_windows": {},
        "tidy_index": {},
    }


def test_finishing_a_reply_of_a_deleted_conversation_stores_nothing(talk):
    asked, reply = talk("Hello")
    erasure.purge_conversation(Conversation.objects.get(pk=asked.conversation_id))
    finish_reply(reply, "Too late.", "complete")
    assert not Message.objects.exists()


class TestPruning:
    """Conversations without messages since a cutoff date are deleted."""

    @pytest.fixture
    def old(self, talk):
        """A conversation last updated 31 days ago."""
        asked, reply = talk("Hello")
        finish_reply(reply, "Good day.", "complete")
        Conversation.objects.update(updated_at=timezone.now() - timedelta(days=31))
        return asked.conversation

    def prune(self, owner) -> int:
        return erasure.prune_conversations(owner, timezone.now() - timedelta(days=30))

    def test_only_old_conversations_are_pruned(self, owner, old, talk):
        new, _ = talk("Hello again")
        assert self.prune(owner) == 1
        assert Conversation.objects.get() == new.conversation

    def test_pinned_conversations_are_not_pruned(self, owner, old):
        Conversation.objects.update(pinned=True)
        assert self.prune(owner) == 0

    def test_conversations_with_a_flagged_message_are_not_pruned(self, owner, old):
        Message.objects.filter(seq=2).update(flagged=True)
        assert self.prune(owner) == 0

    def test_other_owners_conversations_are_not_pruned(self, other, old):
        assert self.prune(other) == 0
        assert Conversation.objects.exists()
