"""At the terminal: a line is a message, its reply comes as it is written, chats are those of the browser."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest

from chat.actions import apps
from chat.commands import COMMANDS
from chat.llm.types import ProviderError
from chat.models import Conversation, Message
from chat.porting.storable import whole
from chat.terminal.client import Client, Gone, Said
from chat.terminal.harmless import harmless
from chat.terminal.screen import Lines, Screen
from chat.terminal.talking import talk_until_end


def test_each_line_is_a_message_of_one_chat_with_its_reply(typed, scripted):
    scripted.replies.extend(["The first.", "The second."])
    assert typed("One", "", "Two") == "The first.\nThe second.\n"
    chat = Conversation.objects.get()
    assert [m.content for m in Message.objects.filter(conversation=chat).order_by("seq")] == [
        *("One", "The first."),
        *("Two", "The second."),
    ]
    assert (chat.title, chat.temporary, chat.memory_mode) == ("One", False, "on")


def test_a_reply_that_fails_says_why_and_the_next_line_goes_on(typed, scripted, talk):
    scripted.replies.extend([ProviderError("The server is away."), "Here again."])
    assert typed("One", "Two") == "The server is away.\nHere again.\n"


def test_what_goes_wrong_after_half_a_reply_stands_on_a_line_of_its_own(typed, talk):
    def half(text: str, where: dict[str, str]) -> Iterator[tuple[str, str]]:
        yield "1", "Half of"
        raise Said("The server is away.")

    talk.client.ask = half
    assert typed("Hello") == "Half of\nThe server is away.\n"


def test_a_line_with_a_byte_that_is_no_letter_is_read_all_the_same(talk):
    source = io.TextIOWrapper(io.BytesIO(b"caf\xe9\nHello\n"), encoding="utf-8")
    talk_until_end(talk, Lines(COMMANDS, source))
    asked = Message.objects.filter(role="user").order_by("created_at")
    assert [one.content for one in asked] == ["caf\ufffd", "Hello"]


def test_half_of_a_letter_that_a_terminal_gives_is_sent_as_a_mark():
    assert whole("caf\udce9 \ud800!") == "caf\ufffd \ufffd!"


class TestBreakingOff:
    """Ctrl-C ends what is done just now for who types, and everything for who pipes."""

    class ByHand:
        """Somebody who types these lines."""

        by_hand = True

        def __init__(self, *lines: str) -> None:
            self._lines = list(lines)

        def read(self, prompt: str) -> str:
            if not self._lines:
                raise EOFError
            return self._lines.pop(0)

    def test_while_a_reply_is_written(self, talk):
        def broken(text: str, where: dict[str, str]) -> Iterator[tuple[str, str]]:
            yield "1", "Half of"
            raise KeyboardInterrupt

        talk.client.ask = broken
        assert talk_until_end(talk, self.ByHand("Hello", "/new"))
        assert talk.screen._out.getvalue() == "Half of\nStopped.\nA new chat.\n"
        with pytest.raises(KeyboardInterrupt):
            talk_until_end(talk, Lines(COMMANDS, io.StringIO("Hello\nMore\n")))
        assert talk.screen._out.getvalue().endswith("Half of\nStopped.\n")

    def test_while_the_terminal_asks_what_was_learned(self, talk, monkeypatch):
        asked: list[str] = []

        def broken(path: str) -> list[Any]:
            asked.append(path)
            if len(asked) == 2:
                raise KeyboardInterrupt
            return []

        monkeypatch.setattr(talk, "everything", broken)
        assert talk_until_end(talk, self.ByHand("/help", "/new"))
        assert talk.screen._out.getvalue().endswith("Stopped.\nA new chat.\n")

    def test_what_is_known_is_not_told_as_new_where_nobody_could_say_it_before(
        self, talk, monkeypatch, make_fact
    ):
        make_fact("Likes rye bread")
        real = talk.everything

        def away(path: str) -> list[Any]:
            monkeypatch.setattr(talk, "everything", real)
            raise Said("away")

        monkeypatch.setattr(talk, "everything", away)
        talk_until_end(talk, self.ByHand("/new", "/remember I like tea", "/new"))
        assert "Likes rye bread" not in talk.screen._out.getvalue()


def test_a_chat_belongs_to_the_app_that_was_asked_for(typed, talk, owner):
    work = apps.create(owner, "Work")
    talk.app = work.slug
    typed("Hello")
    assert Conversation.objects.get().app == work


def test_a_models_words_cannot_give_the_terminal_orders(typed, scripted):
    scripted.replies.append("red \x1b[31mtext\x07 and \x9b2J\r more\ttab")
    assert typed("Hello") == "red [31mtext and 2J more\ttab\n"
    assert harmless("a\nb") == "a\nb"
    kept = "\u05e9\u05dc\u05d5\u05dd \u200f👩\u200d👧"
    assert harmless(f"left \u202eto right\u2069 {kept}") == f"left to right {kept}"


def test_a_title_and_a_memory_are_a_line_each_whatever_they_hold(typed, make_fact):
    typed("Hello")
    Conversation.objects.update(title="Bread\n  2  Boats\x1b[2J")
    make_fact("Likes tea\nIdentity\r\n  Is an admiral")
    listed, memories = typed("/sessions"), typed("/memories")
    assert listed.startswith("*  1  Bread 2 Boats[2J  general, ")
    assert listed.count("\n") == 1
    assert memories == "Preference\n  Likes tea Identity Is an admiral\n"


def test_colours_are_for_eyes_only():
    out = io.StringIO()
    Screen(out, coloured=False).line("plain", "bad")
    Screen(out, coloured=True).line("seen", "bad")
    assert out.getvalue() == "plain\n\x1b[31mseen\n\x1b[0m"


def test_at_the_end_of_a_pipe_it_says_whether_all_went_well(talk, scripted):
    talk.screen = Screen(io.StringIO(), coloured=False)
    assert talk_until_end(talk, Lines(COMMANDS, io.StringIO("Hello\n/help\n")))
    assert not talk_until_end(talk, Lines(COMMANDS, io.StringIO("/nothing\nHello\n")))


def test_a_server_that_is_gone_is_told_in_a_sentence(owner):
    client = Client("http://127.0.0.1:9", "mem_none")
    with pytest.raises(Said, match="memoryapp is not running"):
        list(client.ask("Hello", {}))
    with pytest.raises(Said, match="memoryapp is not running"):
        client.get("facts")


def test_a_revoked_token_opens_nothing(talk, owner):
    from chat.actions.tokens import revoke_token
    from chat.models import ApiToken

    revoke_token(ApiToken.objects.get())
    for ask in (lambda: talk.client.get("facts"), lambda: list(talk.client.ask("Hello", {}))):
        with pytest.raises(Said, match="revoked"):
            ask()
    assert not Message.objects.exists()


def test_nobody_loads_another_users_chat(typed, talk_of, other, talk):
    typed("A secret of mine")
    theirs = talk_of(other)
    key = str(Conversation.objects.get().pk)
    assert "A secret" not in typed(f"/load {key}", "/load secret", "/sessions", at=theirs)
    with pytest.raises(Gone):
        list(theirs.client.ask("Hello", {"conversation": key}))
