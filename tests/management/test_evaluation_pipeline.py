"""The evaluation extracts every message of a case, however much model time that takes."""

from __future__ import annotations

import pytest
from django.utils import timezone

from chat.llm.registry import registry
from chat.management.evaluation import Pipeline
from chat.management.evaluation.cases import CaseMessage, ExtractionCase, RecallCase, ReplyCase
from chat.models import Energy, Job, Message

pytestmark = pytest.mark.django_db


def test_used_up_energy_stops_no_evaluation(scripted):
    Energy.objects.create(pk=1, level=0, measured_at=timezone.now())
    scripted.completions.extend(["likes: User likes chess", "home: User lives in Oslo"])
    said = [CaseMessage(role="user", content=text) for text in ("I like chess.", "I live in Oslo.")]
    outcome = Pipeline(registry).run(ExtractionCase(id="two", messages=said))
    assert [fact.text for fact in outcome.facts] == ["User likes chess", "User lives in Oslo"]
    assert outcome.errors == []
    assert len(outcome.seconds) == 2
    assert not Job.objects.filter(kind="extract").exists()


def test_a_reply_is_sampled_several_times_with_what_is_known(scripted):
    scripted.replies.extend(["Oslo.", "I do not know."])
    case = ReplyCase(id="home", facts=["*User lives in Oslo"], message="Where do I live?")
    outcome = Pipeline(registry, samples=2).run(case)
    assert outcome.replies == ["Oslo.", "I do not know."]
    assert "User lives in Oslo" in outcome.prompt
    assert all("User lives in Oslo" in str(call.turns) for call in scripted.calls[-2:])


def test_a_recall_case_may_have_messages_before_it(scripted):
    before = [CaseMessage(role="user", content="Hello"), CaseMessage(role="assistant", content="Hi there")]
    case = RecallCase(id="after", facts=["*User lives in Oslo"], before=before, message="Where do I live?")
    assert "User lives in Oslo" in Pipeline(registry).run(case).prompt
    said = Message.objects.order_by("seq").values_list("role", "content")
    assert list(said) == [
        ("user", "Hello"),
        ("assistant", "Hi there"),
        ("user", "Where do I live?"),
        ("assistant", ""),
    ]
