"""Facts and app memories deleted here are not imported again from an older file."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions import deletions
from chat.actions.erasure import purge_conversation
from chat.actions.facts import add_fact, edit_fact
from chat.actions.messages import finish_reply
from chat.models import AppMemory, Conversation, Fact, FactEvent, Message

from .conftest import as_json
from .sample_data import SAMPLE_FACT_ID, create_sample_data

pytestmark = pytest.mark.django_db


def finish(deletion):
    deletions.finish_deletion(deletion.pk, timezone.now() + timedelta(minutes=1))


class TestDeletedData:
    def test_a_deleted_fact_is_not_imported_from_an_older_file(self, owner, import_document):
        fact = add_fact(owner, "I like green tea")
        older = as_json(owner)
        finish(deletions.forget_facts(owner, [fact.pk]))
        outcome = import_document(older)
        assert [(r.what, r.why) for r in outcome.refusals] == [
            ("I like green tea", "You have deleted this memory here.")
        ]
        assert not Fact.objects.exists()

    def test_a_deleted_fact_is_imported_if_the_owner_chooses(self, owner, import_document):
        fact = add_fact(owner, "I like green tea")
        older = as_json(owner)
        finish(deletions.forget_facts(owner, [fact.pk]))
        import_document(older, forgotten=True)
        assert Fact.objects.get().text == "I like green tea"
        assert not import_document(older).changes

    def test_a_fact_learned_again_after_the_deletion_is_imported(self, owner, import_document, clock):
        fact = add_fact(owner, "I like green tea")
        finish(deletions.forget_facts(owner, [fact.pk]))
        clock(3600)
        fact = add_fact(owner, "I like green tea")
        newer = as_json(owner)
        Fact.objects.all().delete()
        assert import_document(newer).facts.added == 1

    def test_a_fact_pending_deletion_is_not_imported(self, owner, import_document):
        fact = add_fact(owner, "I like green tea")
        older = as_json(owner)
        deletions.forget_facts(owner, [fact.pk])
        outcome = import_document(older)
        assert outcome.facts.refused == 1
        assert not Fact.objects.live().exists()

    def test_imported_notes_and_reports_omit_deleted_facts(self, owner, import_document):
        create_sample_data(owner)
        fact = add_fact(owner, "User likes tea")
        older = as_json(owner)
        chat = older["conversations"][0]
        chat["messages"][1]["report"]["facts"] = [str(fact.pk), SAMPLE_FACT_ID]
        finish(deletions.forget_facts(owner, [fact.pk]))
        purge_conversation(Conversation.objects.get())
        import_document(older)
        assert not Message.objects.filter(note__contains="tea").exists()
        assert Message.objects.get(seq=2).report.facts == [SAMPLE_FACT_ID]

    def test_the_imported_history_of_another_fact_omits_a_deleted_text(self, owner, import_document):
        fact = add_fact(owner, "I like tea")
        edit_fact(fact, "I like green tea")
        older = as_json(owner)
        Fact.objects.all().delete()
        twin = add_fact(owner, "I like tea")
        finish(deletions.forget_facts(owner, [twin.pk]))
        import_document(older)
        assert "text" not in FactEvent.objects.get(kind="add").after

    def test_a_deleted_app_memory_of_a_conversation_is_not_imported(
        self, owner, add_exchange, import_document
    ):
        chat = add_exchange("one")
        memory = AppMemory.objects.create(
            owner=owner, app=chat.app, content="One.", source_conversation=chat, metadata={"through": 2}
        )
        older = as_json(owner)
        finish(deletions.forget_app_memories(chat.app, [memory.pk]))
        outcome = import_document(older)
        assert [r.why for r in outcome.refusals] == ["You have deleted this memory here."]
        assert not AppMemory.objects.exists()


class TestDeletedSentences:
    """A sentence that said a fact deleted here is kept out when an older file brings its message back."""

    SAID = "My boat is in the harbour. I'm allergic to shellfish, sadly. It needs a sail."

    @pytest.fixture
    def older(self, owner, talk, make_fact):
        """An export of a chat, whose fact was deleted after it; the chat was deleted too."""
        asked, reply = talk(self.SAID)
        finish_reply(reply, "Noted: you are allergic to shellfish.", "complete")
        quote = "I'm allergic to shellfish, sadly."
        fact = make_fact("User is allergic to shellfish", kind="health", source_message=asked, quote=quote)
        document = as_json(owner)
        finish(deletions.forget_facts(owner, [fact.pk]))
        purge_conversation(asked.conversation)
        return document

    def list_kept_out(self):
        return {
            message.role: [message.content[start:end] for start, end, *_ in message.kept_out]
            for message in Message.objects.all()
        }

    def test_it_is_marked_whoever_said_it(self, older, import_document):
        import_document(older)
        assert self.list_kept_out() == {
            "user": ["I'm allergic to shellfish, sadly."],
            "assistant": ["Noted: you are allergic to shellfish."],
        }

    def test_it_is_not_marked_if_the_owner_wants_forgotten_things_back(self, older, import_document):
        import_document(older, forgotten=True)
        assert self.list_kept_out() == {"user": [], "assistant": []}

    def test_what_was_said_again_after_the_deletion_is_not_marked(self, older, import_document):
        for chat in older["conversations"]:
            for message in chat["messages"]:
                message["created_at"] = (timezone.now() + timedelta(minutes=5)).isoformat()
        import_document(older)
        assert self.list_kept_out() == {"user": [], "assistant": []}

    def test_the_summaries_of_its_chat_are_not_imported(self, older, import_document):
        for chat in older["conversations"]:
            chat |= {
                "summary": "Allergic to shellfish.",
                "prompt_summary": "Allergic.",
                "summarised_through": 2,
            }
        import_document(older)
        chat = Conversation.objects.get()
        assert (chat.summary, chat.prompt_summary, chat.summarised_through) == ("", "", 0)
