"""What a start of the server says while nobody can log in: a link to make the first account."""

from __future__ import annotations

from typing import TextIO

from django.conf import settings
from django.urls import reverse

from chat.actions import first_account
from chat.actions.owners import is_local, local_owner
from chat.errors import Refused
from chat.models import User
from chat.origins import public_url


def print_first_link(out: TextIO, address: str) -> None:
    """Print a new link for the first admin account, where server mode has none; the former link ends.

    A link is written to a terminal only: what is not a terminal may be a log file. `address` is the
    server's own, for a server without a proxy or without a host name in ALLOWED_HOSTS.
    """
    if is_local() or not first_account.is_first_account_missing():
        return
    if not out.isatty():
        out.write("Nobody can log in yet. In a terminal, run: python3 manage.py createowner NAME\n")
        return
    try:
        secret = first_account.make_first_link()
    except Refused:
        return
    path = reverse("first_account", args=[secret]).removeprefix(settings.BASE_PATH)
    link = f"{public_url(address)}{path}"
    out.write(f"Nobody can log in yet. This link makes the first account, once:\n{link}\n")


def describe_other_accounts() -> str:
    """Return what local mode says where the data here belongs to accounts of server mode; "" otherwise."""
    if not is_local():
        return ""
    others = User.objects.exclude(pk=local_owner().pk).count()
    if not others:
        return ""
    return (
        f"Accounts of server mode whose data local mode does not show, since it asks nobody who they are: "
        f"{others}. Start with MODE=server to log in."
    )
