"""What an edit took back in memory is told under the reply, and can be undone there."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from chat.actions import deletions, extraction
from chat.actions.messages import finish_reply
from chat.memory.candidates import Extraction, FactCandidate
from chat.models import Deletion, Fact, Message

from .responses import text_of

pytestmark = pytest.mark.django_db

LINE = "Forgotten with the old wording:"


def teach(message, text):
    found = Extraction([FactCandidate(text, "home", "identity", "", hedged=False, quote=message.content)])
    message = Message.objects.select_related("conversation__owner").get(pk=message.pk)
    extraction.record_extraction(message, found, [None], "", 0.1)


@pytest.fixture
def taught(talk):
    """A message that taught a fact."""
    asked, reply = talk("I live in Oslo")
    finish_reply(reply, "Nice.", "complete")
    teach(asked, "User lives in Oslo")
    return asked


def reply_of(message):
    reply = Message.objects.get(conversation=message.conversation_id, seq=message.seq + 1)
    finish_reply(reply, "All right.", "complete")
    return reverse("message", args=[reply.pk])


@pytest.fixture
def reply_page(ours_htmx, scripted, taught):
    """The address of the reply to the edited message."""
    ours_htmx.post(reverse("message_edit", args=[taught.pk]), {"text": "Hello"})
    taught.refresh_from_db()
    return reply_of(taught.replaced_by)


def test_the_reply_says_what_was_taken_back_with_an_undo(ours_htmx, reply_page):
    page = " ".join(text_of(ours_htmx.get(reply_page)).split())
    assert f'<li class="lead">{LINE}</li> <li><span>lives in Oslo</span></li>' in page
    assert "Undo what the edit changed in memory: “lives in Oslo”" in page


def test_undo_brings_it_back_and_the_line_is_gone(ours_htmx, reply_page):
    ours_htmx.post(reverse("deletion_undo", args=[Deletion.objects.get().pk]))
    assert Fact.objects.live().get().text == "User lives in Oslo"
    assert LINE not in text_of(ours_htmx.get(reply_page))


def test_what_is_known_again_is_told_too(ours_htmx, scripted, taught, talk):
    moved, reply = talk("I moved to Bergen")
    finish_reply(reply, "Nice.", "complete")
    teach(moved, "User lives in Bergen")
    ours_htmx.post(reverse("message_edit", args=[moved.pk]), {"text": "Hello"})
    moved.refresh_from_db()
    page = " ".join(text_of(ours_htmx.get(reply_of(moved.replaced_by))).split())
    assert "<span>lives in Bergen</span>" in page
    assert '<li class="lead">Known again:</li> <li><span>lives in Oslo</span></li>' in page


def test_when_it_is_deleted_for_good_nothing_is_told_any_more(ours_htmx, reply_page, time_machine):
    deletion = Deletion.objects.get()
    teach(deletion.message, "User lives in Bergen")
    assert deletions.finish_deletion(deletion.pk, deletion.expires_at + deletions.UNDO_GRACE)
    assert LINE not in text_of(ours_htmx.get(reply_page))


def test_other_users_and_strangers_see_no_line_and_cannot_undo(
    reply_page, server_mode, logged_in, other, owner
):
    undo = reverse("deletion_undo", args=[Deletion.objects.get().pk])
    for client, status in ((logged_in(other), 404), (Client(), 302)):
        assert client.get(reply_page).status_code == status
        client.post(undo)
        assert not Fact.objects.live().exists()
    assert LINE in text_of(logged_in(owner).get(reply_page))
