"""Sentences that say a forgotten fact are marked, so that memory uses them no more; an undo unmarks them."""

from __future__ import annotations

import numpy as np
import pytest

from chat.actions import deletions, extraction, kept_out
from chat.actions.facts import add_fact
from chat.actions.messages import finish_reply
from chat.actions.owners import default_app
from chat.context import recall
from chat.jobs import runner
from chat.jobs.extract import extract_message
from chat.llm.registry import registry
from chat.memory.candidates import Extraction, FactCandidate
from chat.memory.kept_out import leave_out_kept
from chat.models import AppMemory, Conversation, Deletion, Fact, Message, Tombstone, Topic
from tests.jobs.run_extraction import run_extraction_jobs

from .conversation_views import find_message

pytestmark = pytest.mark.django_db

NUTS = "User is allergic to nuts"
SAID = "I cook a lot. I'm allergic to nuts. What can I cook today?"


@pytest.fixture
def nuts(chat, make_fact):
    """A fact, whose source and another message say it."""
    conversation = chat(SAID)
    source = find_message(conversation, SAID)
    return make_fact(
        NUTS,
        kind="health",
        category="identity",
        quote="I'm allergic to nuts",
        source_message=source,
        source_conversation=conversation,
    )


def marked_text(message):
    message = Message.objects.get(pk=message.pk)
    return [message.content[mark[0] : mark[1]] for mark in message.kept_out]


def usable_text(message):
    [left] = leave_out_kept([Message.objects.get(pk=message.pk)])
    return left.content


def forget(owner, fact):
    return deletions.forget_facts(owner, [fact.pk])


class TestAtThePress:
    """The sources are marked in the transaction of the deletion."""

    def test_the_sentences_of_the_sources_are_marked_at_once(self, owner, nuts):
        forget(owner, nuts)
        assert marked_text(nuts.source_message) == ["I'm allergic to nuts."]
        assert usable_text(nuts.source_message) == "I cook a lot. What can I cook today?"

    def test_a_message_that_only_repeated_the_fact_is_a_source_too(self, owner, chat):
        first, second = (find_message(chat(text), text) for text in ("Nuts make me ill", "I avoid nuts"))
        for message in (first, second):
            found = Extraction(
                [
                    FactCandidate(
                        "User avoids nuts", "diet", "identity", "", hedged=False, quote=message.content
                    )
                ]
            )
            message = Message.objects.select_related("conversation__owner").get(pk=message.pk)
            extraction.record_extraction(message, found, [None], "", 0.1)
        forget(owner, Fact.objects.get())
        assert marked_text(first) == ["Nuts make me ill"]
        assert marked_text(second) == ["I avoid nuts"]

    def test_undo_removes_the_marks(self, owner, nuts):
        deletion = forget(owner, nuts)
        kept_out.mark_requested(Message.objects.get(pk=nuts.source_message_id), whole=True)
        deletions.undo_deletion(deletion)
        assert marked_text(nuts.source_message) == [SAID]

    def test_undo_keeps_the_marks_of_another_deletion(self, owner, nuts, make_fact):
        cook = make_fact("User cooks a lot", source_message=nuts.source_message)
        forget(owner, cook)
        deletions.undo_deletion(forget(owner, nuts))
        assert marked_text(nuts.source_message) == ["I cook a lot."]

    def test_a_prepared_compaction_of_the_chat_is_discarded(self, owner, nuts):
        Conversation.objects.update(prepared={"strategy": "hybrid"})
        forget(owner, nuts)
        assert Conversation.objects.get().prepared is None

    def test_all_facts_at_once_mark_all_sources(self, owner, nuts):
        deletions.clear_memory(owner)
        assert marked_text(nuts.source_message) == ["I'm allergic to nuts."]


