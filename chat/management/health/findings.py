"""What a check of `manage.py doctor` finds."""

from dataclasses import dataclass
from enum import Enum


class FindingState(Enum):
    """The severity of a finding; only `broken` makes doctor fail."""

    OK = "ok"
    NOTE = "note"
    BROKEN = "broken"


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    state: FindingState
    topic: str
    text: str


def ok(topic: str, text: str) -> Finding:
    """Return a finding without a problem."""
    return Finding(FindingState.OK, topic, text)


def note(topic: str, text: str) -> Finding:
    """Return a finding that the program works, but something should be done."""
    return Finding(FindingState.NOTE, topic, text)


def broken(topic: str, text: str) -> Finding:
    """Return a finding that the program does not work until something is done."""
    return Finding(FindingState.BROKEN, topic, text)
