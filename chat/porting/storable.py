"""What can be kept and shown anywhere: texts, what JSON holds, moments; imports no Django."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

# No zone is further from UTC.
_FURTHEST = timedelta(days=1)


def in_every_zone(value: datetime) -> datetime:
    """Return an aware moment that has a name in every zone: the first and the last day of all have not.

    A page that shows one of those, or finds it, would fail. Raises ValueError.
    """
    try:
        there = value.astimezone(UTC)
        if there - _FURTHEST < there + _FURTHEST:
            return value
    except OverflowError:
        pass
    raise ValueError("This moment is before or after all that a calendar has in every zone.")


def whole(text: str) -> str:
    """Return a text whose lone halves of letters are marks of something lost: it can be written as UTF-8."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def storable(value: Any) -> Any:
    """Return a value of JSON's kinds without NUL and lone halves of pairs in its texts."""
    if isinstance(value, str):
        return whole(value.replace("\x00", ""))
    if isinstance(value, list):
        return [storable(item) for item in value]
    if isinstance(value, dict):
        return {storable(name): storable(item) for name, item in value.items()}
    return value
