"""The commands that a message can be instead: one table for the page and for a terminal."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

# One word, alone or before a space: "/etc/hosts what is this" is a message.
_COMMAND = re.compile(r"/([^\W\d_]+)(?:\s+(.*))?", re.S)


@dataclass(frozen=True, slots=True)
class Command:
    """A command, what it does in a few words, and what stands after it, "" where nothing does.

    At a terminal, which has no search box and no keys of its own, it may do it in another way.
    """

    name: str
    does: Any
    takes: Any = ""
    does_at_terminal: Any = ""

    @property
    def at_terminal(self) -> str:
        """What it does at a terminal."""
        return str(self.does_at_terminal or self.does)


COMMANDS = (
    Command("new", lazy("Begin a new chat")),
    Command("temporary", lazy("Begin a chat that leaves nothing behind")),
    Command("memories", lazy("See what is remembered")),
    Command("remember", lazy("Remember this"), lazy("something about you")),
    Command("unlearn", lazy("Forget the memory that says this"), lazy("what to forget")),
    Command("clear", lazy("Hide what was said here from the model")),
    Command("history", lazy("Let the model see all of it again")),
    Command("forget", lazy("Delete this chat, with undo")),
    Command("sessions", lazy("Search your chats"), does_at_terminal=lazy("List your last chats")),
    Command("load", lazy("Go on with another chat"), lazy("words from it")),
    Command("save", lazy("Keep this temporary chat")),
    Command("undo", lazy("Take the last deletion back")),
    Command("help", lazy("Keyboard shortcuts"), does_at_terminal=lazy("List these commands")),
)
_NAMED = {command.name: command for command in COMMANDS}


class NoCommand(ValueError):
    """What was typed looks like a command and is none; the text is a sentence for the user."""


def parse(text: str) -> tuple[str, str] | None:
    """Return the command's name and what stands after it, None for a message; raises NoCommand.

    A space before the slash makes a message of anything.
    """
    found = _COMMAND.fullmatch(text.rstrip())
    if found is None:
        return None
    name, rest = found[1].lower(), (found[2] or "").strip()
    if (command := _NAMED.get(name)) is None:
        sentence = _("There is no command /%s. To send it as a message, put a space before it.")
        raise NoCommand(sentence % name)
    if command.takes and not rest:
        raise NoCommand(_("Write after /%(name)s: %(what)s.") % {"name": name, "what": command.takes})
    if rest and not command.takes:
        # "/forget my old address" deletes no chat, and "/new ideas for dinner" loses no words.
        sentence = _("/%s stands alone. To send this as a message, put a space before it.")
        raise NoCommand(sentence % name)
    return name, rest
