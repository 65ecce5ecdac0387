"""Asks the model for notes on one portion of a message, validated line by line (design §4)."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from chat.llm.types import Completion, FormNotKept, Lane, Provider, StopFlag, Usage
from chat.memory import frames, prompt
from chat.memory.kinds import KINDS

SLOT = "extract"
UNREADABLE = "The model's notes could not be read, twice; nothing was stored from this message."
_LINE = re.compile(r"^(?P<kind>[a-z_]+)(?P<hedged>\?)?: (?P<text>.+)$")


@dataclass(frozen=True, slots=True)
class Portion:
    """What the model reads at once, and what it has to be read with."""

    said: str
    asked: str
    language: str
    today: date
    lane: Lane
    redacting: bool = True


def _known_kind(kind: str) -> str:
    if kind not in KINDS:
        raise ValueError(f"unknown kind {kind}")
    return kind


class Note(BaseModel):
    """One line of the model's answer, validated."""

    model_config = ConfigDict(frozen=True, str_strip_whitespace=True)

    kind: Annotated[str, AfterValidator(_known_kind)]
    hedged: bool
    text: Annotated[str, Field(min_length=2, max_length=300)]


@dataclass(slots=True)
class Reading:
    """What the model noted of one portion; an `error` says that nothing of its answers could be read."""

    notes: list[Note] = field(default_factory=list)
    usage: Usage | None = None
    error: str = ""


def read(
    provider: Provider,
    portion: Portion,
    stop: StopFlag | None = None,
    *,
    again: bool = False,
    family: bool = False,
) -> Reading:
    """Ask once, and once more strictly where the answer is not in the form that was asked for.

    `again` asks strictly from the start, `family` for what the user has of relatives. Blocks while the model
    answers. Lets `ProviderError` through: a message whose reading was stopped has not been read.
    """
    reading = Reading()
    for strict in (again, True):
        try:
            completion = _complete(provider, portion, strict, family, stop)
        except FormNotKept:
            # The provider has asked twice itself.
            break
        reading.usage = total(reading.usage, completion.usage)
        notes = parse(_whole_lines(completion))
        if notes is not None:
            reading.notes = notes
            return reading
    reading.error = UNREADABLE
    return reading


def parse(answer: str) -> list[Note] | None:
    """Return the notes of an answer, or None when it is not in the form that was asked for."""
    lines = answer.strip().splitlines()
    if [line.strip() for line in lines] == [prompt.NONE]:
        return []
    notes = []
    for line in lines:
        match = _LINE.match(line.strip())
        if not match:
            return None
        try:
            notes.append(Note(kind=match["kind"], hedged=bool(match["hedged"]), text=match["text"]))
        except ValidationError:
            return None
    return notes or None


def _complete(
    provider: Provider, portion: Portion, strict: bool, family: bool, stop: StopFlag | None
) -> Completion:
    forced = frames.is_plain_statement(portion.said) or frames.answers_how(portion.asked, portion.said)
    grammar = prompt.grammar(portion.language, silent=not forced, family=family)
    began = time.monotonic()
    completion = provider.complete(
        prompt.turns(portion.said, portion.asked, strict=strict),
        slot=SLOT,
        lane=portion.lane,
        max_tokens=prompt.MAX_TOKENS,
        grammar=grammar,
        stop=stop,
    )
    if not completion.usage.seconds:
        completion.usage.seconds = time.monotonic() - began
    return completion


def _whole_lines(completion: Completion) -> str:
    """Return the answer without the line that ran into the token limit: half a fact is a false one."""
    if completion.finish != "length":
        return completion.text
    return completion.text.rpartition("\n")[0]


def total(before: Usage | None, new: Usage) -> Usage:
    """Return the cost of two model calls."""
    if before is None:
        return new
    return Usage(
        prompt_tokens=before.prompt_tokens + new.prompt_tokens,
        cached_tokens=before.cached_tokens + new.cached_tokens,
        completion_tokens=before.completion_tokens + new.completion_tokens,
        first_token_seconds=before.first_token_seconds,
        seconds=before.seconds + new.seconds,
        worked=before.worked + new.worked,
    )
