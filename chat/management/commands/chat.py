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
from chat.management.people import owner_named
from chat.terminal.client import Client, Gone, Said
from chat.terminal.commands import Talk, obey
from chat.terminal.harmless import harmless
from chat.terminal.reaching import found, headers, server, token
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
        parser.add_argument("--owner", default="", help="whose chats, on a server with several people")

    def handle(self, *args: Any, **options: Any) -> None:
        # A window that is closed, or a line that is lost, ends this as Ctrl-D does, and nothing is left.
        for number in {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:
            signal.signal(number, _end)
        screen = Screen(sys.stdout, coloured=is_coloured(sys.stdout) and not options["no_color"])
        with server(options["model"]) as address:
            owner = owner_named(options["owner"])
            if language := settings_of(owner.pk).language:
                translation.activate(language)
            with token(owner) as secret:
                client = Client(address, secret, find=found, headers=headers())
                try:
                    well = self._chat(Talk(client, screen, options["app"]), options["conversation"])
                except Said as reason:
                    raise CommandError(harmless(str(reason))) from reason
                finally:
                    client.close()
        if not well:
            raise SystemExit(1)

    def _chat(self, talk: Talk, conversation: str) -> bool:
        if talk.app:
            # Before anything is said: a slip of the pen would be seen with the first message only.
            try:
                talk.client.get(f"apps/{quote(talk.app, safe='')}")
            except Gone as reason:
                raise Said(_("There is no app “%s”.") % talk.app) from reason
        lines = Lines(COMMANDS)
        if lines.by_hand:
            model = talk.client.model() or _("no model")
            talk.screen.line(_("%s. /help lists the commands, Ctrl-D ends.") % model, "faint")
        if conversation:
            obey(talk, "load", conversation)
        try:
            well = talk_until_end(talk, lines)
        finally:
            # However this ends, a temporary chat ends with it; where the server is gone, by itself.
            with suppress(Said):
                talk.leave()
        return well or lines.by_hand


def _end(_number: int, _frame: Any) -> None:
    raise SystemExit(1)
