"""What a page asks every second where no WebSocket reaches it."""

from __future__ import annotations

from typing import Any

import pytest

from chat.actions.facts import add_fact
from chat.actions.messages import finish_reply
from chat.generation.hub import hub
from chat.jobs.runner import run_due
from chat.llm.registry import registry
from chat.models import Conversation, Message, MessageState

pytestmark = pytest.mark.django_db


@pytest.fixture
def ask(ours):
    """Send a request as the page does; return the frames, and keep the stamp for the next one."""
    kept = {"stamp": ""}

    def poll(**given: Any) -> list[dict[str, Any]]:
        answer = ours.get("/poll/", {**kept, **given}, headers={"sec-fetch-site": "same-origin"}).json()
        kept["stamp"] = answer["stamp"]
        return list(answer["frames"])

    return poll


def test_nothing_changed_is_no_frame(ask, talk):
    conversation = talk("Hello")[0].conversation_id
    assert ask(conversation=conversation) == []
    assert ask(conversation=conversation) == []


def test_the_text_so_far_of_a_reply_is_a_snapshot_and_its_end_is_done(ask, talk):
    asked, reply = talk("Hello")
    conversation, shown = str(asked.conversation_id), str(reply.pk)
    hub.begin_reply(conversation, shown)
    hub.publish_blocks(conversation, 0, ["<p>One two"])
    (frame,) = ask(conversation=conversation, reply=shown)
    assert (frame["type"], frame["reply"], frame["blocks"]) == ("snapshot", shown, ["<p>One two"])
    hub.end_reply(conversation, shown)
    assert ask(conversation=conversation, reply=shown) == [{"type": "done", "reply": shown}]


def test_a_reply_that_another_process_still_writes_has_no_end_without_frames_of_it(ask, talk, monkeypatch):
    asked, reply = talk("Hello")
    monkeypatch.setattr(type(hub), "is_shared", True)
    Message.objects.filter(pk=reply.pk).update(state=MessageState.STREAMING)
    shown = {"conversation": str(asked.conversation_id), "reply": str(reply.pk)}
    assert ask(**shown) == []
    finish_reply(Message.objects.get(pk=reply.pk), "Hi.", "complete")
    assert {"type": "done", "reply": shown["reply"]} in ask(**shown)


def test_a_message_of_another_page_a_new_chat_and_a_new_fact_are_told(ask, talk, owner, add_exchange):
    found = add_exchange("Hello")
    ask(conversation=found.pk)
    add_exchange("More", found)
    told = [frame["type"] for frame in ask(conversation=found.pk)]
    assert told == ["messages", "conversations"]
    talk("A new chat")
    assert [frame["type"] for frame in ask(conversation=found.pk)] == ["conversations"]
    add_fact(owner, "I bake rye bread.")
    assert [frame["type"] for frame in ask(conversation=found.pk)] == ["facts"]
    assert ask(conversation=found.pk) == []


def test_a_new_title_is_told(ask, talk):
    found = talk("Hello")[0].conversation
    ask(conversation=found.pk)
    type(found).objects.filter(pk=found.pk).update(title="Greetings")
    assert ask(conversation=found.pk) == [{"type": "conversations"}]


def test_the_state_of_the_model_is_told(ask, scripted):
    assert ask(model="loading") == [{"type": "model"}]
    assert ask(model=registry.status().state.value) == []


def test_a_conversation_that_is_gone_is_not_found(ours):
    assert ours.get("/poll/?conversation=00000000-0000-0000-0000-000000000000").status_code == 404
    assert ours.get("/poll/?conversation=x").status_code == 404


def test_it_costs_few_queries(ours, talk, django_assert_max_num_queries):
    conversation = talk("Hello")[0].conversation_id
    with django_assert_max_num_queries(9):
        ours.get(f"/poll/?conversation={conversation}")


def test_a_page_that_lives_on_polling_keeps_its_conversation_from_ending(ours, talk, clock):
    found = talk("Hello")[0].conversation
    for _ in range(4):
        clock(300)
        ours.get(f"/poll/?conversation={found.pk}")
        run_due({"end_idle"})
    assert Conversation.objects.get().ended_at is None
    clock(601)
    run_due({"end_idle"})
    assert Conversation.objects.get().ended_at is not None
