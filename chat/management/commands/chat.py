"""`manage.py chat`: the chat in a terminal."""

from __future__ import annotations

import signal
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import translation
from django.utils.translation import gettext as _

from chat.actions.owners import settings_of
from chat.api.setup import owner_of
from chat.commands import COMMANDS
from chat.terminal.client import Client, Said
from chat.terminal.commands import Talk, obey
from chat.terminal.reaching import server, token
from chat.terminal.screen import Lines, Screen, is_coloured
from chat.terminal.talking import talk_until_end


class Command(BaseCommand):
    """Chat here; the running server answers, or one that is started for as long as this lasts."""

    help = (
        "Chat in the terminal, with the same chats and the same memory as in the browser. Lines from a pipe "
        "are messages, each with its reply; /help lists the commands."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--app", default="", help="the app to chat in, by its slug")
        parser.add_argument("--conversation", default="", help="a chat to go on with: its id, or its title")
        parser.add_argument("--model", default="", help="a model of `weights list`, where none runs yet")
        parser.add_argument("--owner", default=None, help="whose chats, on a server with several people")

    def handle(self, *args: Any, **options: Any) -> None:
        # A window that is closed, or a line that is lost, ends this as Ctrl-D does, and nothing is left.
        for number in {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:
            signal.signal(number, _end)
        screen = Screen(sys.stdout, coloured=is_coloured(sys.stdout) and not options["no_color"])
        with server(options["model"]) as address:
            try:
                owner = owner_of(options["owner"])
            except ValueError as reason:
                raise CommandError(str(reason)) from reason
            if language := settings_of(owner.pk).language:
                translation.activate(language)
            with token(owner) as secret:
                client = Client(address, secret)
                try:
                    well = self._chat(Talk(client, screen, options["app"]), options["conversation"])
                except Said as reason:
                    raise CommandError(str(reason)) from reason
                finally:
                    client.close()
        if not well:
            raise SystemExit(1)

    def _chat(self, talk: Talk, conversation: str) -> bool:
        if talk.app:
            # Before anything is said: a slip of the pen would be seen with the first message only.
            talk.client.get(f"apps/{talk.app}")
        lines = Lines(COMMANDS)
        if lines.by_hand:
            model = talk.client.model() or _("no model")
            talk.screen.line(_("%s. /help lists the commands, Ctrl-D ends.") % model, "faint")
        if conversation:
            obey(talk, "load", conversation)
        well = talk_until_end(talk, lines)
        talk.leave()
        return well or lines.by_hand


def _end(_number: int, _frame: Any) -> None:
    raise SystemExit(1)
