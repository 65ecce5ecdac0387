"""Messages for programs: sent with their replies, read, and what becomes of a reply."""

from __future__ import annotations

import threading

import pytest

from chat.generation import run as generation
from chat.llm.registry import registry
from chat.llm.state import ModelState, Status
from chat.models import Message, MessageState
from tests.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def here(program):
    return f"conversations/{program('POST', 'conversations', {}).json()['id']}"


def test_sending_returns_the_reply_when_it_is_finished(program, here, scripted):
    scripted.replies.append("Hello to you.")
    answer = program("POST", f"{here}/messages", {"content": "Hello"})
    assert answer.status_code == 201
    told = answer.json()
    assert (told["message"]["content"], told["message"]["role"]) == ("Hello", "user")
    assert (told["reply"]["content"], told["reply"]["state"]) == ("Hello to you.", "complete")
    assert program("GET", f"{here}/messages").json()["items"] == [told["message"], told["reply"]]


def test_who_does_not_wait_gets_202_and_reads_the_reply_later(program, here, scripted):
    scripted.replies.append("Hello to you.")
    scripted.gate = threading.Semaphore(0)
    answer = program("POST", f"{here}/messages?wait=0", {"content": "Hello"})
    assert (answer.status_code, answer.json()["reply"]["state"]) == (202, "streaming")
    assert program("GET", answer.headers["Location"]).json()["state"] == "streaming"
    busy = program("POST", f"{here}/messages", {"content": "And?"})
    assert busy.status_code == 409
    scripted.gate.release(10)
    assert program("GET", f"{answer.headers['Location']}?wait=20").json()["content"] == "Hello to you."


def test_a_chat_without_a_title_is_called_by_what_is_said_first(program, here, scripted):
    program("POST", f"{here}/messages", {"content": "How is bread made?\nAnd rye?"})
    program("POST", f"{here}/messages", {"content": "And cake?"})
    assert program("GET", here).json()["title"] == "How is bread made?"
    secret = program("POST", "conversations", {"temporary": True}).json()["id"]
    for more in ({}, {"reply": False}):
        program("POST", f"conversations/{secret}/messages", {"content": "Psst"} | more)
    assert program("GET", f"conversations/{secret}").json()["title"] == ""


def test_a_reply_is_stopped_and_keeps_its_text(program, here, scripted):
    scripted.replies.append("Hello to you.")
    scripted.gate = threading.Semaphore(1)
    reply = program("POST", f"{here}/messages?wait=0", {"content": "Hello"}).json()["reply"]
    until(lambda: generation._running[reply["id"]].text() == "Hello ")
    told = program("POST", f"messages/{reply['id']}/stop").json()
    assert (told["state"], told["content"]) == ("stopped", "Hello ")


@pytest.mark.parametrize("state", [ModelState.MISSING, ModelState.FAILED])
def test_without_a_model_nothing_is_saved(program, here, state):
    registry._set(Status(state, sentence="No model is loaded in this process."))
    answer = program("POST", f"{here}/messages", {"content": "Hello"})
    assert (answer.status_code, answer.json()["detail"]) == (503, "No model is loaded in this process.")
    assert not Message.objects.exists()


def test_a_message_can_be_kept_without_an_answer(program, here):
    asked = program("POST", f"{here}/messages", {"content": "Hello", "reply": False})
    assert (asked.status_code, asked.json()["reply"]) == (201, None)
    tool = {"content": "7", "role": "tool", "tool_call_id": "call-1", "name": "count"}
    kept = program("POST", f"{here}/messages", tool).json()["message"]
    assert {name: kept[name] for name in tool} == tool


def test_only_a_user_is_answered(program, here):
    answer = program("POST", f"{here}/messages", {"content": "Hello", "role": "system", "reply": True})
    assert answer.status_code == 422
    assert not Message.objects.exists()


