"""A fact that the user declared to be over is listed under the reply, and can be kept."""

from __future__ import annotations

import pytest
from django.urls import reverse

from chat.actions import archive, deletions
from chat.actions.messages import finish_reply
from chat.models import Fact

from .responses import text_of, triggered_events

pytestmark = pytest.mark.django_db


@pytest.fixture
def sold(talk, make_fact):
    """A fact that a message ended, and the address of the reply to that message."""
    asked, reply = talk("I sold my car.")
    finish_reply(reply, "Good riddance.", "complete")
    car = make_fact("User drives a Saab", kind="likes")
    archive.archive_ended_fact(car, "the user said so", asked)
    return car, reverse("message", args=[reply.pk])


def test_an_ended_fact_is_listed_under_the_reply_with_undo(ours_htmx, sold):
    car, reply = sold
    page = " ".join(text_of(ours_htmx.get(reply)).split())
    assert '<li class="lead">No longer:</li>' in page
    assert f'<span data-fact="{car.pk}">drives a Saab</span>' in page
    assert "Undo: keep “drives a Saab”" in page


def test_undo_restores_the_fact_and_removes_the_line(ours_htmx, sold):
    car, reply = sold
    answer = ours_htmx.post(
        reverse("fact_unarchive", args=[car.pk]), headers={"hx-target": f"ended-{car.pk}"}
    )
    assert (answer.status_code, text_of(answer)) == (200, "")
    assert triggered_events(answer) == {"memory-changed": {}, "toast": {"text": "Brought back."}}
    assert Fact.objects.live().get() == car
    assert "No longer" not in text_of(ours_htmx.get(reply))


def test_an_ended_fact_that_was_forgotten_since_is_not_listed(ours_htmx, owner, sold):
    deletions.forget_facts(owner, [sold[0].pk])
    assert "No longer" not in text_of(ours_htmx.get(sold[1]))


def test_a_replaced_fact_is_not_listed_as_ended(ours_htmx, sold):
    Fact.objects.update(archived_at=None, superseded_at="2026-01-01T00:00Z")
    assert "No longer" not in text_of(ours_htmx.get(sold[1]))
