"""/clear hides earlier messages from the model but not from the page; /restore undoes it."""

from __future__ import annotations

import pytest

from chat.actions import message_edits, topics
from chat.context.prompt import build_prompt
from chat.errors import Busy, Refused
from chat.models import Conversation, Message

from .conversation_views import COMPACTED_FIELDS, find_message, prompt_of, shown_texts

pytestmark = pytest.mark.django_db


class TestClearing:
    """clear_conversation excludes earlier messages from prompts; undo_clear includes them again."""

    def test_cleared_messages_leave_the_prompt_and_stay_on_the_page(self, chat, talk, scripted):
        conversation = chat("cats", "dogs")
        message_edits.flag_message(find_message(conversation, "cats"), True)
        Conversation.objects.update(**COMPACTED_FIELDS)
        message_edits.clear_conversation(conversation)
        conversation.refresh_from_db()
        asked, _ = talk("birds", conversation)
        prompt = prompt_of(conversation, asked, scripted)
        assert "birds" in prompt
        assert "cats" not in prompt
        assert "dogs" not in prompt
        assert shown_texts(conversation)[:2] == ["cats", "About cats"]

    def test_cleared_messages_do_not_count_as_cut(self, chat, talk, scripted):
        conversation = chat("cats")
        message_edits.clear_conversation(conversation)
        asked, _ = talk("birds", conversation)
        assert build_prompt(Conversation.objects.get(), asked, scripted).cut_messages == 0

    def test_a_new_message_does_not_join_a_topic_from_before_the_clear(self, chat, talk, scripted):
        conversation = chat("the garden and its roses")
        Conversation.objects.update(strategy="topics")
        message_edits.clear_conversation(conversation)
        asked, _ = talk("when do roses in the garden bloom?", conversation)
        assert topics.assign_topic(asked, None, "").title == "when do roses in the garden bloom?"

    def test_undo_clear_returns_earlier_messages_to_the_prompt(self, chat, talk, scripted):
        conversation = chat("cats")
        message_edits.clear_conversation(conversation)
        message_edits.undo_clear(conversation)
        asked, _ = talk("birds", conversation)
        assert "cats" in prompt_of(conversation, asked, scripted)

    def test_clearing_during_a_reply_is_refused(self, chat, talk):
        conversation = chat("cats")
        talk("dogs", conversation)
        with pytest.raises(Busy):
            message_edits.clear_conversation(conversation)
        assert Conversation.objects.get().cleared_through == 0

    def test_an_empty_conversation_has_nothing_to_clear(self, chat):
        conversation = chat("cats")
        Message.objects.all().delete()
        with pytest.raises(Refused):
            message_edits.clear_conversation(conversation)

    def test_the_page_marks_the_position_of_the_clear(self, chat, ours):
        conversation = chat("cats", "dogs")
        message_edits.clear_conversation(conversation)
        page = ours.get(f"/c/{conversation.pk}/").content.decode()
        assert page.count("Cleared here") == 1
        assert page.index("About dogs") < page.index("Cleared here")
