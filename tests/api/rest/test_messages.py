"""Messages in the REST API: sending, reading, stopping and retrying."""

from __future__ import annotations

import threading

import pytest

from chat.actions.extraction import record_extraction
from chat.api.history import FIRST_PORTION
from chat.errors import Reason
from chat.generation import run as generation
from chat.generation.hub import hub
from chat.llm.model_status import ModelState, ModelStatus
from chat.llm.registry import registry
from chat.memory.candidates import Extraction, FactCandidate
from chat.models import Fact, Message, MessageState
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def conversation_path(program):
    return f"conversations/{program('POST', 'conversations', {}).json()['id']}"


def test_sending_returns_the_reply_when_it_is_finished(program, conversation_path, scripted):
    scripted.replies.append("Hello to you.")
    answer = program("POST", f"{conversation_path}/messages", {"content": "Hello"})
    assert answer.status_code == 201
    told = answer.json()
    assert (told["message"]["content"], told["message"]["role"]) == ("Hello", "user")
    assert (told["reply"]["content"], told["reply"]["state"]) == ("Hello to you.", "complete")
    assert program("GET", f"{conversation_path}/messages").json()["items"] == [told["message"], told["reply"]]


def test_without_waiting_the_answer_is_202(program, conversation_path, scripted):
    scripted.replies.append("Hello to you.")
    scripted.gate = threading.Semaphore(0)
    answer = program("POST", f"{conversation_path}/messages?wait=0", {"content": "Hello"})
    assert (answer.status_code, answer.json()["reply"]["state"]) == (202, "streaming")
    assert program("GET", answer.headers["Location"]).json()["state"] == "streaming"
    busy = program("POST", f"{conversation_path}/messages", {"content": "And?"})
    assert busy.status_code == 409
    scripted.gate.release(10)
    assert program("GET", f"{answer.headers['Location']}?wait=20").json()["content"] == "Hello to you."


def test_a_waiting_reply_tells_how_many_are_served_before_it(program, conversation_path, scripted):
    scripted.gate = threading.Semaphore(0)
    answer = program("POST", f"{conversation_path}/messages?wait=0", {"content": "Hello"})
    reply = answer.json()["reply"]
    assert reply["before"] == 0
    hub.show_place(reply["conversation"], reply["id"], 2)
    assert program("GET", answer.headers["Location"]).json()["before"] == 2
    assert [row["before"] for row in program("GET", f"{conversation_path}/messages").json()["items"]] == [
        0,
        2,
    ]
    scripted.gate.release(10)
    assert program("GET", f"{answer.headers['Location']}?wait=20").json()["before"] == 0


def test_a_conversation_is_named_after_its_first_message(program, conversation_path, scripted):
    program("POST", f"{conversation_path}/messages", {"content": "How is bread made?\nAnd rye?"})
    program("POST", f"{conversation_path}/messages", {"content": "And cake?"})
    assert program("GET", conversation_path).json()["title"] == "How is bread made?"
    secret = program("POST", "conversations", {"temporary": True}).json()["id"]
    for more in ({}, {"reply": False}):
        program("POST", f"conversations/{secret}/messages", {"content": "Psst"} | more)
    assert program("GET", f"conversations/{secret}").json()["title"] == ""


def test_a_stopped_reply_keeps_its_text(program, conversation_path, scripted):
    scripted.replies.append("Hello to you.")
    scripted.gate = threading.Semaphore(1)
    reply = program("POST", f"{conversation_path}/messages?wait=0", {"content": "Hello"}).json()["reply"]
    run = generation.find_run(reply["id"])
    wait_until(lambda: run.text() == "Hello ")
    told = program("POST", f"messages/{reply['id']}/stop").json()
    assert (told["state"], told["content"]) == ("stopped", "Hello ")


@pytest.mark.parametrize("state", [ModelState.MISSING, ModelState.FAILED])
def test_without_a_model_nothing_is_saved(program, conversation_path, state):
    registry.set_status(ModelStatus(state, reason=Reason("no-model")))
    answer = program("POST", f"{conversation_path}/messages", {"content": "Hello"})
    assert (answer.status_code, answer.json()["detail"]) == (503, "No model is loaded in this process.")
    assert not Message.objects.exists()


