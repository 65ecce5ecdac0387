"""A model may end at its first word: then the page says so, and the reply can be had anew."""

from __future__ import annotations

import pytest
from django.urls import reverse

from chat.actions.messages import finish_reply

pytestmark = pytest.mark.django_db
NOTHING = "The model gave no reply."


def test_a_reply_without_a_word_is_told_as_one(ours, talk):
    asked, reply = talk("Boats")
    article = reverse("message", args=[reply.pk])
    assert NOTHING not in ours.get(article).content.decode()
    finish_reply(reply, "", "complete")
    page = ours.get(asked.conversation.get_absolute_url()).content.decode()
    assert page.count(NOTHING) == 1
    assert NOTHING in ours.get(article).content.decode()
    finish_reply(reply, "All right.", "complete")
    assert NOTHING not in ours.get(article).content.decode()
