"""Output to a terminal, and reading lines with editing. Without a terminal: plain text without colours."""

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

from chat.commands import SlashCommand
from chat.text import replace_lone_surrogates, strip_terminal_controls

_STYLES = {"faint": "2", "name": "1;33", "bad": "31", "bold": "1"}


class Screen:
    """Writes to a terminal or a pipe. `coloured` says whether to use escape sequences."""

    def __init__(self, out: IO[str], *, coloured: bool) -> None:
        self._out = out
        self.coloured = coloured

    def write(self, text: str, style: str = "") -> None:
        """Write a text and flush."""
        self._out.write(self.styled(strip_terminal_controls(text), style))
        self._out.flush()

    def line(self, text: str = "", style: str = "") -> None:
        """Write a line and flush."""
        self.write(f"{text}\n", style)

    def erase_line(self) -> None:
        """Erase the current line of a terminal; does nothing without colours."""
        if self.coloured:
            self._out.write("\r\x1b[K")
            self._out.flush()

    def styled(self, text: str, style: str) -> str:
        """Return the text with the escape sequences of a style, or unchanged without colours."""
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if style and self.coloured else text


def wants_colours(out: IO[str]) -> bool:
    """Return whether to use colours: a terminal, without NO_COLOR (https://no-color.org) and TERM=dumb."""
    return out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class LineReader:
    """Reads lines: from a terminal with editing, history and completion of commands, else from a pipe."""

    def __init__(self, commands: Sequence[SlashCommand], source: IO[str] = sys.stdin) -> None:
        self._source = source
        self._session: PromptSession[str] | None = None
        if source.isatty() and sys.stdout.isatty():
            self._session = PromptSession(
                completer=_Commands(commands), complete_while_typing=True, key_bindings=_without_mouse()
            )
        elif isinstance(source, TextIOWrapper):
            # Invalid bytes are replaced, so that the other lines can be read.
            source.reconfigure(errors="replace")

    @property
    def is_interactive(self) -> bool:
        """Whether a user types the lines."""
        return self._session is not None

    def read(self, prompt: str) -> str:
        """Return the next line. Raises EOFError at the end and KeyboardInterrupt for Ctrl-C."""
        if self._session is not None:
            return replace_lone_surrogates(self._session.prompt(prompt))
        line = self._source.readline()
        if not line:
            raise EOFError
        return replace_lone_surrogates(line)


def _without_mouse() -> KeyBindings:
    """Return key bindings that ignore mouse events.

    prompt_toolkit takes "\x1b[31m" in pasted text for a click and fails with a traceback.
    """
    bindings = KeyBindings()
    bindings.add(Keys.Vt100MouseEvent, eager=True)(lambda event: None)
    return bindings


class _Commands(Completer):
    """Completes the name of a slash command."""

    def __init__(self, commands: Sequence[SlashCommand]) -> None:
        self._commands = commands

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Any]:
        """Yield the commands that begin with the typed text."""
        typed = document.text_before_cursor
        if not typed.startswith("/") or " " in typed:
            return
        for command in self._commands:
            if command.name.startswith(typed[1:]):
                yield Completion(f"/{command.name}", -len(typed), display_meta=command.at_terminal)
