"""The page says when the model gave an empty reply."""

from __future__ import annotations

import pytest
from django.urls import reverse

from chat.actions.messages import finish_reply

pytestmark = pytest.mark.django_db
NOTHING = "The model gave no reply."


def test_only_an_empty_reply_is_reported_on_the_page(ours, talk, add_exchange):
    asked, reply = talk("Boats")
    article = reverse("message", args=[reply.pk])
    assert NOTHING not in ours.get(article).content.decode()
    finish_reply(reply, "", "complete")
    page = ours.get(asked.conversation.get_absolute_url()).content.decode()
    assert page.count(NOTHING) == 1
    assert NOTHING in ours.get(article).content.decode()
    other = add_exchange("Sails", answer="All right.")
    assert NOTHING not in ours.get(other.get_absolute_url()).content.decode()
