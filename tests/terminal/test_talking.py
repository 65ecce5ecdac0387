"""At the terminal: a line is a message, its reply comes as it is written, chats are those of the browser."""

from __future__ import annotations

import io

import pytest

from chat.actions import apps
from chat.commands import COMMANDS
from chat.llm.types import ProviderError
from chat.models import Conversation, Message
from chat.terminal.client import Client, Gone, Said
from chat.terminal.screen import Lines, Screen, harmless
from chat.terminal.talking import talk_until_end
from tests.waiting import until


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


def test_a_chat_belongs_to_the_app_that_was_asked_for(typed, talk, owner):
    work = apps.create(owner, "Work")
    talk.app = work.slug
    typed("Hello")
    assert Conversation.objects.get().app == work


def test_who_breaks_a_reply_off_stops_it(talk, scripted):
    import threading

    scripted.gate = threading.Semaphore(3)
    scripted.replies.append("word " * 300)
    pieces = talk.client.ask("Hello", talk.where())
    for _conversation, piece in pieces:
        if piece:
            break
    pieces.close()
    until(lambda: Message.objects.filter(role="assistant", state="stopped").exists())
    scripted.gate.release(1000)


def test_a_models_words_cannot_give_the_terminal_orders(typed, scripted):
    scripted.replies.append("red \x1b[31mtext\x07 and \x9b2J\r more\ttab")
    assert typed("Hello") == "red [31mtext and 2J more\ttab\n"
    assert harmless("a\nb") == "a\nb"


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
    with pytest.raises(Said, match="memoryapp was closed"):
        list(client.ask("Hello", {}))
    with pytest.raises(Said, match="memoryapp was closed"):
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
