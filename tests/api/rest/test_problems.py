"""Every error is a problem document with a message, also before any view, and changes nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import OperationalError

from chat.models import Conversation, Fact, Message

pytestmark = pytest.mark.django_db
FORM = "multipart/form-data; boundary=b"


def problem(answer, status, kind=""):
    """Check an error response and return its problem document; at /v1 OpenAI's error object."""
    assert answer.status_code == status
    if answer.wsgi_request.path_info.startswith("/v1/"):
        assert answer.headers["Content-Type"] == "application/json"
        return answer.json()["error"] | {"detail": answer.json()["error"]["message"]}
    assert answer.headers["Content-Type"] == "application/problem+json"
    told = answer.json()
    assert told["type"].endswith(kind)
    assert told["detail"].endswith((".", "”"))
    return told


def parts(count: int, name: str) -> bytes:
    one = f'--b\r\nContent-Disposition: form-data; name="x"{name}\r\n\r\nx\r\n'.encode()
    return one * count + b"--b--\r\n"


def send(program, method, path, data=b"", content_type="application/json", **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return program.client.generic(
        method, path, data, content_type=content_type, headers={**program.headers, **named}
    )


@pytest.mark.parametrize("path", ["/api/facts", "/api/openapi.json", "/v1/models", "/v1/chat/completions"])
def test_an_unknown_host_and_a_proxy_are_refused_with_a_problem(program, path):
    assert "host name" in problem(send(program, "GET", path, host="evil.example"), 400)["detail"]
    assert "proxy" in problem(send(program, "GET", path, x_forwarded_for="1.2.3.4"), 403)["detail"]


def test_pages_are_refused_with_html(program):
    for path in ("/", "/api/docs"):
        assert send(program, "GET", path, host="evil.example").headers["Content-Type"].startswith("text/html")


@pytest.mark.parametrize("path", ["/api/facts", "/v1/models"])
def test_an_error_in_the_middleware_is_a_problem(program, monkeypatch, path):
    def broken(*args):
        raise RuntimeError("the words of somebody")

    monkeypatch.setattr("memoryapp.middleware.settings_of", broken)
    told = problem(send(program, "GET", path), 500)
    assert told["detail"] == "Something went wrong. The log has the details."


@pytest.mark.parametrize("where", ["memoryapp.middleware.settings_of", "chat.actions.facts.add_fact"])
def test_a_locked_database_answers_when_to_retry(program, monkeypatch, where):
    def raise_locked(*args):
        raise OperationalError("database is locked")

    monkeypatch.setattr(where, raise_locked)
    answer = program("POST", "facts", {"text": "I bake rye."})
    assert "busy" in problem(answer, 503, "busy")["detail"]
    assert answer.headers["Retry-After"] == "5"


def test_a_running_reply_answers_when_to_retry(program, owner, scripted):
    from chat.actions.messages import send_message

    asked, _reply = send_message(owner, "Hello")
    path = f"conversations/{asked.conversation_id}/messages"
    answer = program("POST", path, {"content": "And another"})
    assert problem(answer, 409, "conflict")
    assert answer.headers["Retry-After"] == "5"
    body = {
        "messages": [{"role": "user", "content": "And another"}],
        "metadata": {"conversation": str(asked.conversation_id)},
    }
    answer = program("POST", "/v1/chat/completions", body)
    assert problem(answer, 409)["code"] == "conflict"
    assert answer.headers["Retry-After"] == "5"
    assert Message.objects.count() == 2


@pytest.mark.parametrize(
    ("content_type", "data"),
    [
        ("multipart/form-data", b"x"),
        (FORM, parts(150, '; filename="a"')),
        (FORM, parts(1500, "")),
    ],
    ids=["no boundary", "many files", "many fields"],
)
def test_an_invalid_form_is_malformed(program, content_type, data):
    problem(send(program, "POST", "/api/import", data, content_type), 400, "malformed")


def test_a_query_of_a_thousand_parameters_is_malformed(program):
    many = "&".join(f"a{n}=1" for n in range(1500))
    problem(send(program, "GET", f"/api/facts?{many}"), 400, "malformed")


@pytest.mark.parametrize(
    "path", ["/api/openapi.json", "/api/docs", "/api/", "/api/facts/clear", "/v1/models"]
)
def test_a_wrong_method_names_the_allowed_ones(program, stranger, path):
    for who in (program, stranger):
        answer = send(who, "PUT", path)
        if answer.status_code == 401:
            continue
        problem(answer, 405)
        assert answer.headers["Allow"] == ("POST" if path.endswith("clear") else "GET, HEAD")


@pytest.mark.parametrize("path", ["facts", "openapi.json", "conversations", "export"])
def test_head_works_for_every_get(program, path):
    answer = program("HEAD", path)
    assert (answer.status_code, answer.getvalue()) == (200, b"")


def test_non_finite_numbers_are_refused_everywhere(program):
    begun = program("POST", "conversations", {}).json()["id"]
    kept = b'{"content": "x", "reply": false, "tool_calls": [{"a": -1e999}]}'
    for path, body in (
        ("/api/conversations", b'{"metadata": {"a": [1, 1e999]}}'),
        (f"/api/conversations/{begun}/messages", kept),
    ):
        problem(send(program, "POST", path, body), 400, "malformed")
    assert (Conversation.objects.count(), Message.objects.count()) == (1, 0)


def test_an_empty_body_equals_no_body(program, owner, scripted):
    begun = program("POST", "conversations", {}).json()["id"]
    made = program("POST", f"conversations/{begun}/messages", {"content": "Hi", "reply": False}).json()
    bodies: tuple[Any, ...] = (None, {})
    for body in bodies:
        problem(program("POST", f"messages/{made['message']['id']}/retry", body), 409, "conflict")


def test_the_error_of_a_field_is_only_its_sentence(program):
    begun = program("POST", "conversations", {}).json()["id"]
    said = {"role": "assistant", "content": "x", "reply": True}
    told = problem(program("POST", f"conversations/{begun}/messages", said), 422)
    assert [error["detail"] for error in told["errors"]] == ["Only a user's message is answered."]


def test_a_lone_surrogate_is_refused_everywhere(program):
    for path, body in (
        ("/api/facts", {"text": "\ud800"}),
        ("/api/conversations", {"metadata": {"\ud800": 1}}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "\ud800"}]}),
    ):
        problem(send(program, "POST", path, json.dumps(body).encode()), 400)
    assert not Fact.objects.exists()
    assert not Conversation.objects.exists()
