"""The evaluation extracts every message of a case, however much model time that takes."""

from __future__ import annotations

import pytest
from django.utils import timezone

from chat.llm.registry import registry
from chat.management.evaluation import Pipeline
from chat.management.evaluation.cases import CaseMessage, ExtractionCase
from chat.models import Energy, Job

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
