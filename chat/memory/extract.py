"""From one user message to candidate facts: mask, ask, parse, validate, ground, normalise (design §5)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date

from chat.llm.types import Lane, Provider, StopFlag, Usage
from chat.memory import clauses, frames, others, told
from chat.memory.changes import ends
from chat.memory.dates import resolve
from chat.memory.ground import NO_QUOTE, NOT_SAID, ground, quote
from chat.memory.kind_rules import FALLBACK, first_rule, settle_kind
from chat.memory.kinds import KINDS, CategoryName
from chat.memory.language import detect
from chat.memory.mask import is_worth_reading, mask
from chat.memory.reader import Note, Portion, Reading, read, total
from chat.memory.secrets import holds_secret, redact
from chat.memory.similar import content, normalise, says_the_same
from chat.memory.subjects import subject_of
from chat.memory.third_person import third_person
from chat.memory.wording import named, plainly, spelled_out, split, tidy, unnamed

OVER = "no longer so"
# What somebody does by writing a message says nothing about them: "User wants to know about the chat app".
_TALK = re.compile(
    r"^User (?:(?:wants|would like|needs) to (?:know|tell|ask|hear|be told)|asks?|is asking|mentions?|"
    r"says|said|tells|told)\b"
)
# Of these only what holds now is worth keeping; a former job or home is part of a life.
_PRESENT = frozenset({"habit", "likes", "dislikes", "tools", "building", "learning", "diet"})
DUPLICATE = "said twice in one message"


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


def extract(
    provider: Provider,
    message: str,
    *,
    question: str = "",
    today: date,
    playing: bool = False,
    lane: Lane = Lane.BACKGROUND,
    redacting: bool = True,
    stop: StopFlag | None = None,
) -> Extraction:
    """Return what one user message says about the user; `playing` while a role-play goes on.

    Without `redacting` secrets are read and kept as anything else: the owner's own choice.

    Blocks while the model answers: call it from a worker thread. Lets `ProviderError` through, also
    where the call was stopped; a model that answers nonsense is an `error`, never a guess.
    """
    result = Extraction()
    masked = redact(mask(message)) if redacting else mask(message)
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
            portion = Portion(said, asked, language, today, lane, redacting)
            _read_portion(provider, portion, stop, result)
            asked = ""
    _keep_what_was_told(judged, language, today, redacting, result)
    return result


def _read_portion(provider: Provider, portion: Portion, stop: StopFlag | None, result: Extraction) -> None:
    """Weigh what the model notes of a portion, and give it a second chance where none of it stands."""
    found = Extraction()
    _weigh_reading(read(provider, portion, stop), portion, found)
    reasons = {refusal.reason for refusal in found.refused}
    if not found.candidates and not found.error:
        if frames.OTHERS in reasons and others.speaks_of_relative(portion.said):
            # "Mi hija se llama Lucía" was noted as the user's own name.
            _weigh_reading(read(provider, portion, stop, family=True), portion, found)
        elif reasons and reasons <= {NO_QUOTE, NOT_SAID} and frames.is_plain_statement(portion.said):
            # It repeated a worked example instead of reading.
            _weigh_reading(read(provider, portion, stop, again=True), portion, found)
    for candidate in found.candidates:
        if _said_before(candidate.text, candidate.kind, result.candidates):
            found.refused.append(Refusal(candidate.text, DUPLICATE))
        else:
            result.candidates.append(candidate)
    result.refused += found.refused
    result.error = result.error or found.error
    if found.usage is not None:
        result.usage = total(result.usage, found.usage)


def _weigh_reading(reading: Reading, portion: Portion, found: Extraction) -> None:
    for note in reading.notes:
        _weigh(note, portion, found)
    found.error = found.error or reading.error
    if reading.usage is not None:
        found.usage = total(found.usage, reading.usage)


def last_question(reply: str) -> str:
    """Return the question with which an assistant's message ends, or an empty string."""
    found = re.findall(r"[^.!?。！？\n]*[?？]", reply)
    return redact(mask(" ".join(q.strip() for q in found[-2:])))[:200] if found else ""


def _weigh(note: Note, portion: Portion, result: Extraction) -> None:
    """Put one note among the candidates or among the refused."""
    text = tidy(note.text, portion.said)
    text = redact(text) if portion.redacting else text
    text = third_person(unnamed(named(spelled_out(text, portion.said)), portion.said), portion.said)
    first, *more = split(text)
    _weigh_sentence(note, first, portion, result)
    for text in more:
        # The model named a kind for the first thing only.
        other = note.model_copy(update={"kind": first_rule(text) or note.kind})
        _weigh_sentence(other, text, portion, result)


def _weigh_sentence(note: Note, text: str, portion: Portion, result: Extraction) -> None:
    noted, text = text, plainly(text)
    kind = settle_kind(note.kind, text)
    if KINDS[kind].single and " used to " in text:
        # A former home is no home: it must not take the present one's place.
        kind = FALLBACK
    reason = _reason_against(note, noted, portion)
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
    judged: list[clauses.Sentence], language: str, today: date, redacting: bool, result: Extraction
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
        if (redacting and holds_secret(text)) or frames.is_hedged(text) or not content(text):
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


def _reason_against(note: Note, text: str, portion: Portion) -> str:
    if portion.redacting and holds_secret(text):
        return frames.UNSAFE
    if note.hedged:
        return frames.HEDGED
    if "in mind" in text or _TALK.search(text):
        return frames.REQUEST
    if " used to " in text and note.kind in _PRESENT:
        return OVER
    return ground(text, portion.said, portion.asked)
