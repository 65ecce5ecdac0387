"""After a broken connection a request takes effect once, and an interrupted reply is stopped at once."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from chat.actions.api_tokens import create_token
from chat.models import Conversation, Fact, Message
from chat.terminal.client import TerminalClient, TerminalError
from chat.terminal.commands import TerminalSession
from chat.terminal.screen import Screen
from tests.waiting import wait_until


class LossyTransport(httpx2.HTTPTransport):
    """Sends requests, and loses the response of the next one whose path ends with `loses`."""

    loses = ""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        response = super().handle_request(request)
        if self.loses and request.url.path.endswith(self.loses):
            self.loses = ""
            response.read()
            raise httpx2.ReadError("the connection was lost")
        return response


@pytest.fixture
def lossy() -> LossyTransport:
    return LossyTransport()


@pytest.fixture
def talk(address: str, owner: Any, lossy: LossyTransport) -> Iterator[TerminalSession]:
    """A terminal session of the owner, with a connection that can lose responses."""
    client = TerminalClient(address, create_token(owner, "terminal"), transport=lossy)
    yield TerminalSession(client, Screen(io.StringIO(), coloured=False))
    client.close()


def test_a_fact_whose_response_is_lost_is_added_once(typed, lossy):
    lossy.loses = "/facts"
    assert typed("/remember I like rye bread") == "Remembered.\n"
    assert Fact.objects.get().mention_count == 1


def test_a_message_whose_response_is_lost_is_sent_once(typed, lossy, scripted):
    scripted.replies.append("A strait of land.")
    lossy.loses = "/completions"
    assert typed("What is an isthmus?") == "A strait of land.\n"
    assert Message.objects.filter(role="user").count() == 1
    assert len(scripted.calls) == 1


def test_a_temporary_chat_whose_response_is_lost_is_created_once(typed, lossy, talk):
    lossy.loses = "/conversations"
    begun: list[int] = []
    real = talk.client.ask

    def ask(*said: Any) -> Any:
        begun.append(Conversation.objects.count())
        return real(*said)

    talk.client.ask = ask
    typed("/temporary", "Hello")
    assert begun == [1]


def test_a_deletion_whose_response_is_lost_can_be_undone(typed, lossy, make_fact):
    fact = make_fact("Likes rye bread")
    lossy.loses = f"/facts/{fact.pk}"
    assert "Undone." in typed("/unlearn rye", "/undo")
    assert Fact.objects.get().deletion is None


def test_an_undo_whose_response_is_lost_is_not_repeated(typed, lossy, make_fact):
    make_fact("Likes rye bread")
    lossy.loses = "/undo"
    assert "connection to memoryapp was lost" in typed("/unlearn rye", "/undo")
    assert Fact.objects.get().deletion is None


def test_an_interrupted_reply_is_stopped_at_once_and_its_chat_continues(talk, typed, scripted):
    scripted.gate = threading.Semaphore(3)
    scripted.replies.append("word " * 300)
    pieces = talk.client.ask("Hello", talk.message_target())
    for _conversation, piece in pieces:
        if piece:
            break
    pieces.close()
    stopped = Message.objects.get(role="assistant")
    assert stopped.state == "stopped"
    assert stopped.content.startswith("word")
    scripted.gate.release(1000)
    assert typed("More") == "Understood.\n"


def test_an_interrupt_before_the_first_chunk_still_knows_the_conversation(talk, typed, scripted, lossy):
    scripted.gate = threading.Semaphore(0)
    scripted.replies.append("word " * 300)
    real, first = lossy.handle_request, threading.Event()

    def interrupted(request: httpx2.Request) -> httpx2.Response:
        response = real(request)
        if request.url.path.endswith("/completions") and not first.is_set():
            first.set()
            raise KeyboardInterrupt
        return response

    lossy.handle_request = interrupted  # type: ignore[method-assign]
    pieces = talk.client.ask("Hello", talk.message_target())
    assert next(pieces)[0] == str(Conversation.objects.get().pk)
    with pytest.raises(KeyboardInterrupt):
        next(pieces)
    wait_until(lambda: Message.objects.get(role="assistant").state == "stopped")
    assert Message.objects.filter(role="user").count() == 1
    scripted.gate.release(1000)


def test_proxy_settings_are_ignored(monkeypatch, address, owner):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "")
    client = TerminalClient(address, create_token(owner, "terminal"))
    assert client.get("facts")["items"] == []
    client.close()


def test_a_server_restarted_at_another_address_is_found(address, owner, scripted):
    client = TerminalClient("http://127.0.0.1:9", create_token(owner, "terminal"), find=lambda: f"{address}/")
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
def test_a_server_that_is_not_memoryapp_is_reported(answer):
    client = TerminalClient(
        "http://127.0.0.1:9", "mem_x", transport=httpx2.MockTransport(lambda asked: answer)
    )
    for ask in (lambda: client.get("facts"), lambda: list(client.ask("Hello", {}))):
        with pytest.raises(TerminalError, match=r"answered with|was lost"):
            ask()
