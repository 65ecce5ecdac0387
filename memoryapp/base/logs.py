"""Logging: one line for each record, with the ids of the objects it concerns, and never text that a user
wrote.
"""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from pythonjsonlogger.core import RESERVED_ATTRS
from pythonjsonlogger.json import JsonFormatter

from .refusals import LOGGER_NAMES, BoundedRefusals

# Ids and counts in lines for people, in this order; JSON lines contain all ids of a record.
_SHOWN = (
    *("job", "kind", "app", "app_memory", "conversation", "reply", "topic", "deletion", "fact", "archive"),
    *("owner", "count", "seconds"),
)
# Errors whose message quotes the data that the database refused.
_QUOTING = frozenset({"IntegrityError", "DataError", "ValidationError"})
# Whoever knows the secret in such an address can make an account, or take over somebody's.
_SECRET_PATHS = re.compile(r"(/(?:first|invite|password/reset|account/email)/)[^/\s]+")
_ids: ContextVar[dict[str, str]] = ContextVar("ids", default={})  # noqa: B039 - it is never changed, only replaced


@contextmanager
def log_context(**ids: object) -> Iterator[None]:
    """Add these ids to all records logged inside the block in this thread; None values are left out."""
    token = _ids.set(_ids.get() | {name: str(value) for name, value in ids.items() if value is not None})
    try:
        yield
    finally:
        _ids.reset(token)


def describe_error(error: BaseException) -> str:
    """Return an error's name and message; only the name where the message may quote user data."""
    name = type(error).__name__
    return name if _quotes(error) else f"{name}: {error}"


class LogContextFilter(logging.Filter):
    """Adds the ids of the surrounding `log_context` blocks to each record; the record's own ids have
    precedence.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Return True: every record passes."""
        for name, value in _ids.get().items():
            record.__dict__.setdefault(name, value)
        return True


class SecretPathFilter(logging.Filter):
    """Leaves the secrets of links out of the addresses in records, such as Django's on refused requests."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return True: every record passes."""
        if isinstance(record.args, tuple):
            record.args = tuple(
                _SECRET_PATHS.sub(r"\1…", arg) if isinstance(arg, str) else arg for arg in record.args
            )
        return True


class _Discreet(logging.Formatter):
    """A formatter of tracebacks without the messages that quote user data."""

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the library's name
        """Return the traceback of an error and of its causes."""
        text = "".join(traceback.format_exception(*ei)).rstrip("\n")
        error = ei[1]
        while error is not None:
            if _quotes(error) and str(error):
                text = text.replace(str(error), "…")
            error = error.__cause__ or error.__context__
        return text


class HumanFormatter(_Discreet):
    """One line for people: time, level, logger, message, ids."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library's name
        """Return the line without a traceback."""
        ids = [f"{name}={record.__dict__[name]}" for name in _SHOWN if name in record.__dict__]
        return super().formatMessage(record) + (f" [{' '.join(ids)}]" if ids else "")


class JsonLineFormatter(_Discreet, JsonFormatter):
    """One JSON object on each line, for machines."""


def build_logging_config(form: str, level: str, allowed_hosts: Sequence[str] = ()) -> dict[str, Any]:
    """Return Django's LOGGING setting. `form` "json" selects JSON lines, any other value lines for people.

    Lines about refused hosts name `allowed_hosts`.
    """
    formatter: dict[str, Any] = {
        "()": HumanFormatter,
        "fmt": "{asctime} {levelname} {name}: {message}",
        "style": "{",
    }
    if form == "json":
        formatter = {
            "()": JsonLineFormatter,
            "fmt": "{asctime}{levelname}{name}{message}",
            "style": "{",
            "rename_fields": {"asctime": "time", "levelname": "level", "name": "logger"},
            # Django attaches the whole request, whose URL may contain a search text.
            "reserved_attrs": [*RESERVED_ATTRS, "request"],
        }
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {
            "ids": {"()": LogContextFilter},
            "paths": {"()": SecretPathFilter},
            "refusals": {"()": BoundedRefusals, "allowed_hosts": allowed_hosts},
        },
        "formatters": {"line": formatter},
        "handlers": {
            "console": {
                "class": "logging.StreamHandler",
                "formatter": "line",
                "filters": ["ids", "paths"],
            }
        },
        "loggers": {name: {"filters": ["refusals"]} for name in LOGGER_NAMES},
        "root": {"handlers": ["console"], "level": level},
    }


def _quotes(error: BaseException) -> bool:
    # SQLite's message quotes text that it cannot decode.
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool(names & _QUOTING) or ("OperationalError" in names and "decode" in str(error))
