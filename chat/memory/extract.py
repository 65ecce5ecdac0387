"""From one user message to candidate facts: mask, ask, parse, validate, ground, normalise (design §5)."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from chat.llm.types import Completion, Lane, Provider, StopFlag, Usage
from chat.memory import clauses, frames, prompt, told
from chat.memory.changes import ends
from chat.memory.dates import resolve
from chat.memory.ground import ground, quote
from chat.memory.kind_rules import first_rule, settle_kind
from chat.memory.kinds import KINDS, CategoryName
from chat.memory.language import detect
from chat.memory.mask import is_worth_reading, mask
from chat.memory.secrets import holds_secret, redact
from chat.memory.similar import content, normalise, says_the_same
from chat.memory.subjects import subject_of
from chat.memory.wording import named, split, tidy

SLOT = "extract"
UNREADABLE = "The model's notes could not be read, twice; nothing was stored from this message."
DUPLICATE = "said twice in one message"

_LINE = re.compile(r"^(?P<kind>[a-z_]+)(?P<hedged>\?)?: (?P<text>.+)$")


class ExtractionCancelled(Exception):
    """The look was stopped before its end; the message has not been read and must be looked at again."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fact that may be stored, with the user's own sentence that it stands on."""

    text: str
    kind: str
    category: CategoryName
    subject: str
    hedged: bool
    quote: str
    language: str = ""
    # The user asked to remember it.
    told: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """A proposed fact that is not stored, and why in plain words."""

    text: str
    reason: str


@dataclass(slots=True)
class Extraction:
    """What one look at one message gave; `usage` is None when no model was asked."""

    candidates: list[Candidate] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    # Sentences that say that something is over; what it was is known, if at all, from earlier.
    endings: list[str] = field(default_factory=list)
    error: str = ""
    usage: Usage | None = None


def _known_kind(kind: str) -> str:
    if kind not in KINDS:
        raise ValueError(f"unknown kind {kind}")
    return kind


@dataclass(frozen=True, slots=True)
class _Portion:
    """What the model reads at once, and what it has to be read with."""

    said: str
    asked: str
    language: str
    today: date
    lane: Lane


class Note(BaseModel):
    """One line of the model's answer, validated."""

    model_config = ConfigDict(frozen=True, str_strip_whitespace=True)

    kind: Annotated[str, AfterValidator(_known_kind)]
    hedged: bool
    text: Annotated[str, Field(min_length=2, max_length=300)]


def extract(
    provider: Provider,
    message: str,
    *,
    question: str = "",
    today: date,
    playing: bool = False,
    lane: Lane = Lane.BACKGROUND,
    stop: StopFlag | None = None,
) -> Extraction:
    """Return what one user message says about the user; `playing` while a role-play goes on.

    Blocks while the model answers: call it from a worker thread. Raises `ExtractionCancelled` when the call
    was stopped and lets `ProviderError` through; a model that answers nonsense is an `error`, never a guess.
    """
    result = Extraction()
    masked = redact(mask(message))
    asked = last_question(question)
    about_user = frames.asks_user(asked)
    judged = clauses.sentences(masked, playing=playing)
    result.refused = [
        Refusal(s.text[:300], s.reason) for s in judged if s.reason and s.reason != frames.QUESTION
    ]
    result.endings = [s.text for s in judged if not s.reason and ends(s.text)]
    language = detect(clauses.joined(judged)) or detect(asked)
    for said in clauses.portions(judged):
        # The question is answered by what comes first; later sentences speak for themselves.
        if frames.is_plain_statement(said) or is_worth_reading(said, asked if about_user else ""):
            portion = _Portion(said, asked, language, today, lane)
            for note in _ask(provider, portion, stop, result):
                _weigh(note, portion, result)
            asked = ""
    _keep_what_was_told(judged, language, today, result)
    return result


def last_question(reply: str) -> str:
    """Return the question with which an assistant's message ends, or an empty string."""
    found = re.findall(r"[^.!?。！？\n]*[?？]", reply)
    return redact(mask(" ".join(q.strip() for q in found[-2:])))[:200] if found else ""


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


def _ask(provider: Provider, portion: _Portion, stop: StopFlag | None, result: Extraction) -> list[Note]:
    """Ask once, and once more strictly; fill in the usage, and the error when both answers are unreadable."""
    for strict in (False, True):
        completion = _complete(provider, portion, strict, stop)
        result.usage = total(result.usage, completion.usage)
        if completion.finish == "cancelled":
            raise ExtractionCancelled
        notes = parse(_whole_lines(completion))
        if notes is not None:
            return notes
    result.error = UNREADABLE
    return []


def _complete(provider: Provider, portion: _Portion, strict: bool, stop: StopFlag | None) -> Completion:
    silent = not frames.is_plain_statement(portion.said)
    grammar = prompt.grammar(portion.language, silent=silent)
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


def _weigh(note: Note, portion: _Portion, result: Extraction) -> None:
    """Put one note among the candidates or among the refused."""
    text = redact(tidy(note.text, portion.said))
    first, *more = split(named(text) if note.kind == "name" else text)
    _weigh_sentence(note, first, portion, result)
    for text in more:
        # The model named a kind for the first thing only.
        other = note.model_copy(update={"kind": first_rule(text) or note.kind})
        _weigh_sentence(other, text, portion, result)


def _weigh_sentence(note: Note, text: str, portion: _Portion, result: Extraction) -> None:
    kind = settle_kind(note.kind, text)
    reason = _reason_against(note, text, portion)
    if not reason and _said_before(text, kind, result.candidates):
        reason = DUPLICATE
    if reason:
        result.refused.append(Refusal(text, reason))
        return
    result.candidates.append(
        Candidate(
            text=resolve(text, portion.today),
            kind=kind,
            category=KINDS[kind].category,
            subject=subject_of(kind, text),
            hedged=note.hedged,
            quote=(words := quote(text, portion.said)),
            language=portion.language,
            told=bool(told.what(words)),
        )
    )


def _keep_what_was_told(
    judged: list[clauses.Sentence], language: str, today: date, result: Extraction
) -> None:
    """Store what the user asked to remember in their own words, where the model noted nothing of it."""
    if result.error:
        return
    for sentence in judged:
        wanted = told.what(sentence.text)
        noted = any(sentence.text.startswith(c.quote) or c.quote in sentence.text for c in result.candidates)
        if not wanted or noted or sentence.reason not in ("", frames.OTHERS, frames.REQUEST, frames.WORLD):
            continue
        text, kind = told.as_fact(wanted)
        if holds_secret(text) or frames.is_hedged(text) or not content(text):
            continue
        result.refused = [r for r in result.refused if r.text != sentence.text[:300]]
        result.candidates.append(
            Candidate(
                text=resolve(text, today)[:300],
                kind=kind,
                category=KINDS[kind].category,
                subject=subject_of(kind, text),
                hedged=False,
                quote=sentence.text[:300],
                language=language,
                told=True,
            )
        )


def _said_before(text: str, kind: str, candidates: list[Candidate]) -> bool:
    """Tell whether a candidate of this look says it already: one message mentions a fact once."""
    return any(
        normalise(c.text) == normalise(text) or (c.kind == kind and says_the_same(text, c.text))
        for c in candidates
    )


def _reason_against(note: Note, text: str, portion: _Portion) -> str:
    if holds_secret(text):
        return frames.UNSAFE
    if note.hedged:
        return frames.HEDGED
    if "in mind" in text:
        return frames.REQUEST
    return ground(text, portion.said, portion.asked)


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
    )
