"""`GET /api/conversations/{id}/requests` lists what memory did about requests in messages."""

from __future__ import annotations

import pytest

from chat.actions import deletions
from chat.actions.messages import finish_reply
from chat.models import Deletion, Message, RequestOutcome

pytestmark = pytest.mark.django_db


def test_what_was_forgotten_and_what_is_asked_are_listed(program, talk, owner, make_fact):
    asked, _ = talk("Please forget that I'm allergic to nuts, and my sister.")
    nuts, sister = make_fact("User is allergic to nuts"), make_fact("User has a sister called Noor")
    deletions.forget_facts(owner, [nuts.pk], deletions.PROGRAM_UNDO_WINDOW, message=asked)
    outcome = RequestOutcome.objects.create(owner=owner, message=asked, kind="unclear")
    outcome.candidates.add(sister)
    found = program("GET", f"conversations/{asked.conversation_id}/requests").json()
    assert [(one["outcome"], [fact["text"] for fact in one["facts"]]) for one in found] == [
        ("forgotten", ["User is allergic to nuts"]),
        ("unclear", ["User has a sister called Noor"]),
    ]
    assert found[0]["deletion"]["undo"]
    deletions.undo_deletion(Deletion.objects.get())
    [left] = program("GET", f"conversations/{asked.conversation_id}/requests").json()
    assert left["outcome"] == "unclear"


@pytest.mark.django_db(transaction=True)
def test_a_message_of_a_program_is_marked(program, scripted, talk):
    asked, reply = talk("Hello")
    assert not asked.by_program
    finish_reply(reply, "Hi.", "complete")
    program("POST", f"conversations/{asked.conversation_id}/messages", {"role": "user", "content": "Hi"})
    assert Message.objects.filter(role="user").latest("seq").by_program
