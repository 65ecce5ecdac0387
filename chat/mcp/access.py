"""Finds the running server and the API token for it."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from memoryapp.base import env
from memoryapp.base.locking import read_lock_holder
from memoryapp.base.passphrase import is_encrypted

NOT_RUNNING = (
    "memoryapp is not running, so its memories cannot be reached. "
    "Ask the user to start it (python3 manage.py start), then try again."
)
REVOKED = (
    "memoryapp does not accept this token: it is unknown there, or it was revoked. Ask the user to make one "
    "under “Programs” in memoryapp's settings, and to give it to this tool as MEMORYAPP_TOKEN."
)
ENCRYPTED = (
    "The user's data is encrypted, so a token cannot be made without asking. Ask the user to make one under "
    "“Programs” in memoryapp's settings, and to give it to this tool as MEMORYAPP_TOKEN."
)
LOGIN = (
    "This memoryapp asks everybody to log in, so it wants a token. Ask the user to make one under “Programs” "
    "in its settings, and to give it to this tool as MEMORYAPP_TOKEN."
)
_UNREADABLE = "memoryapp's data folder {} cannot be read: {}. Ask the user to look at it."
# Name of the created token on the settings page.
NAME = "MCP"


class NoAccess(Exception):
    """The memories cannot be reached now; the message is a sentence for the assistant and its user."""


class Access:
    """The server's address and token: those that were given, else what this machine provides.

    In local mode whoever can read the data folder is the owner, and the database is in that folder. So a
    token is created in the database instead of asking the user for one. The settings page shows it, and a
    revoked one is not created again.
    """

    def __init__(self, url: str, token: str) -> None:
        self._url = url.rstrip("/")
        self._given = token
        self._made = ""

    @property
    def has_token(self) -> bool:
        """Whether `token` returns without creating one."""
        return bool(self._given or self._made)

    @property
    def is_remote(self) -> bool:
        """Whether the server is on another machine."""
        host = urlsplit(self._url).hostname or "localhost"
        try:
            return not ip_address(host).is_loopback
        except ValueError:
            return host != "localhost"

    def address(self) -> str:
        """Return the server's address without a trailing slash; it can be different after a restart.

        Reads a file. Raises NoAccess where no server runs or the file cannot be read.
        """
        if self._url:
            return self._url
        found = _find_server()
        if found is None:
            raise NoAccess(NOT_RUNNING)
        return found.rstrip("/")

    def token(self) -> str:
        """Return the token. Without a given token, the first call loads Django and writes to the database, so
        call it in a worker thread.

        Raises NoAccess where this machine's token was revoked.
        """
        if self._given or self._made:
            return self._given or self._made
        self._made = _create_token()
        return self._made

    def drop_refused_token(self) -> bool:
        """Drop the token after the server refused it; return whether a retry may help.

        A retry may help for a token that this machine created: it is created again, or NoAccess says that it
        was revoked.
        """
        made, self._made = self._made, ""
        return bool(made) and not self._given


def _find_server() -> str | None:
    """Return the address of the server that holds this machine's engine lock, None where there is none."""
    path = env.engine_lock_path()
    try:
        found = read_lock_holder(path)
    except OSError as error:
        raise NoAccess(_UNREADABLE.format(path.parent, error.strerror)) from error
    return found if found.startswith("http") else None


def _create_token() -> str:
    if is_encrypted(env.data_path()):
        raise NoAccess(ENCRYPTED)
    import django
    from django.db import DatabaseError, connection

    django.setup()
    from chat.actions.api_tokens import ensure_shared_token
    from chat.actions.owners import local_owner
    from chat.errors import Refused
    from chat.models import Scope

    try:
        return ensure_shared_token(
            local_owner(), NAME, [Scope.READ_CHATS, Scope.READ_MEMORY, Scope.WRITE_MEMORY]
        )
    except Refused as reason:
        raise NoAccess(f"{reason} {REVOKED}") from reason
    except DatabaseError as error:
        raise NoAccess("memoryapp's database cannot be used now, so no token could be made.") from error
    finally:
        connection.close()
