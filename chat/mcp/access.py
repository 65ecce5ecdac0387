"""Where the running server is, and with which token to ask it."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from memoryapp import env
from memoryapp.locking import holder

NOT_RUNNING = (
    "memoryapp is not running, so its memories cannot be reached. "
    "Ask the user to start it (python3 manage.py start), then try again."
)
REVOKED = (
    "memoryapp does not accept this token: it is unknown there, or it was revoked. Ask the user to make one "
    "under “Programs” in memoryapp's settings, and to give it to this tool as MEMORYAPP_TOKEN."
)
LOGIN = (
    "This memoryapp asks everybody to log in, so it wants a token. Ask the user to make one under “Programs” "
    "in its settings, and to give it to this tool as MEMORYAPP_TOKEN."
)
_SHUT = "memoryapp's data folder {} cannot be read: {}. Ask the user to look at it."
# What the shared token is called in the settings.
NAME = "MCP"


class NoAccess(Exception):
    """There is no way to the memories now; the message is a sentence for the assistant and its user."""


class Access:
    """An address and a token: those that were given, else what this machine says itself.

    In local mode whoever can read the data folder is its owner (design §10), and the database lies there. So
    a token is made in it rather than asked for; the settings show it, and revoking it there is respected.
    """

    def __init__(self, url: str, token: str) -> None:
        self._url = url.rstrip("/")
        self._given = token
        self._made = ""

    @property
    def has_token(self) -> bool:
        """Whether `token` has nothing to make."""
        return bool(self._given or self._made)

    @property
    def elsewhere(self) -> bool:
        """Whether the server is on another machine than this."""
        host = urlsplit(self._url).hostname or "localhost"
        try:
            return not ip_address(host).is_loopback
        except ValueError:
            return host != "localhost"

    def address(self) -> str:
        """Return where the server is now, without a slash at its end; it may be another place each time.

        Reads a file. Raises NoAccess where no server runs, or nobody can say.
        """
        if self._url:
            return self._url
        found = _running()
        if found is None:
            raise NoAccess(NOT_RUNNING)
        return found.rstrip("/")

    def token(self) -> str:
        """Return the token; the first call without a given one loads Django and writes to the database.

        Raises NoAccess where the token that this machine made was revoked. Call it in a thread.
        """
        if self._given or self._made:
            return self._given or self._made
        self._made = _own_token()
        return self._made

    def refused(self) -> bool:
        """Take note that the server did not accept the token; returns whether another try may help.

        That is with a token that this machine made: the next try makes it again, or says that it was revoked.
        """
        made, self._made = self._made, ""
        return bool(made) and not self._given


def _running() -> str | None:
    """Return the address of the server that holds this machine's engine."""
    path = env.engine_lock_path()
    try:
        found = holder(path)
    except OSError as error:
        raise NoAccess(_SHUT.format(path.parent, error.strerror)) from error
    return found if found.startswith("http") else None


def _own_token() -> str:
    import django
    from django.db import DatabaseError, connection

    django.setup()
    from chat.actions.messages import Refused
    from chat.actions.owners import local_owner
    from chat.actions.tokens import own_token

    try:
        return own_token(local_owner(), NAME)
    except Refused as reason:
        raise NoAccess(f"{reason} {REVOKED}") from reason
    except DatabaseError as error:
        raise NoAccess("memoryapp's database cannot be used now, so no token could be made.") from error
    finally:
        connection.close()