class TestInAllMessages:
    """A job searches the messages from before the press; the deletion does it where the job did not run."""

    @pytest.fixture
    def others(self, chat):
        """Another chat in which the user and the reply say the fact."""
        conversation = chat("As I'm allergic to nuts, is pesto safe?", "I really am allergic to nuts.")
        said = find_message(conversation, "I really am allergic to nuts.")
        reply = Message.objects.get(conversation=conversation, seq=said.seq + 1)
        Message.objects.filter(pk=reply.pk).update(content="You are allergic to nuts. Take seeds.")
        return said, reply

    def test_the_job_marks_what_other_messages_and_replies_say(self, owner, nuts, others):
        forget(owner, nuts)
        assert marked_text(others[0]) == []
        runner.run_due(["mark_forgotten"])
        assert marked_text(others[0]) == ["I really am allergic to nuts."]
        assert marked_text(others[1]) == ["You are allergic to nuts."]
        assert usable_text(others[1]) == "Take seeds."

    def test_the_marks_are_there_when_the_deletion_is_final(self, owner, clock, nuts, others):
        deletion = forget(owner, nuts)
        assert deletions.finish_deletion(deletion.pk, clock(5))
        assert not Fact.objects.exists()
        assert marked_text(others[0]) == ["I really am allergic to nuts."]

    def test_undo_removes_them(self, owner, nuts, others):
        deletion = forget(owner, nuts)
        runner.run_due(["mark_forgotten"])
        deletions.undo_deletion(Deletion.objects.get(pk=deletion.pk))
        assert not any(Message.objects.values_list("kept_out", flat=True))

    def test_a_job_after_the_undo_marks_nothing(self, owner, nuts, others):
        deletions.undo_deletion(forget(owner, nuts))
        runner.run_due(["mark_forgotten"])
        assert not any(Message.objects.values_list("kept_out", flat=True))

    def test_what_is_said_after_the_press_is_not_marked(self, owner, clock, nuts, talk):
        deletion = forget(owner, nuts)
        clock(1)
        later, _ = talk("I'm allergic to nuts after all.")
        deletions.finish_deletion(deletion.pk, clock(5))
        assert marked_text(later) == []

    def test_other_owners_messages_are_not_marked(self, owner, other, nuts, others):
        Conversation.objects.filter(pk=others[0].conversation_id).update(owner=other)
        forget(owner, nuts)
        runner.run_due(["mark_forgotten"])
        assert marked_text(others[0]) == []

    def test_a_reply_that_is_being_written_is_searched_when_the_deletion_is_final(
        self, owner, clock, nuts, talk
    ):
        _, reply = talk("Please forget that.")
        deletion = forget(owner, nuts)
        runner.run_due(["mark_forgotten"])
        finish_reply(reply, "I forgot that you are allergic to nuts.", "complete")
        deletions.finish_deletion(deletion.pk, clock(5))
        assert marked_text(reply) == ["I forgot that you are allergic to nuts."]

    def test_sentences_of_the_same_meaning_are_marked(self, owner, chat, make_fact, monkeypatch):
        class Meanings:
            name = "meanings"

            def embed(self, texts):
                return np.array(
                    [[1, 0] if "ill" in t or "allergic" in t else [0, 1] for t in texts], "float32"
                )

        embedder = Meanings()
        monkeypatch.setattr(registry, "embedder", lambda: embedder)
        ill, shop = chat("A few nuts make me ill."), chat("I bought nuts for the bolts.")
        fact = make_fact(NUTS, embedding=embedder.embed([NUTS])[0].tobytes(), embedder="meanings")
        forget(owner, fact)
        runner.run_due(["mark_forgotten"])
        assert marked_text(find_message(ill, "A few nuts make me ill.")) == ["A few nuts make me ill."]
        assert marked_text(find_message(shop, "I bought nuts for the bolts.")) == []


