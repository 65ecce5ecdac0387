"""`manage.py chat`: the chat in a terminal."""

from __future__ import annotations

import signal
import sys
from argparse import ArgumentParser
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from django.core.management.base import BaseCommand, CommandError
from django.utils import translation
from django.utils.translation import gettext as _

from chat.actions.owners import settings_of
from chat.commands import COMMANDS
from chat.management.arguments import find_owner
from chat.terminal.client import NotFound, TerminalClient, TerminalError
from chat.terminal.commands import TerminalSession, run_command
from chat.terminal.connect import build_headers, connect_or_start, find_server, issue_token
from chat.terminal.repl import run_repl
from chat.terminal.screen import LineReader, Screen, wants_colours
from chat.text import strip_terminal_controls


class Command(BaseCommand):
    """Chat through the running server, or one that is started for this command."""

    help = (
        "Chat in the terminal, with the same chats and the same memory as in the browser. Lines from a pipe "
        "are messages, each with its reply; /help lists the commands."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--app", default="", help="the app to chat in, by its slug")
        parser.add_argument("--conversation", default="", help="a chat to go on with: its id, or its title")
        parser.add_argument("--model", default="", help="a model of `weights list`, where none runs yet")
        parser.add_argument("--owner", default="", help="whose chats, on a server with several people")

    def handle(self, *args: Any, **options: Any) -> None:
        # A closed window or a lost connection ends the command like Ctrl-D, with all its cleanup.
        for number in {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:
            signal.signal(number, _end)
        screen = Screen(sys.stdout, coloured=wants_colours(sys.stdout) and not options["no_color"])
        with connect_or_start(options["model"]) as address:
            owner = find_owner(options["owner"])
            if language := settings_of(owner.pk).language:
                translation.activate(language)
            with issue_token(owner) as secret:
                client = TerminalClient(address, secret, find=find_server, headers=build_headers())
                try:
                    well = self._chat(
                        TerminalSession(client, screen, options["app"]), options["conversation"]
                    )
                except TerminalError as reason:
                    raise CommandError(strip_terminal_controls(str(reason))) from reason
                finally:
                    client.close()
        if not well:
            raise SystemExit(1)

    def _chat(self, session: TerminalSession, conversation: str) -> bool:
        if session.app:
            # Check the app now: otherwise a typing error would only show with the first message.
            try:
                session.client.get(f"apps/{quote(session.app, safe='')}")
            except NotFound as reason:
                raise TerminalError(_("There is no app “%s”.") % session.app) from reason
        lines = LineReader(COMMANDS)
        if lines.is_interactive:
            model = session.client.model() or _("no model")
            session.screen.line(_("%s. /help lists the commands, Ctrl-D ends.") % model, "faint")
        if conversation:
            run_command(session, "load", conversation)
        try:
            well = run_repl(session, lines)
        finally:
            # A temporary conversation ends with the terminal; where the server is gone, it deletes it itself
            # later.
            with suppress(TerminalError):
                session.leave_conversation()
        return well or lines.is_interactive


def _end(_number: int, _frame: Any) -> None:
    raise SystemExit(1)