def test_a_history_comes_in_parts(program, here):
    for number in range(5):
        program("POST", f"{here}/messages", {"content": f"Message {number}", "reply": False})
    first = program("GET", f"{here}/messages?limit=3").json()
    rest = program("GET", first["next"]).json()
    said = [m["content"] for m in first["items"] + rest["items"]]
    assert said == [f"Message {number}" for number in range(5)]
    assert rest["next"] is None


def test_the_newest_that_fit_are_told_with_their_tokens(program, here):
    for text in ("a" * 400, "b" * 40, "c" * 40):
        program("POST", f"{here}/messages", {"content": text, "reply": False})
    recent = program("GET", f"{here}/messages/recent?max_tokens=30").json()
    assert [m["content"][0] for m in recent["items"]] == ["b", "c"]
    assert (recent["tokens"], recent["exact"]) == (20, False)
    assert program("GET", f"{here}/messages/recent?max_tokens=5").json()["items"] == []


def test_a_message_is_flagged(program, here):
    asked = program("POST", f"{here}/messages", {"content": "Hello", "reply": False}).json()["message"]
    assert program("PATCH", f"messages/{asked['id']}", {"flagged": True}).json()["flagged"] is True
    assert program("GET", f"messages/{asked['id']}").json()["flagged"] is True


def test_the_last_reply_is_written_anew(program, here, scripted):
    scripted.replies.append("First.")
    scripted.replies.append("Second.")
    first = program("POST", f"{here}/messages", {"content": "Hello"}).json()
    again = program("POST", f"messages/{first['reply']['id']}/retry")
    assert (again.status_code, again.json()["reply"]["content"]) == (201, "Second.")
    assert again.json()["message"]["id"] == first["message"]["id"]
    assert program("POST", f"messages/{first['reply']['id']}/retry").status_code == 409
    assert len(program("GET", f"{here}/messages").json()["items"]) == 2


def test_what_a_user_said_is_no_reply_to_write_anew(program, here, scripted):
    said = program("POST", f"{here}/messages", {"content": "Hello", "reply": False}).json()["message"]
    answer = program("POST", f"messages/{said['id']}/retry")
    assert (answer.status_code, answer.json()["detail"]) == (
        409,
        "Only the last reply of a conversation can be written anew.",
    )


def test_a_message_is_sent_in_other_words(program, here, scripted):
    scripted.replies.append("First.")
    scripted.replies.append("Second.")
    first = program("POST", f"{here}/messages", {"content": "Hello"}).json()
    other = program("POST", f"messages/{first['message']['id']}/resend", {"content": "Good morning"}).json()
    assert (other["message"]["content"], other["reply"]["content"]) == ("Good morning", "Second.")
    assert [m["content"] for m in program("GET", f"{here}/messages").json()["items"]] == [
        "Good morning",
        "Second.",
    ]
    late = program("POST", f"messages/{first['message']['id']}/resend", {"content": "Good night"})
    assert late.status_code == 422


def test_the_same_key_sends_once_and_tells_the_reply_as_it_is_now(program, here, scripted):
    scripted.replies.append("Hello to you.")
    body = {"content": "Hello"}
    first = program("POST", f"{here}/messages", body, idempotency_key="one")
    again = program("POST", f"{here}/messages", body, idempotency_key="one")
    assert again.headers["Idempotency-Replayed"] == "true"
    assert (again.status_code, again.json()) == (201, first.json())
    patient = program("POST", f"{here}/messages?wait=60", body, idempotency_key="one")
    assert (patient.status_code, patient.json()) == (201, first.json())
    assert Message.objects.count() == 2


def test_a_reply_that_a_killed_process_left_is_told_as_stopped(program, here, scripted):
    scripted.replies.append("Hello to you.")
    program("POST", f"{here}/messages", {"content": "Hello"}, idempotency_key="one")
    Message.objects.filter(role="assistant").update(state=MessageState.STOPPED, content="Hel")
    again = program("POST", f"{here}/messages", {"content": "Hello"}, idempotency_key="one")
    assert (again.json()["reply"]["state"], again.json()["reply"]["content"]) == ("stopped", "Hel")
