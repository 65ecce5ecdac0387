"""Log lines about refused requests: what did not agree, on one line, and not more than a few a minute.

Whoever sets up a proxy learns from them which name or origin came and which ones are allowed. What came is
chosen by strangers, so it is shortened, shown without control characters, and cannot fill the log.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Sequence

# Lines in MINUTE seconds; the next minute begins with the number of lines that were left out.
MOST_LINES, MINUTE = 20, 60.0
_LONGEST = 200
# Django's loggers for refused hosts and refused CSRF tokens, and ours.
LOGGER_NAMES = ("memoryapp.refusals", "django.security.DisallowedHost", "django.security.csrf")
logger = logging.getLogger(LOGGER_NAMES[0])


def log_refused(what: str, came: str | None, allowed: Iterable[str]) -> None:
    """Log that a request was refused since `what` of it, such as its Origin, is not one of `allowed`."""
    logger.warning("refused: %s is %s; allowed: %s", what, quote(came), join(allowed))


def log_untrusted_proxy(address: str, trusted: Iterable[str]) -> None:
    """Log that the headers of a proxy were ignored, since its address is not one of `trusted`."""
    logger.warning(
        "ignored: X-Forwarded headers from %s, which is not in TRUSTED_PROXIES: %s",
        quote(address),
        join(trusted),
    )


def quote(text: str | None) -> str:
    """Return a text of a stranger for a log line: short, in quotation marks, without control characters."""
    if text is None:
        return "missing"
    return ascii(text[:_LONGEST]) + ("…" if len(text) > _LONGEST else "")


def join(allowed: Iterable[str]) -> str:
    """Return the allowed values for a log line."""
    return ", ".join(dict.fromkeys(allowed)) or "none"


class BoundedRefusals(logging.Filter):
    """Lets MOST_LINES of refusals pass in a minute, and says of a host by Django which ones are allowed."""

    def __init__(self, allowed_hosts: Sequence[str] = ()) -> None:
        super().__init__()
        self._hosts = allowed_hosts
        self._lock = threading.Lock()
        self._since, self._lines, self._left_out = float("-inf"), 0, 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether this record is logged."""
        # Each set-up of Django adds one more filter of this class to the loggers.
        if getattr(record, "is_bounded", False):
            return True
        record.is_bounded = True
        left_out = self._count()
        if left_out is None:
            return False
        if record.name.endswith("DisallowedHost"):
            text = record.getMessage()
            record.msg, record.args = "refused: %s Allowed: %s", (text[: 2 * _LONGEST], join(self._hosts))
            # The traceback says nothing more.
            record.exc_info = record.exc_text = None
        if left_out:
            record.msg = f"({left_out} lines about refused requests were left out) {record.msg}"
        return True

    def _count(self) -> int | None:
        """Count one more; return how many were left out in the minute before, None beyond the limit."""
        with self._lock:
            now = time.monotonic()
            if now - self._since >= MINUTE:
                left_out, self._left_out = self._left_out, 0
                self._since, self._lines = now, 1
                return left_out
            if self._lines >= MOST_LINES:
                self._left_out += 1
                return None
            self._lines += 1
            return 0
