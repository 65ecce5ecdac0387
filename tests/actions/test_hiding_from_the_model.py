"""What was said above a clear is hidden from the model, stays readable, and comes back with the history."""

from __future__ import annotations

import pytest

from chat.actions import branches, topics
from chat.actions.messages import Busy, Refused
from chat.context.prompt import build
from chat.models import Conversation, Message

from .branching import SHAPED, message, prompt_of, shown

pytestmark = pytest.mark.django_db


class TestClearing:
    """/clear hides what was said from the model, /history shows it again."""

    def test_the_model_sees_nothing_of_what_is_above_and_the_reader_everything(self, chat, talk, scripted):
        conversation = chat("cats", "dogs")
        branches.flag(message(conversation, "cats"), True)
        Conversation.objects.update(**SHAPED)
        branches.clear(conversation)
        conversation.refresh_from_db()
        asked, _ = talk("birds", conversation)
        said = prompt_of(conversation, asked, scripted)
        assert "birds" in said
        assert "cats" not in said
        assert "dogs" not in said
        assert shown(conversation)[:2] == ["cats", "About cats"]

    def test_nothing_of_it_counts_as_left_out(self, chat, talk, scripted):
        conversation = chat("cats")
        branches.clear(conversation)
        asked, _ = talk("birds", conversation)
        assert build(Conversation.objects.get(), asked, scripted).cut_messages == 0

    def test_topics_from_before_are_not_joined_and_not_named(self, chat, talk, scripted):
        conversation = chat("the garden and its roses")
        Conversation.objects.update(strategy="topics")
        branches.clear(conversation)
        asked, _ = talk("when do roses in the garden bloom?", conversation)
        assert topics.assign(asked, None, "").title == "when do roses in the garden bloom?"

    def test_history_shows_the_model_everything_again(self, chat, talk, scripted):
        conversation = chat("cats")
        branches.clear(conversation)
        branches.unclear(conversation)
        asked, _ = talk("birds", conversation)
        assert "cats" in prompt_of(conversation, asked, scripted)

    def test_it_waits_for_the_reply(self, chat, talk):
        conversation = chat("cats")
        talk("dogs", conversation)
        with pytest.raises(Busy):
            branches.clear(conversation)
        assert Conversation.objects.get().cleared_through == 0

    def test_an_empty_conversation_has_nothing_to_clear(self, chat):
        conversation = chat("cats")
        Message.objects.all().delete()
        with pytest.raises(Refused):
            branches.clear(conversation)

    def test_a_thin_line_says_where(self, chat, ours):
        conversation = chat("cats", "dogs")
        branches.clear(conversation)
        page = ours.get(f"/c/{conversation.pk}/").content.decode()
        assert page.count("Cleared here") == 1
        assert page.index("About dogs") < page.index("Cleared here")
