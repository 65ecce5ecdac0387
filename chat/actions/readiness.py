"""Whether this process can serve people: what `/ready` and `manage.py doctor` check."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from chat.actions import installation
from chat.llm.registry import registry
from memoryapp.base.env import BadValue

logger = logging.getLogger(__name__)

# Seconds for which a result counts, so that many requests cost no more than one.
FRESH_SECONDS = 2.0
# Seconds after the start in which a process is not ready before its model is.
CONNECTING_SECONDS = 30.0


class NotReady(Exception):
    """A check failed; the message is a sentence for the operator, and is never shown to a client."""


def check_database() -> None:
    """Raise NotReady unless the database answers and has all tables of this version."""
    try:
        executor = MigrationExecutor(connection)
        missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError as problem:
        raise NotReady(f"the database does not answer: {type(problem).__name__}") from None
    if missing:
        raise NotReady(f"the database lacks {len(missing)} migrations; run manage.py migrate")


def check_secret_key() -> None:
    """Raise NotReady where the database was made with another secret key."""
    if not installation.is_same_secret():
        raise NotReady("this database was made with another secret key; see manage.py secret_key")


def check_model() -> None:
    """Raise NotReady in server mode while the model's servers are connected after the start, for 30 s.

    A reply would wait for them here, and another process may have them already.
    """
    if settings.MODE == "server" and registry.is_first_connecting(CONNECTING_SECONDS):
        raise NotReady("the model's servers are being connected")


# Each raises NotReady. What else a process needs to serve people is added here.
CHECKS: list[Callable[[], None]] = [check_database, check_secret_key, check_model]


class Readiness:
    """Runs the checks at most every FRESH_SECONDS and logs each change. Callable from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._checked_at = float("-inf")
        self._reason: str | None = None

    def find_reason(self) -> str | None:
        """Return why this process is not ready; None where it is."""
        with self._lock:
            if time.monotonic() - self._checked_at < FRESH_SECONDS:
                return self._reason
            reason = self._check()
            if reason != self._reason:
                if reason:
                    logger.warning("not ready: %s", reason)
                else:
                    logger.warning("ready again")
            self._reason, self._checked_at = reason, time.monotonic()
            return reason

    def forget(self) -> None:
        """Check again at the next question."""
        with self._lock:
            self._checked_at = float("-inf")

    @staticmethod
    def _check() -> str | None:
        try:
            for check in CHECKS:
                check()
        except (NotReady, BadValue) as problem:
            return str(problem)
        except DatabaseError as problem:
            return f"the database does not answer: {type(problem).__name__}"
        return None


readiness = Readiness()
