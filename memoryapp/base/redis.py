"""Connections to Redis, where REDIS_URL names one: with short timeouts, and pauses while it does not answer.

Nobody waits long for Redis: what it does not do within `TIMEOUT_SECONDS` counts as failed, and for
`PAUSE_SECONDS` after that nobody asks it.
"""

from __future__ import annotations

import logging
import ssl
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from django.conf import settings

if TYPE_CHECKING:
    from redis import Redis

logger = logging.getLogger(__name__)
T = TypeVar("T")

TIMEOUT_SECONDS = 1.0
PAUSE_SECONDS = 1.0


def is_configured() -> bool:
    """Return whether this process uses Redis."""
    return bool(settings.REDIS_URL)


def name_key(*parts: str) -> str:
    """Return the name of a key or channel of this installation."""
    return ":".join((settings.REDIS_PREFIX, *parts))


def connect(url: str = "", timeout: float = TIMEOUT_SECONDS) -> Redis:
    """Return a client, by default of REDIS_URL; it connects when it is used. `timeout` in seconds.

    It never tries a command again by itself: its callers do, and know that something may be missing.
    """
    from redis import Redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    return Redis.from_url(
        url or settings.REDIS_URL,
        decode_responses=True,
        socket_timeout=timeout,
        socket_connect_timeout=min(timeout, TIMEOUT_SECONDS),
        socket_keepalive=True,
        retry=Retry(NoBackoff(), 0),
    )


def list_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that a failing Redis raises."""
    from redis import RedisError

    return (RedisError, OSError)


def check_redis() -> str:
    """Return what is wrong with the Redis of REDIS_URL as a sentence, "" where it answers or is not used.

    Takes `TIMEOUT_SECONDS` at most for connecting and the same for the answer.
    """
    if not is_configured():
        return ""
    try:
        with connect() as client:
            client.ping()
    except ImportError:
        return "The package for Redis is not installed; `manage.py start` installs it where REDIS_URL is set."
    except list_errors() as error:
        return f"Redis does not answer: {_describe(error)}."
    return ""


def _describe(error: BaseException) -> str:
    """Return what went wrong, without the address; the errors of TLS are inside that of the package."""
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, ssl.SSLCertVerificationError):
            return (
                f"its certificate is not accepted ({inner.verify_message}). Name the file of your own "
                "authority in REDIS_URL, by ?ssl_ca_certs=/path/of/authority.pem"
            )
        if isinstance(inner, FileNotFoundError):
            return "a file that REDIS_URL names does not exist"
        inner = inner.__cause__ or inner.__context__
    return type(error).__name__


class Availability:
    """Whether Redis answers, as one user of it sees it; an outage is logged once. From any thread."""

    def __init__(self, used_for: str) -> None:
        self._used_for = used_for
        self._lock = threading.Lock()
        self._failed_monotonic: float | None = None

    @property
    def is_down(self) -> bool:
        """Return whether the last attempt failed."""
        return self._failed_monotonic is not None

    def may_try(self) -> bool:
        """Return whether it is time to ask Redis; after a failure one caller in `PAUSE_SECONDS` may."""
        with self._lock:
            if self._failed_monotonic is None:
                return True
            if time.monotonic() - self._failed_monotonic < PAUSE_SECONDS:
                return False
            self._failed_monotonic = time.monotonic()
            return True

    def note_failure(self, error: Exception) -> None:
        """Note that Redis has failed; without its text, which may contain the address."""
        with self._lock:
            is_new = self._failed_monotonic is None
            self._failed_monotonic = time.monotonic()
        if is_new:
            logger.warning("Redis does not answer (%s): %s", type(error).__name__, self._used_for)

    def note_success(self) -> bool:
        """Note that Redis has answered; return whether an outage ends by that."""
        with self._lock:
            was_down, self._failed_monotonic = self.is_down, None
        if was_down:
            logger.warning("Redis answers again: %s", self._used_for)
        return was_down

    def ask(self, call: Callable[[], T], otherwise: Callable[[], T]) -> T:
        """Return what `call` returns; what `otherwise` returns where Redis fails or has failed just now."""
        if not self.may_try():
            return otherwise()
        try:
            found = call()
        except list_errors() as error:
            self.note_failure(error)
            return otherwise()
        self.note_success()
        return found
