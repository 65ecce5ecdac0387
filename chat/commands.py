"""Slash commands: one table and one parser for the page and the terminal."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils.translation import gettext_lazy as lazy

from chat.errors import UnknownCommand

# A word of letters, alone or before a space: "/etc/hosts what is this" is a message.
_COMMAND = re.compile(r"/([^\W\d_]+)(?:\s+(.*))?", re.S)
_MAX_DIGITS = 3  # of a place in the list of chats; a longer number is a word to search for


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A command, what it does, and what text it takes ("" for none).

    `does_at_terminal` replaces `does` where the terminal has no search box or no keyboard shortcuts.
    """

    name: str
    does: Any
    takes: Any = ""
    does_at_terminal: Any = ""

    @property
    def at_terminal(self) -> str:
        """Return what the command does in the terminal."""
        return str(self.does_at_terminal or self.does)


COMMANDS = (
    SlashCommand("new", lazy("Begin a new chat")),
    SlashCommand("temporary", lazy("Begin a chat that is not kept")),
    SlashCommand("memories", lazy("See what is remembered")),
    SlashCommand("remember", lazy("Remember this"), lazy("something about you")),
    SlashCommand("unlearn", lazy("Forget a memory"), lazy("what to forget")),
    SlashCommand("clear", lazy("Hide the messages so far from the model")),
    SlashCommand("restore", lazy("Show the model again what /clear hid")),
    SlashCommand("history", lazy("Show this chat from its beginning")),
    SlashCommand("forget", lazy("Delete this chat, with undo")),
    SlashCommand("sessions", lazy("Search your chats"), does_at_terminal=lazy("List your last chats")),
    SlashCommand("load", lazy("Open another chat"), lazy("number, id or words")),
    SlashCommand("save", lazy("Keep this temporary chat")),
    SlashCommand("undo", lazy("Undo the last deletion")),
    SlashCommand("help", lazy("Keyboard shortcuts"), does_at_terminal=lazy("List these commands")),
)
_BY_NAME = {command.name: command for command in COMMANDS}


def parse(text: str) -> tuple[str, str] | None:
    """Return name and text of a command, None for a message; raises UnknownCommand.

    A space before the slash makes any text a message.
    """
    found = _COMMAND.fullmatch(text.rstrip())
    if found is None:
        return None
    name, rest = found[1].lower(), (found[2] or "").strip()
    if (command := _BY_NAME.get(name)) is None:
        raise UnknownCommand("command-unknown", name=name)
    if command.takes and not rest:
        raise UnknownCommand("command-needs-text", name=name, what=str(command.takes))
    if rest and not command.takes:
        # Otherwise "/forget my old address" would delete the chat, and "/new ideas" would lose its text.
        raise UnknownCommand("command-takes-no-text", name=name)
    return name, rest


def parse_chat_place(text: str) -> int:
    """Return the place in the list of chats that `/load` was given, from 1 on; 0 for other texts."""
    # isdecimal() and not isdigit(): the latter accepts "²", which int() does not.
    return int(text) if text.isdecimal() and len(text) <= _MAX_DIGITS else 0


def parse_chat_id(text: str) -> UUID | None:
    """Return the id that `/load` was given, None for other texts."""
    try:
        return UUID(text)
    except ValueError:
        return None
