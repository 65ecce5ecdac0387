"""A conversation that exceeds the window loses no message."""

from __future__ import annotations

import pytest
from django.urls import reverse

from chat.generation import run as generation
from chat.jobs.runner import run_due
from chat.llm.registry import registry
from chat.llm.scripted import ScriptedProvider
from chat.models import Conversation, Message, Topic, TopicArchive
from chat.topics.contents import get_lost_content_text, load_contents

from .conftest import make_subject_vector

pytestmark = pytest.mark.django_db(transaction=True)
WINDOW = 2048


class BySubject:
    """An embedder that recognises a text by the subject that it names."""

    name = "minilm-l6-int8"

    def embed(self, texts):
        return [
            make_subject_vector(next((s for s in ("bread", "boats", "taxes") if s in text), 9))
            for text in texts
        ]


@pytest.fixture
def model():
    provider = ScriptedProvider(context_window=WINDOW)
    registry.use(provider, embedder=BySubject())
    return provider


@pytest.fixture
def speak(talk, model):
    """Return a function that sends a question, awaits its reply and runs the jobs that follow."""
    said: list[str] = []

    def say(subject: str, conversation: Conversation | None = None) -> Conversation:
        number = len(said) // 2
        question = f"Question {number} about {subject}: what should I know before I begin with it tomorrow?"
        answer = f"Answer {number} about {subject}. " + f"First you look at it, then at {number} others. " * 8
        model.replies.append(answer)
        asked, reply = talk(question, conversation)
        generation.start(reply)
        generation.wait_all()
        run_due({"extract"})
        run_due({"prepare", "pack_topic"})
        said.extend((question, answer))
        return asked.conversation

    say.said = said
    return say


def contents(conversation):
    rows = Message.objects.filter(conversation=conversation).order_by("seq")
    return [m.content for m in load_contents(rows)]


@pytest.mark.parametrize("strategy", ["hybrid", "simple", "summarization", "topics"])
def test_older_messages_are_packed_read_and_brought_back(speak, model, ours, clock, strategy):
    clock(0)
    conversation = speak("bread")
    Conversation.objects.update(strategy=strategy)
    for subject in ["bread"] * 9 + ["boats"] * 10:
        clock(60)
        speak(subject, conversation)
    archive = TopicArchive.objects.get()
    assert archive.topic.title.startswith("Question 0 about bread")
    assert archive.count >= 13
    assert contents(conversation) == speak.said

    page = ours.get(reverse("conversation", args=[conversation.pk])).content.decode()
    assert all(f"Question {n} about" in page and f"Answer {n} about" in page for n in range(20))
    assert (
        f"{archive.count} packed"
        in ours.get(reverse("conversation_topics", args=[conversation.pk])).content.decode()
    )

    clock(60)
    speak("bread", conversation)
    assert not TopicArchive.objects.filter(topic=archive.topic_id).exists()
    assert contents(conversation) == speak.said
    assert list(Topic.objects.order_by("created_at").values_list("message_count", flat=True)) == [22, 20]

    asked = [turn.content for call in model.calls for turn in call.turns]
    assert not any(get_lost_content_text() in text for text in asked)
    assert all(text for text in asked)
