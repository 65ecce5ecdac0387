"""What the user said is no longer so stands under the reply, and can be kept after all."""

from __future__ import annotations

import pytest
from django.urls import reverse

from chat.actions import archive, deletions
from chat.actions.messages import finish_reply
from chat.models import Fact

from .answers import text, triggers

pytestmark = pytest.mark.django_db


@pytest.fixture
def sold(talk, make_fact):
    """A car that was sold in a message, and the address of the reply to it."""
    asked, reply = talk("I sold my car.")
    finish_reply(reply, "Good riddance.", "complete")
    car = make_fact("User drives a Saab", kind="likes")
    archive.end(car, "the user said so", asked)
    return car, reverse("message", args=[reply.pk])


def test_it_stands_under_the_reply_with_undo(ours_htmx, sold):
    car, reply = sold
    page = " ".join(text(ours_htmx.get(reply)).split())
    assert '<li class="lead">No longer:</li>' in page
    assert f'<span data-fact="{car.pk}">drives a Saab</span>' in page
    assert "Undo: keep “drives a Saab”" in page


def test_undo_keeps_it_and_the_line_goes(ours_htmx, sold):
    car, reply = sold
    answer = ours_htmx.post(reverse("bring_back", args=[car.pk]), headers={"hx-target": f"over-{car.pk}"})
    assert (answer.status_code, text(answer)) == (200, "")
    assert triggers(answer) == {"memory-changed": {}, "toast": {"text": "Brought back."}}
    assert Fact.objects.live().get() == car
    assert "No longer" not in text(ours_htmx.get(reply))


def test_nothing_is_said_of_what_was_forgotten_since(ours_htmx, owner, sold):
    deletions.forget(owner, [sold[0].pk])
    assert "No longer" not in text(ours_htmx.get(sold[1]))


def test_what_was_replaced_is_not_over(ours_htmx, sold):
    Fact.objects.update(archived_at=None, superseded_at="2026-01-01T00:00Z")
    assert "No longer" not in text(ours_htmx.get(sold[1]))
