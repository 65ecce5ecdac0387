"""The terminal chat: a line is a message, its reply is streamed, chats are shared with the browser."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest

from chat.actions import apps
from chat.commands import COMMANDS
from chat.errors import ProviderError
from chat.models import Conversation, Message
from chat.terminal.client import NotFound, TerminalClient, TerminalError
from chat.terminal.repl import run_repl
from chat.terminal.screen import LineReader, Screen
from chat.text import replace_lone_surrogates, strip_terminal_controls


def test_each_line_is_a_message_of_one_chat(typed, scripted):
    scripted.replies.extend(["The first.", "The second."])
    assert typed("One", "", "Two") == "The first.\nThe second.\n"
    chat = Conversation.objects.get()
    assert [m.content for m in Message.objects.filter(conversation=chat).order_by("seq")] == [
        *("One", "The first."),
        *("Two", "The second."),
    ]
    assert (chat.title, chat.temporary, chat.memory_mode) == ("One", False, "on")


def test_a_failed_reply_says_why_and_the_next_line_works(typed, scripted, talk):
    scripted.replies.extend([ProviderError("verbatim", sentence="The server is away."), "Here again."])
    assert typed("One", "Two") == "The server is away.\nHere again.\n"


def test_an_error_after_half_a_reply_is_on_its_own_line(typed, talk):
    def half(text: str, where: dict[str, str]) -> Iterator[tuple[str, str]]:
        yield "1", "Half of"
        raise TerminalError("The server is away.")

    talk.client.ask = half
    assert typed("Hello") == "Half of\nThe server is away.\n"


def test_invalid_bytes_in_a_line_are_replaced(talk):
    source = io.TextIOWrapper(io.BytesIO(b"caf\xe9\nHello\n"), encoding="utf-8")
    run_repl(talk, LineReader(COMMANDS, source))
    asked = Message.objects.filter(role="user").order_by("created_at")
    assert [one.content for one in asked] == ["caf\ufffd", "Hello"]


def test_lone_surrogates_are_replaced():
    assert replace_lone_surrogates("caf\udce9 \ud800!") == "caf\ufffd \ufffd!"


class TestInterrupting:
    """Ctrl-C ends the current action in a terminal, and the whole program in a pipe."""

    class TypedLines:
        """A line reader that behaves as if these lines were typed."""

        is_interactive = True

        def __init__(self, *lines: str) -> None:
            self._lines = list(lines)

        def read(self, prompt: str) -> str:
            if not self._lines:
                raise EOFError
            return self._lines.pop(0)

    def test_interrupt_while_a_reply_is_written(self, talk):
        def broken(text: str, where: dict[str, str]) -> Iterator[tuple[str, str]]:
            yield "1", "Half of"
            raise KeyboardInterrupt

        talk.client.ask = broken
        assert run_repl(talk, self.TypedLines("Hello", "/new"))
        assert talk.screen._out.getvalue() == "Half of\nStopped.\nA new chat.\n"
        with pytest.raises(KeyboardInterrupt):
            run_repl(talk, LineReader(COMMANDS, io.StringIO("Hello\nMore\n")))
        assert talk.screen._out.getvalue().endswith("Half of\nStopped.\n")

    def test_interrupt_while_the_terminal_asks_for_learned_facts(self, talk, monkeypatch):
        asked: list[str] = []

        def broken(path: str) -> list[Any]:
            asked.append(path)
            if len(asked) == 2:
                raise KeyboardInterrupt
            return []

        monkeypatch.setattr(talk, "fetch_all", broken)
        assert run_repl(talk, self.TypedLines("/help", "/new"))
        assert talk.screen._out.getvalue().endswith("Stopped.\nA new chat.\n")

    def test_known_facts_are_not_shown_as_new_after_a_failed_request(self, talk, monkeypatch, make_fact):
        make_fact("Likes rye bread")
        real = talk.fetch_all

        def fail_once(path: str) -> list[Any]:
            monkeypatch.setattr(talk, "fetch_all", real)
            raise TerminalError("away")

        monkeypatch.setattr(talk, "fetch_all", fail_once)
        run_repl(talk, self.TypedLines("/new", "/remember I like tea", "/new"))
        assert "Likes rye bread" not in talk.screen._out.getvalue()


def test_a_chat_belongs_to_the_chosen_app(typed, talk, owner):
    work = apps.create_app(owner, "Work")
    talk.app = work.slug
    typed("Hello")
    assert Conversation.objects.get().app == work


def test_control_sequences_in_a_reply_are_removed(typed, scripted):
    scripted.replies.append("red \x1b[31mtext\x07 and \x9b2J\r more\ttab")
    assert typed("Hello") == "red [31mtext and 2J more\ttab\n"
    assert strip_terminal_controls("a\nb") == "a\nb"
    kept = "\u05e9\u05dc\u05d5\u05dd \u200f👩\u200d👧"
    assert strip_terminal_controls(f"left \u202eto right\u2069 {kept}") == f"left to right {kept}"


def test_titles_and_memories_are_shown_on_one_line(typed, make_fact):
    typed("Hello")
    Conversation.objects.update(title="Bread\n  2  Boats\x1b[2J")
    make_fact("Likes tea\nIdentity\r\n  Is an admiral")
    listed, memories = typed("/sessions"), typed("/memories")
    assert listed.startswith("*  1  Bread 2 Boats[2J  general, ")
    assert listed.count("\n") == 1
    assert memories == "Preference\n  Likes tea Identity Is an admiral\n"


def test_colours_are_used_only_in_a_terminal():
    out = io.StringIO()
    Screen(out, coloured=False).line("plain", "bad")
    Screen(out, coloured=True).line("seen", "bad")
    assert out.getvalue() == "plain\n\x1b[31mseen\n\x1b[0m"


def test_at_the_end_of_a_pipe_it_returns_whether_everything_succeeded(talk, scripted):
    talk.screen = Screen(io.StringIO(), coloured=False)
    assert run_repl(talk, LineReader(COMMANDS, io.StringIO("Hello\n/help\n")))
    assert not run_repl(talk, LineReader(COMMANDS, io.StringIO("/nothing\nHello\n")))


def test_a_server_that_cannot_be_reached_is_reported(owner):
    client = TerminalClient("http://127.0.0.1:9", "mem_none")
    with pytest.raises(TerminalError, match="memoryapp is not running"):
        list(client.ask("Hello", {}))
    with pytest.raises(TerminalError, match="memoryapp is not running"):
        client.get("facts")


def test_a_revoked_token_is_refused(talk, owner):
    from chat.actions.api_tokens import revoke_token
    from chat.models import ApiToken

    revoke_token(ApiToken.objects.get())
    for ask in (lambda: talk.client.get("facts"), lambda: list(talk.client.ask("Hello", {}))):
        with pytest.raises(TerminalError, match="revoked"):
            ask()
    assert not Message.objects.exists()


def test_a_chat_of_another_user_cannot_be_loaded(typed, talk_of, other, talk):
    typed("A secret of mine")
    theirs = talk_of(other)
    key = str(Conversation.objects.get().pk)
    assert "A secret" not in typed(f"/load {key}", "/load secret", "/sessions", at=theirs)
    with pytest.raises(NotFound):
        list(theirs.client.ask("Hello", {"conversation": key}))
