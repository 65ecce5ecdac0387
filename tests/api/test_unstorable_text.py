"""Texts and values that no database can store: replaced by U+FFFD, or refused."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from chat.api import Message
from chat.models import Conversation

from .session_messages import contents_of

pytestmark = pytest.mark.django_db
# As `open(…, errors="surrogateescape")` reads invalid UTF-8.
HALF = "caf\udce9\x00"
LOST = "caf\ufffd"


def test_invalid_characters_are_replaced_in_every_text(manager):
    session = manager.create_session(HALF, {HALF: [HALF, 1]})
    call = {"id": "1", "function": {"name": "f", "arguments": HALF}}
    manager.save_message(session, Message(role="assistant", content=HALF, tool_calls=[call]))
    manager.save_message(session, Message(role="tool", content=HALF, tool_call_id="1", name=HALF))
    asked, result = manager.load_session(session)
    assert contents_of([asked, result]) == [LOST, LOST]
    assert asked.tool_calls[0]["function"]["arguments"] == result.name == LOST
    [entry] = manager.list_sessions()
    assert (entry["system_prompt"], entry["metadata"]) == (LOST, {LOST: [LOST, 1]})


def test_a_surrogate_pair_becomes_one_character(manager):
    session = manager.create_session()
    manager.save_message(session, Message(role="user", content="\ud83d\ude00"))
    assert contents_of(manager.load_session(session)) == ["😀"]


def test_any_text_can_be_a_session_id(manager):
    assert manager.session_id(manager.save_message(HALF, Message(role="user", content="Hi"))) != ""
    assert manager.session_id(HALF) == manager.list_sessions()[0]["id"]


UNHEARD = {"nan": float("nan"), "inf": float("inf"), "object": object(), "set": {1}}


@pytest.mark.parametrize("value", UNHEARD.values(), ids=UNHEARD)
def test_values_that_json_cannot_hold_are_refused_and_nothing_is_created(manager, value):
    with pytest.raises(ValueError, match="JSON cannot hold this"):
        manager.create_session("", {"a": value})
    with pytest.raises(ValueError, match="JSON cannot hold this"):
        manager.save_message("s", Message(role="assistant", tool_calls=[{"a": value}]))
    assert not Conversation.objects.exists()


ENDS = [end.replace(tzinfo=zone) for end in (datetime.min, datetime.max) for zone in (None, UTC)]


@pytest.mark.parametrize("when", ENDS, ids=str)
def test_a_time_at_the_limits_of_datetime_is_refused(when):
    with pytest.raises(ValueError, match="created_at"):
        Message(role="user", content="Hi", created_at=when)
    assert Message(role="user", content="Hi", created_at=when.replace(year=2500)).created_at.tzinfo


def test_the_arguments_of_create_session_are_checked(manager):
    with pytest.raises(ValueError, match="metadata is a dict"):
        manager.create_session("", ["a"])
    manager.create_session(None)
    assert [entry["system_prompt"] for entry in manager.list_sessions(10**20)] == [""]