def test_a_message_can_be_saved_without_a_reply(program, conversation_path):
    asked = program("POST", f"{conversation_path}/messages", {"content": "Hello", "reply": False})
    assert (asked.status_code, asked.json()["reply"]) == (201, None)
    tool = {"content": "7", "role": "tool", "tool_call_id": "call-1", "name": "count"}
    kept = program("POST", f"{conversation_path}/messages", tool).json()["message"]
    assert {name: kept[name] for name in tool} == tool


@pytest.mark.parametrize("nothing", [{}, {"content": None}, {"content": ""}])
def test_a_tool_call_and_a_result_need_no_text(program, conversation_path, scripted, nothing):
    path = f"{conversation_path}/messages"
    calls = [{"id": "call_1", "type": "function", "function": {"name": "save", "arguments": "{}"}}]
    assert program("POST", path, {"content": "Save it", "reply": False}).status_code == 201
    called = program("POST", path, {"role": "assistant", "tool_calls": calls, **nothing})
    done = program("POST", path, {"role": "tool", "tool_call_id": "call_1", **nothing})
    assert [answer.status_code for answer in (called, done)] == [201, 201]
    kept = program("GET", path).json()["items"]
    assert [(m["role"], m["content"], m["tool_calls"]) for m in kept[1:]] == [
        ("assistant", "", calls),
        ("tool", "", None),
    ]
    program("POST", path, {"content": "Is it saved?"})
    assert [t.role for t in scripted.calls[-1].turns] == ["system", "user", "assistant", "tool", "user"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"content": ""},
        {"content": None},
        {"role": "assistant", "tool_calls": []},
        {"role": "system"},
        {"tool_calls": [{"id": "call_1"}]},
    ],
)
def test_every_other_message_needs_a_text(program, conversation_path, body):
    answer = program("POST", f"{conversation_path}/messages", body)
    assert answer.status_code == 422
    assert "needs a text" in str(answer.json())
    assert not Message.objects.exists()


def test_only_a_user_message_can_be_answered(program, conversation_path):
    answer = program(
        "POST", f"{conversation_path}/messages", {"content": "Hello", "role": "system", "reply": True}
    )
    assert answer.status_code == 422
    assert not Message.objects.exists()


def test_the_history_is_split_into_pages(program, conversation_path):
    for number in range(5):
        program("POST", f"{conversation_path}/messages", {"content": f"Message {number}", "reply": False})
    first = program("GET", f"{conversation_path}/messages?limit=3").json()
    rest = program("GET", first["next"]).json()
    said = [m["content"] for m in first["items"] + rest["items"]]
    assert said == [f"Message {number}" for number in range(5)]
    assert rest["next"] is None


def test_the_newest_messages_that_fit_are_returned_with_their_tokens(program, conversation_path):
    for text in ("a" * 400, "b" * 40, "c" * 40):
        program("POST", f"{conversation_path}/messages", {"content": text, "reply": False})
    recent = program("GET", f"{conversation_path}/messages/recent?max_tokens=30").json()
    assert [m["content"][0] for m in recent["items"]] == ["b", "c"]
    assert (recent["tokens"], recent["exact"]) == (20, False)
    assert program("GET", f"{conversation_path}/messages/recent?max_tokens=5").json()["items"] == []


def test_only_the_end_of_a_long_conversation_is_read(program, long_session, rows_read):
    path = f"conversations/{long_session.pk}/messages/recent?max_tokens=200"
    recent = program("GET", path).json()
    assert [m["content"][:5] for m in recent["items"]] == [f"{n:05}" for n in range(980, 1000)]
    assert recent["tokens"] == 200
    assert len(rows_read) == FIRST_PORTION


def test_a_message_shows_its_importance_and_the_mark_overrules_it(program, conversation_path):
    said = {"content": "We decided to pay 1,500 euros in May.", "reply": False}
    asked = program("POST", f"{conversation_path}/messages", said).json()["message"]
    assert asked["flagged"] is False
    assert 0.5 <= asked["importance"] < 1
    path = f"messages/{asked['id']}"
    assert program("PATCH", path, {"flagged": True}).json()["importance"] == 1
    assert program("PATCH", path, {"flagged": False}).json()["importance"] == 0
    assert program("GET", path).json()["importance"] == 0


