"""`manage.py createowner`: makes the first admin account of server mode in the terminal."""

from __future__ import annotations

import getpass
import os
import sys
from argparse import ArgumentParser
from typing import Any

from allauth.account.adapter import get_adapter
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from chat.actions import first_account
from chat.actions.owners import LOCAL_NAME, is_local
from chat.errors import Refused

_LONGEST = 4096  # bytes of a password


class Command(BaseCommand):
    """Create the first admin account of server mode."""

    help = "Make the first admin account of server mode. Further people are invited on the page People."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="the name to log in with")
        parser.add_argument(
            "--adopt",
            action="store_true",
            help="give the chats and memories of local mode to this account",
        )
        parser.add_argument(
            "--password-fd", metavar="N", type=int, help="read the password from this descriptor"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        name, adopt = options["name"], options["adopt"]
        if is_local():
            raise CommandError(
                "In local mode nobody logs in. Set MODE=server and ALLOWED_HOSTS, as for the server."
            )
        if not first_account.is_first_account_missing():
            raise CommandError("There is an admin account already. Its owner can invite others.")
        data = first_account.find_local_data()
        if adopt and data is None:
            raise CommandError(
                "There are no chats and memories of local mode to take over. Leave --adopt out."
            )
        _check_name(name, adopt)
        if data is not None:
            found = f"the chats ({data.conversations}) and memories ({data.memories})"
            self.stdout.write(_describe_adoption(name, found) if adopt else _describe_leaving(found))
        password = _read_password(options["password_fd"], name)
        try:
            first_account.create_first_admin(name, make_password(password), adopt=adopt)
        except Refused as problem:
            raise CommandError(str(problem)) from problem
        self.stdout.write(f"{name} can log in now, as an admin.")


def _describe_adoption(name: str, found: str) -> str:
    return (
        f"{name} takes over {found} of local mode, with the settings and the tokens of programs. Local mode "
        f"goes on with this account as long as it is the only one. When there are others, local mode begins "
        "with an empty account, since it cannot ask who you are."
    )


def _describe_leaving(found: str) -> str:
    return (
        f"{found.capitalize()} of local mode stay where they are: only local mode shows them. To give them "
        "to the new account, stop now with Ctrl-C and add --adopt: later it is not possible."
    )


def _check_name(name: str, adopt: bool) -> None:
    """Raise CommandError for a name that cannot be chosen; that of local mode can be kept with its data."""
    try:
        User.username.field.run_validators(name)
        if not (adopt and name == LOCAL_NAME):
            get_adapter().clean_username(name)
    except ValidationError as problem:
        raise CommandError(f"{name}: {' '.join(problem.messages)}") from problem


def _read_password(descriptor: int | None, name: str) -> str:
    if descriptor is not None:
        password = _read_descriptor(descriptor)
    elif sys.stdin.isatty():
        password = getpass.getpass("Password: ")
        if getpass.getpass("The password again: ") != password:
            raise CommandError("The two passwords differ. Nothing was made.")
    else:
        raise CommandError("There is no terminal to ask for a password. Use --password-fd N.")
    try:
        get_adapter().clean_password(password, user=User(username=name))
    except ValidationError as problem:
        raise CommandError(" ".join(problem.messages)) from problem
    return password


def _read_descriptor(descriptor: int) -> str:
    try:
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(_LONGEST).decode().removesuffix("\n").removesuffix("\r")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"No password can be read from descriptor {descriptor}.") from error
