"""What a terminal shows and how a line is read; without a terminal, plain text and no colours."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from io import TextIOWrapper
from typing import IO, Any

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.keys import Keys

from chat.commands import Command
from chat.porting.storable import whole

from .harmless import harmless

_STYLES = {"faint": "2", "name": "1;33", "bad": "31", "bold": "1"}


class Screen:
    """Writes to a terminal or into a pipe; `coloured` where somebody sees it."""

    def __init__(self, out: IO[str], *, coloured: bool) -> None:
        self._out = out
        self.coloured = coloured

    def write(self, text: str, style: str = "") -> None:
        """Write a piece of text at once."""
        self._out.write(self.styled(harmless(text), style))
        self._out.flush()

    def line(self, text: str = "", style: str = "") -> None:
        """Write a line."""
        self.write(f"{text}\n", style)

    def erase_line(self) -> None:
        """Take back a line that was not ended; nothing in a pipe."""
        if self.coloured:
            self._out.write("\r\x1b[K")
            self._out.flush()

    def styled(self, text: str, style: str) -> str:
        """Return a text in a style, or as it is where nobody would see that."""
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if style and self.coloured else text


def is_coloured(out: IO[str]) -> bool:
    """Return whether colours are seen and wanted (https://no-color.org)."""
    return out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class Lines:
    """Reads what is typed, with editing, earlier lines and the commands to choose from; or a pipe's lines."""

    def __init__(self, commands: Sequence[Command], source: IO[str] = sys.stdin) -> None:
        self._source = source
        self._session: PromptSession[str] | None = None
        if source.isatty() and sys.stdout.isatty():
            self._session = PromptSession(
                completer=_Commands(commands), complete_while_typing=True, key_bindings=_without_mouse()
            )
        elif isinstance(source, TextIOWrapper):
            # A byte that is no letter makes its line a little wrong, and not all of them unreadable.
            source.reconfigure(errors="replace")

    @property
    def by_hand(self) -> bool:
        """Whether somebody types."""
        return self._session is not None

    def read(self, prompt: str) -> str:
        """Return the next line; raises EOFError at the end, KeyboardInterrupt where it was broken off."""
        if self._session is not None:
            return whole(self._session.prompt(prompt))
        line = self._source.readline()
        if not line:
            raise EOFError
        return whole(line)


def _without_mouse() -> KeyBindings:
    """Return bindings that pass over what looks like a mouse: nobody asked for one, it is a text with orders.

    The package takes "\\x1b[31m" in such a text for a click, and shows a traceback.
    """
    bindings = KeyBindings()
    bindings.add(Keys.Vt100MouseEvent, eager=True)(lambda event: None)
    return bindings


class _Commands(Completer):
    """Offers the commands while the first word is being typed."""

    def __init__(self, commands: Sequence[Command]) -> None:
        self._commands = commands

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Any]:
        """Return what the word may become."""
        typed = document.text_before_cursor
        if not typed.startswith("/") or " " in typed:
            return
        for command in self._commands:
            if command.name.startswith(typed[1:]):
                yield Completion(f"/{command.name}", -len(typed), display_meta=command.at_terminal)
