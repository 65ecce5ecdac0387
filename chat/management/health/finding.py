"""A line of doctor's report."""

from dataclasses import dataclass
from enum import Enum


class State(Enum):
    """How a finding weighs: only `broken` makes doctor fail."""

    OK = "ok"
    NOTE = "note"
    BROKEN = "broken"


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    state: State
    topic: str
    text: str


def ok(topic: str, text: str) -> Finding:
    """All is well."""
    return Finding(State.OK, topic, text)


def note(topic: str, text: str) -> Finding:
    """The program works, but better with this done."""
    return Finding(State.NOTE, topic, text)


def broken(topic: str, text: str) -> Finding:
    """The program does not work until this is done."""
    return Finding(State.BROKEN, topic, text)
