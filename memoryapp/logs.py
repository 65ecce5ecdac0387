"""Logs: a line a record, with the ids of what it is about, and never a word that somebody wrote."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from pythonjsonlogger.core import RESERVED_ATTRS
from pythonjsonlogger.json import JsonFormatter

# What a human line shows, in this order; a JSON line has whatever a record was given.
_SHOWN = ("job", "kind", "conversation", "reply", "topic", "deletion", "fact", "archive", "owner", "seconds")
# Errors that quote the data they could not take: of a message, a fact, a row.
_QUOTING = frozenset({"IntegrityError", "DataError", "ValidationError"})
_ids: ContextVar[dict[str, str]] = ContextVar("ids", default={})  # noqa: B039 - it is never changed, only replaced


@contextmanager
def about(**ids: object) -> Iterator[None]:
    """Put these ids on every line that is logged inside the block, in this thread; None is left out."""
    token = _ids.set(_ids.get() | {name: str(value) for name, value in ids.items() if value is not None})
    try:
        yield
    finally:
        _ids.reset(token)


def told(error: BaseException) -> str:
    """Return an error in words; of one that quotes what it could not take its name alone."""
    name = type(error).__name__
    return name if _quotes(error) else f"{name}: {error}"


class Ids(logging.Filter):
    """Gives each record the ids of the blocks that it was logged in; its own come first."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record pass."""
        for name, value in _ids.get().items():
            record.__dict__.setdefault(name, value)
        return True


class _Discreet(logging.Formatter):
    """Formats tracebacks without the data that errors quote."""

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the library's name
        """Return the traceback of an error and of those that led to it."""
        text = "".join(traceback.format_exception(*ei)).rstrip("\n")
        error = ei[1]
        while error is not None:
            if _quotes(error) and str(error):
                text = text.replace(str(error), "…")
            error = error.__cause__ or error.__context__
        return text


class Line(_Discreet):
    """A short line for people: when, how bad, where, what, and the ids."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library's name
        """Return the line without a traceback."""
        ids = [f"{name}={record.__dict__[name]}" for name in _SHOWN if name in record.__dict__]
        return super().formatMessage(record) + (f" [{' '.join(ids)}]" if ids else "")


class Json(_Discreet, JsonFormatter):
    """A JSON object a line, for machines."""


def configuration(form: str, level: str) -> dict[str, Any]:
    """Return the one configuration of logging; `form` is "json" or anything else for people."""
    formatter: dict[str, Any] = {
        "()": Line,
        "fmt": "{asctime} {levelname} {name}: {message}",
        "style": "{",
    }
    if form == "json":
        formatter = {
            "()": Json,
            "fmt": "{asctime}{levelname}{name}{message}",
            "style": "{",
            "rename_fields": {"asctime": "time", "levelname": "level", "name": "logger"},
            # Django hands on the whole request, and with its address what was searched for.
            "reserved_attrs": [*RESERVED_ATTRS, "request"],
        }
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"ids": {"()": Ids}},
        "formatters": {"line": formatter},
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["ids"]}},
        "root": {"handlers": ["console"], "level": level},
    }


def _quotes(error: BaseException) -> bool:
    # SQLite quotes text that it cannot decode.
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool(names & _QUOTING) or ("OperationalError" in names and "decode" in str(error))