class TestWhatUsesMessages:
    """Neither extraction, nor recall, nor a summary uses a marked sentence."""

    def test_extraction_does_not_read_it(self, owner, nuts, scripted):
        forget(owner, nuts)
        message = Message.objects.select_related("conversation__owner").get(pk=nuts.source_message_id)
        scripted.default_completion = lambda turns: "health: User is allergic to nuts"
        extract_message(message)
        assert "nuts" not in str([turn.content for call in scripted.calls for turn in call.turns][-1:])
        assert not Fact.objects.live().exists()

    def test_recall_does_not_quote_it(self, owner, nuts):
        forget(owner, nuts)
        conversation = Conversation.objects.get()
        topic = Topic.objects.create(conversation=conversation, title="cooking")
        Message.objects.update(topic=topic)
        now = Message(conversation=conversation, role="user", seq=9, content="cooking", topic=topic)
        Conversation.objects.update(trimmed_through=2)
        conversation.refresh_from_db()
        quotable = recall.list_earlier_quotes(
            conversation, now, recall.PromptShape.from_conversation(conversation)
        )
        assert "allergic" not in str(quotable)

    def test_summaries_lose_the_sentence_when_the_deletion_is_final(self, owner, clock, nuts):
        told = "The user cooks a lot. The user is allergic to nuts."
        Conversation.objects.update(summary=told, prompt_summary=told, summarised_through=2)
        Topic.objects.create(conversation=Conversation.objects.get(), title="x", summary=told)
        deletions.finish_deletion(forget(owner, nuts).pk, clock(5))
        conversation = Conversation.objects.get()
        assert (conversation.summary, conversation.prompt_summary) == ("The user cooks a lot.",) * 2
        assert Topic.objects.get(title="x").summary == "The user cooks a lot."

    def test_app_memories_lose_the_sentence_when_the_deletion_is_final(self, owner, clock, nuts):
        app = default_app(owner)
        told = "The user cooks a lot. The user is allergic to nuts."
        AppMemory.objects.create(owner=owner, app=app, content=told)
        AppMemory.objects.create(owner=owner, app=app, content="The user is allergic to nuts.")
        deletions.finish_deletion(forget(owner, nuts).pk, clock(5))
        assert [memory.content for memory in AppMemory.objects.all()] == ["The user cooks a lot."]

    def test_what_the_user_asked_not_to_save_is_marked_when_the_message_is_read(self, clock, chat, scripted):
        text = "I like tea. Off the record: I'm looking for a new job."
        conversation = chat(text)
        run_extraction_jobs(clock)
        assert marked_text(find_message(conversation, text)) == ["Off the record: I'm looking for a new job."]

    def test_a_message_after_a_request_not_to_save_it_is_marked_whole(self, clock, chat, scripted):
        conversation = chat("Don't save the next message.", "Don't save this.", "I'm looking for a new job.")
        run_extraction_jobs(clock)
        assert usable_text(find_message(conversation, "I'm looking for a new job.")) == ""

    def test_a_topic_is_not_named_after_what_is_not_to_be_saved(self, chat, scripted):
        chat("Off the record: I'm looking for a new job. Help me plant ferns in the shade of my house.")
        assert Topic.objects.get().title == "Help me plant ferns in the shade of my house."


class TestTombstones:
    """They recognise other wordings of what was forgotten, and let new values through."""

    @pytest.fixture
    def forgotten(self, owner, clock, make_fact, talk):
        """Messages from before the press, and the deletion of a home."""
        asked, _ = talk("Where I live: Oslo. Or Bergen.")
        clock(1)
        fact = make_fact("User lives in Oslo", kind="home", category="identity")
        deletions.finish_deletion(forget(owner, fact).pk, clock(5))
        return asked

    def learn(self, message, text, kind="home"):
        found = Extraction([FactCandidate(text, kind, "identity", "", hedged=False, quote=text)])
        return extraction.record_extraction(message, found, [None], "", 0.1)

    @pytest.mark.parametrize("wording", ["User lives in Oslo", "User's home is Oslo", "User resides in OSLO"])
    def test_another_wording_of_the_value_is_not_learned_from_an_older_message(self, forgotten, wording):
        assert self.learn(forgotten, wording).stored == 0

    def test_a_new_value_is_learned(self, forgotten):
        assert self.learn(forgotten, "User lives in Bergen").stored == 1

    def test_the_forgotten_value_is_learned_from_a_newer_message(self, forgotten, chat):
        message = find_message(chat("I live in Oslo"), "I live in Oslo")
        assert self.learn(message, "User lives in Oslo").stored == 1

    def test_words_in_another_order_are_the_same_value(self, owner, clock, talk, make_fact):
        asked, _ = talk("Jazz on old records is what I love.")
        clock(1)
        deletions.finish_deletion(forget(owner, make_fact("User loves jazz on old records")).pk, clock(5))
        assert self.learn(asked, "User enjoys old records, jazz", kind="likes").stored == 0

    def test_they_hold_digests_and_no_text_and_no_vector(self, owner, clock, make_fact):
        deletions.finish_deletion(
            forget(owner, make_fact("User likes chess", embedding=b"12345678")).pk, clock(5)
        )
        assert {field.name for field in Tombstone._meta.get_fields()} == {
            "id",
            "owner",
            "digest",
            "pressed_at",
        }
        digests = list(Tombstone.objects.values_list("digest", flat=True))
        assert len(digests) == 2
        assert all(len(digest) == 64 for digest in digests)

    def test_the_same_fact_of_another_owner_has_another_digest(self, owner, other, clock):
        for who in (owner, other):
            fact = add_fact(who, "I like chess")
            deletions.finish_deletion(forget(who, fact).pk, clock(5))
        assert Tombstone.objects.count() == Tombstone.objects.values("digest").distinct().count()