def test_a_message_can_be_flagged(program, conversation_path):
    asked = program("POST", f"{conversation_path}/messages", {"content": "Hello", "reply": False}).json()[
        "message"
    ]
    assert program("PATCH", f"messages/{asked['id']}", {"flagged": True}).json()["flagged"] is True
    assert program("GET", f"messages/{asked['id']}").json()["flagged"] is True


def test_the_last_reply_can_be_regenerated(program, conversation_path, scripted):
    scripted.replies.append("First.")
    scripted.replies.append("Second.")
    first = program("POST", f"{conversation_path}/messages", {"content": "Hello"}).json()
    again = program("POST", f"messages/{first['reply']['id']}/retry")
    assert (again.status_code, again.json()["reply"]["content"]) == (201, "Second.")
    assert again.json()["message"]["id"] == first["message"]["id"]
    assert program("POST", f"messages/{first['reply']['id']}/retry").status_code == 409
    assert len(program("GET", f"{conversation_path}/messages").json()["items"]) == 2


def test_a_user_message_cannot_be_regenerated(program, conversation_path, scripted):
    said = program("POST", f"{conversation_path}/messages", {"content": "Hello", "reply": False}).json()[
        "message"
    ]
    answer = program("POST", f"messages/{said['id']}/retry")
    assert (answer.status_code, answer.json()["detail"]) == (
        409,
        "Only the last reply of a conversation can be written anew.",
    )


def test_a_message_can_be_edited_and_sent_again(program, conversation_path, scripted):
    scripted.replies.append("First.")
    scripted.replies.append("Second.")
    first = program("POST", f"{conversation_path}/messages", {"content": "Hello"}).json()
    other = program("POST", f"messages/{first['message']['id']}/resend", {"content": "Good morning"}).json()
    assert (other["message"]["content"], other["reply"]["content"]) == ("Good morning", "Second.")
    assert [m["content"] for m in program("GET", f"{conversation_path}/messages").json()["items"]] == [
        "Good morning",
        "Second.",
    ]
    late = program("POST", f"messages/{first['message']['id']}/resend", {"content": "Good night"})
    assert late.status_code == 422


def test_what_an_edit_took_back_in_memory_comes_with_its_undo(program, conversation_path, scripted):
    scripted.replies += ["First.", "Second."]
    first = program("POST", f"{conversation_path}/messages", {"content": "I live in Oslo"}).json()
    assert first["deletion"] is None
    message = Message.objects.select_related("conversation__owner").get(pk=first["message"]["id"])
    candidate = FactCandidate("User lives in Oslo", "home", "identity", "", hedged=False, quote="Oslo")
    record_extraction(message, Extraction([candidate]), [None], "", 0.1)
    other = program("POST", f"messages/{message.pk}/resend", {"content": "Good morning"}).json()
    assert not Fact.objects.live().exists()
    program("POST", other["deletion"]["undo"])
    assert Fact.objects.live().get().text == "User lives in Oslo"


def test_the_same_key_sends_once_and_returns_the_current_reply(program, conversation_path, scripted):
    scripted.replies.append("Hello to you.")
    body = {"content": "Hello"}
    first = program("POST", f"{conversation_path}/messages", body, idempotency_key="one")
    again = program("POST", f"{conversation_path}/messages", body, idempotency_key="one")
    assert again.headers["Idempotency-Replayed"] == "true"
    assert (again.status_code, again.json()) == (201, first.json())
    patient = program("POST", f"{conversation_path}/messages?wait=60", body, idempotency_key="one")
    assert (patient.status_code, patient.json()) == (201, first.json())
    assert Message.objects.count() == 2


def test_a_reply_left_by_a_killed_process_is_returned_as_stopped(program, conversation_path, scripted):
    scripted.replies.append("Hello to you.")
    program("POST", f"{conversation_path}/messages", {"content": "Hello"}, idempotency_key="one")
    Message.objects.filter(role="assistant").update(state=MessageState.STOPPED, content="Hel")
    again = program("POST", f"{conversation_path}/messages", {"content": "Hello"}, idempotency_key="one")
    assert (again.json()["reply"]["state"], again.json()["reply"]["content"]) == ("stopped", "Hel")
