"""Asks the model for the facts in one segment of a message and validates its answer line by line."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from chat.errors import FormatNotKept
from chat.llm.types import Completion, GenerationOptions, Lane, Provider, StopFlag, Usage

from . import clauses, extraction_prompt, speech_acts
from .extraction_examples import NO_FACTS
from .kinds import KINDS

SLOT = "extract"
UNREADABLE = "extraction-unreadable"
# "home?: User lives in Oslo": a kind, "?" where the user is unsure, and the fact.
_LINE = re.compile(r"^(?P<kind>[a-z_]+)(?P<hedged>\?)?: (?P<text>.+)$")


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a message for one model call; `question` is the assistant's question before it, or ""."""

    text: str
    question: str
    language: str
    # None where it is unknown when the message was written.
    today: date | None
    lane: Lane
    redacting: bool = True
    # The names of the user's projects and pets, case folded, with the kind of a fact about each.
    own_names: Mapping[str, str] = field(default_factory=dict)
    # The segments that the user asked to remember.
    requested: frozenset[str] = frozenset()


def _validate_kind(kind: str) -> str:
    if kind not in KINDS:
        raise ValueError(f"unknown kind {kind}")
    return kind


class ProposedFact(BaseModel):
    """One line of the model's answer, validated."""

    model_config = ConfigDict(frozen=True, str_strip_whitespace=True)

    kind: Annotated[str, AfterValidator(_validate_kind)]
    hedged: bool
    text: Annotated[str, Field(min_length=2, max_length=300)]


@dataclass(slots=True)
class ExtractorAnswer:
    """The facts that the model proposed for a segment; `error` is set if its answers could not be parsed."""

    proposals: list[ProposedFact] = field(default_factory=list)
    usage: Usage | None = None
    error: str = ""


def propose_facts(
    provider: Provider,
    segment: Segment,
    stop: StopFlag | None = None,
    *,
    again: bool = False,
    family: bool = False,
) -> ExtractorAnswer:
    """Ask the model for the facts in a segment; ask again, more strictly, if the answer cannot be parsed.

    `again` asks strictly from the start, `family` asks for the user's relatives only. Blocks while the model
    answers. Raises `ProviderError`: a message whose extraction was stopped must be extracted again.
    """
    answer = ExtractorAnswer()
    for strict in (again, True):
        try:
            completion = _complete(provider, segment, strict, family, stop)
        except FormatNotKept:
            # The provider has repeated the call itself.
            break
        answer.usage = add_usage(answer.usage, completion.usage)
        proposals = parse_answer(_drop_cut_line(completion))
        if proposals is not None:
            answer.proposals = proposals
            return answer
    answer.error = UNREADABLE
    return answer


def parse_answer(answer: str) -> list[ProposedFact] | None:
    """Return the proposed facts of an answer, [] for "none"; None if the answer cannot be parsed."""
    lines = answer.strip().splitlines()
    if [line.strip() for line in lines] == [NO_FACTS]:
        return []
    proposals = []
    for line in lines:
        match = _LINE.match(line.strip())
        if not match:
            return None
        try:
            proposals.append(
                ProposedFact(kind=match["kind"], hedged=bool(match["hedged"]), text=match["text"])
            )
        except ValidationError:
            return None
    return proposals or None


def _complete(
    provider: Provider, segment: Segment, strict: bool, family: bool, stop: StopFlag | None
) -> Completion:
    forced = is_certain_statement(segment)
    grammar = extraction_prompt.build_grammar(segment.language, silent=not forced, family=family)
    began = time.monotonic()
    completion = provider.complete(
        extraction_prompt.build_prompt(segment.text, segment.question, strict=strict),
        GenerationOptions(
            slot=SLOT, lane=segment.lane, max_tokens=extraction_prompt.MAX_TOKENS, grammar=grammar, stop=stop
        ),
    )
    if not completion.usage.seconds:
        completion.usage.seconds = time.monotonic() - began
    return completion


def is_certain_statement(segment: Segment) -> bool:
    """Return whether a segment states a fact for certain, so that the answer "none" is wrong."""
    return clauses.is_likely_statement(segment.text) or speech_acts.answers_style_question(
        segment.question, segment.text
    )


def _drop_cut_line(completion: Completion) -> str:
    """Return the answer without the last line if the token limit cut it: half a fact may be false."""
    if completion.finish != "length":
        return completion.text
    return completion.text.rpartition("\n")[0]


def add_usage(before: Usage | None, new: Usage) -> Usage:
    """Return the sum of the usage of two model calls; `first_token_seconds` is that of the first call."""
    if before is None:
        return new
    return Usage(
        prompt_tokens=before.prompt_tokens + new.prompt_tokens,
        cached_tokens=before.cached_tokens + new.cached_tokens,
        completion_tokens=before.completion_tokens + new.completion_tokens,
        first_token_seconds=before.first_token_seconds,
        seconds=before.seconds + new.seconds,
        worked_seconds=before.worked_seconds + new.worked_seconds,
    )
