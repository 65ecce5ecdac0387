"""What is said over a line that breaks is said once, and a reply that is broken off is stopped at once."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from chat.actions.tokens import create_token
from chat.models import Conversation, Fact, Message
from chat.terminal.client import Client, Said
from chat.terminal.commands import Talk
from chat.terminal.screen import Screen
from tests.waiting import until


class Breaking(httpx2.HTTPTransport):
    """Lets requests through, and loses the answer to the next one of this address."""

    loses = ""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        response = super().handle_request(request)
        if self.loses and request.url.path.endswith(self.loses):
            self.loses = ""
            response.read()
            raise httpx2.ReadError("the connection was lost")
        return response


@pytest.fixture
def line() -> Breaking:
    return Breaking()


@pytest.fixture
def talk(address: str, owner: Any, line: Breaking) -> Iterator[Talk]:
    """The owner's terminal, at a line that may break."""
    client = Client(address, create_token(owner, "terminal"), transport=line)
    yield Talk(client, Screen(io.StringIO(), coloured=False))
    client.close()


def test_a_memory_whose_answer_is_lost_is_told_once(typed, line):
    line.loses = "/facts"
    assert typed("/remember I like rye bread") == "Remembered.\n"
    assert Fact.objects.get().mention_count == 1


def test_a_message_whose_answer_is_lost_is_said_once(typed, line, scripted):
    scripted.replies.append("A strait of land.")
    line.loses = "/completions"
    assert typed("What is an isthmus?") == "A strait of land.\n"
    assert Message.objects.filter(role="user").count() == 1
    assert len(scripted.calls) == 1


def test_a_temporary_chat_whose_answer_is_lost_is_begun_once(typed, line, talk):
    line.loses = "/conversations"
    begun: list[int] = []
    real = talk.client.ask

    def ask(*said: Any) -> Any:
        begun.append(Conversation.objects.count())
        return real(*said)

    talk.client.ask = ask
    typed("/temporary", "Hello")
    assert begun == [1]


def test_a_deletion_whose_answer_is_lost_tells_its_undo(typed, line, make_fact):
    fact = make_fact("Likes rye bread")
    line.loses = f"/facts/{fact.pk}"
    assert "Undone." in typed("/unlearn rye", "/undo")
    assert Fact.objects.get().deletion is None


def test_an_undo_whose_answer_is_lost_is_not_said_again(typed, line, make_fact):
    make_fact("Likes rye bread")
    line.loses = "/undo"
    assert "connection to memoryapp was lost" in typed("/unlearn rye", "/undo")
    assert Fact.objects.get().deletion is None


def test_a_reply_that_is_broken_off_is_stopped_at_once_and_its_chat_goes_on(talk, typed, scripted):
    scripted.gate = threading.Semaphore(3)
    scripted.replies.append("word " * 300)
    pieces = talk.client.ask("Hello", talk.where())
    for _conversation, piece in pieces:
        if piece:
            break
    pieces.close()
    stopped = Message.objects.get(role="assistant")
    assert stopped.state == "stopped"
    assert stopped.content.startswith("word")
    scripted.gate.release(1000)
    assert typed("More") == "Understood.\n"


def test_who_breaks_off_before_anything_is_heard_still_knows_where_it_was_said(talk, typed, scripted, line):
    scripted.gate = threading.Semaphore(0)
    scripted.replies.append("word " * 300)
    real, first = line.handle_request, threading.Event()

    def interrupted(request: httpx2.Request) -> httpx2.Response:
        response = real(request)
        if request.url.path.endswith("/completions") and not first.is_set():
            first.set()
            raise KeyboardInterrupt
        return response

    line.handle_request = interrupted  # type: ignore[method-assign]
    pieces = talk.client.ask("Hello", talk.where())
    assert next(pieces)[0] == str(Conversation.objects.get().pk)
    with pytest.raises(KeyboardInterrupt):
        next(pieces)
    until(lambda: Message.objects.get(role="assistant").state == "stopped")
    assert Message.objects.filter(role="user").count() == 1
    scripted.gate.release(1000)


def test_no_proxy_comes_between(monkeypatch, address, owner):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "")
    client = Client(address, create_token(owner, "terminal"))
    assert client.get("facts")["items"] == []
    client.close()


def test_a_server_that_is_started_again_elsewhere_is_found(address, owner, scripted):
    client = Client("http://127.0.0.1:9", create_token(owner, "terminal"), find=lambda: f"{address}/")
    assert [piece for _chat, piece in client.ask("Hello", {"conversation": "new"}) if piece] == [
        "Understood."
    ]
    client.post(f"conversations/{Conversation.objects.get().pk}/clear")
    client.close()


@pytest.mark.parametrize(
    "answer",
    [
        httpx2.Response(200, text="<html>another program"),
        httpx2.Response(301, headers={"Location": "https://example.org/"}),
        httpx2.Response(502, text="bad gateway"),
    ],
    ids=["no JSON", "a redirect", "an error of a proxy"],
)
def test_what_is_no_memoryapp_is_told_in_a_sentence(answer):
    client = Client("http://127.0.0.1:9", "mem_x", transport=httpx2.MockTransport(lambda asked: answer))
    for ask in (lambda: client.get("facts"), lambda: list(client.ask("Hello", {}))):
        with pytest.raises(Said, match=r"answered with|was lost"):
            ask()
