"""A message that seems important is marked on its page; the user's mark and its removal overrule that."""

from __future__ import annotations

import pytest
from django.urls import reverse

from chat.actions.messages import finish_reply
from chat.models import Message

from .responses import text_of

pytestmark = pytest.mark.django_db

SCORED = "data-scored"
SEEMS = "Seems important: it is kept when the chat gets long"
DECISION = "We decided to pay 1,500 euros on 3 May."


@pytest.fixture
def decision(talk):
    """A message that decides something, with its reply."""
    asked, reply = talk(DECISION)
    finish_reply(reply, "Good idea.", "complete")
    return asked


def read_message(client, message: Message) -> str:
    return text_of(client.get(reverse("message", args=[message.pk])))


def flag(client, message: Message, value: str) -> str:
    return text_of(client.post(reverse("message_flag", args=[message.pk]), {"flagged": value}))


def test_an_important_message_is_marked_by_its_score(ours_htmx, decision):
    page = read_message(ours_htmx, decision)
    assert SCORED in page
    assert SEEMS in page
    assert 'aria-pressed="true"' in page


def test_small_talk_is_not_marked(ours_htmx, talk):
    asked, reply = talk("ok thanks")
    finish_reply(reply, "You're welcome!", "complete")
    for message in (asked, reply):
        page = read_message(ours_htmx, message)
        assert "importance-mark" not in page
        assert 'aria-pressed="false"' in page


def test_the_button_removes_the_mark_for_good(ours_htmx, decision):
    assert 'id="flag-' in read_message(ours_htmx, decision)
    assert 'name="flagged" value=""' in read_message(ours_htmx, decision)
    page = flag(ours_htmx, decision, "")
    assert "importance-mark" not in page
    decision.refresh_from_db()
    assert (decision.flagged, decision.importance) == (False, 0.0)
    assert "importance-mark" not in read_message(ours_htmx, decision)


def test_a_flag_overrules_a_low_score(ours_htmx, talk):
    asked, _ = talk("ok thanks")
    page = flag(ours_htmx, asked, "1")
    assert "importance-mark" in page
    assert SCORED not in page
    assert "importance-mark" not in flag(ours_htmx, asked, "")


def test_a_message_from_before_scores_were_stored_is_marked_too(ours_htmx, decision):
    Message.objects.filter(pk=decision.pk).update(importance=None)
    assert SCORED in read_message(ours_htmx, decision)
