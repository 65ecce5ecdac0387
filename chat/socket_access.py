"""Closes open sockets whose login has ended: by logout, revocation of the token, deactivation or their end.

Access is checked when a socket opens. After that one task of each event loop asks the database once a second
for all open sockets together, so that it finds every cause, also one in another process.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from channels.db import DatabaseSyncToAsync
from django.contrib.auth import HASH_SESSION_KEY
from django.contrib.sessions.models import Session
from django.db.models import Q
from django.utils import timezone

from chat.models import ApiToken, User

logger = logging.getLogger(__name__)
T = TypeVar("T")

CHECK_SECONDS = 0.8
# The close of a socket waits until its peer has read what was sent before.
CLOSE_SECONDS = 0.5
# SQLite accepts 999 parameters everywhere.
_AT_ONCE = 900
_threads = ThreadPoolExecutor(1, "socket-access")


@dataclass(frozen=True, slots=True)
class Login:
    """What let a socket in: the user, and the login session or the token; local mode has neither."""

    user: int
    session: str = ""
    token: str = ""


class AccessWatch:
    """The open sockets of one event loop, each with its login and the function that closes it."""

    def __init__(self) -> None:
        self._sockets: dict[object, tuple[Login, Callable[[], Awaitable[object]]]] = {}
        self._task: asyncio.Task[None] | None = None

    def add(self, socket: object, login: Login, close: Callable[[], Awaitable[object]]) -> None:
        """Watch a socket; call it in the event loop."""
        if not login.session and not login.token:
            return
        self._sockets[socket] = login, close
        if self._task is None or self._task.done() or self._task.get_loop() is not asyncio.get_running_loop():
            self._task = asyncio.create_task(self._watch())

    def discard(self, socket: object) -> None:
        """Stop watching a socket."""
        self._sockets.pop(socket, None)

    async def _watch(self) -> None:
        find = DatabaseSyncToAsync(find_ended_logins, thread_sensitive=False, executor=_threads)
        while self._sockets:
            await asyncio.sleep(CHECK_SECONDS)
            open_sockets = dict(self._sockets)
            try:
                ended = await find({login for login, _ in open_sockets.values()})
            except Exception:
                logger.warning("the logins of open pages could not be checked", exc_info=True)
                continue
            over = [socket for socket, (login, _) in open_sockets.items() if login in ended]
            await asyncio.gather(*(self._close(socket, open_sockets[socket][1]) for socket in over))

    async def _close(self, socket: object, close: Callable[[], Awaitable[object]]) -> None:
        """Close a socket. One whose peer reads nothing at the moment stays among those to be closed."""
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await close()
        except TimeoutError:
            return
        except Exception:
            logger.debug("a socket was closed already", exc_info=True)
        self.discard(socket)


watch = AccessWatch()


def find_ended_logins(logins: Iterable[Login]) -> set[Login]:
    """Return those logins that would not be let in now."""
    logins = set(logins)
    now = timezone.now()
    users = {
        user.pk: user
        for keys in _chunks({login.user for login in logins})
        for user in User.objects.filter(pk__in=keys, is_active=True)
    }
    sessions = {
        session.session_key: session
        for keys in _chunks({login.session for login in logins if login.session})
        for session in Session.objects.filter(pk__in=keys, expire_date__gt=now)
    }
    tokens = {
        str(key)
        for keys in _chunks({login.token for login in logins if login.token})
        for key in ApiToken.objects.filter(
            Q(expires_at=None) | Q(expires_at__gt=now), pk__in=keys, revoked_at=None
        ).values_list("pk", flat=True)
    }

    def stands(login: Login) -> bool:
        user = users.get(login.user)
        if user is None or (login.token and login.token not in tokens):
            return False
        return not login.session or _is_session_of(sessions.get(login.session), user)

    return {login for login in logins if not stands(login)}


def _is_session_of(session: Session | None, user: User) -> bool:
    """Return whether a login session is still valid for its user: a new password ends all other ones."""
    if session is None:
        return False
    stored: Any = session.get_decoded().get(HASH_SESSION_KEY)
    return bool(stored == user.get_session_auth_hash())


def _chunks(keys: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(keys)
    while chunk := list(islice(rest, _AT_ONCE)):
        yield chunk
