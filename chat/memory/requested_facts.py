"""Facts that the user asks to remember: the model's notes if they say all, else the user's own words."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from chat.memory import clauses, memory_requests, own_words, speech_acts
from chat.memory.candidates import Extraction, FactCandidate
from chat.memory.clauses import JudgedSentence
from chat.memory.fact_dates import date_fact
from chat.memory.kind_rules import guess_kind
from chat.memory.kinds import KINDS
from chat.memory.memory_requests import RequestKind
from chat.memory.normalize import normalize_sentence
from chat.memory.secrets import contains_secret
from chat.memory.subjects import extract_subject
from chat.memory.text_similarity import contains_stems, extract_content_stems, extract_names, extract_numbers

# The share of the content stems of a request that the model's notes about it must contain.
_MIN_SHARE = 0.6


def add_requested_facts(
    judged: list[JudgedSentence], language: str, today: date | None, redacting: bool, result: Extraction
) -> None:
    """Make candidates of what the user asks to remember, and mark them as explicit.

    The model's notes are used if they contain all of a request. If not, the user's own words take their
    place, one candidate for each statement.
    """
    if result.error:
        return
    for sentence in judged:
        wanted = _extract_wanted_text(sentence)
        may_be_fact = sentence.reason in ("", speech_acts.OTHERS, speech_acts.REQUEST, speech_acts.WORLD)
        if not wanted or not may_be_fact:
            continue
        quote = sentence.text[:300]
        notes = [c for c in result.candidates if c.quote and (c.quote in quote or quote.startswith(c.quote))]
        if _say_all(notes, wanted):
            chosen = [replace(note, explicit=True) for note in notes]
        else:
            parts = clauses.split_second_statements(wanted)
            built = [_build_candidate(part, quote, language, today, redacting) for part in parts]
            chosen = [candidate for candidate in built if candidate is not None]
        if chosen:
            result.refused = [r for r in result.refused if r.text != quote]
            result.candidates = [c for c in result.candidates if c not in notes] + chosen


def _say_all(notes: list[FactCandidate], wanted: str) -> bool:
    """Return whether notes say what is wanted: all numbers and names, and most content stems."""
    said = " ".join(note.text for note in notes)
    stems, known = extract_content_stems(wanted), extract_content_stems(said)
    share = sum(contains_stems(known, frozenset([stem])) for stem in stems) / (len(stems) or 1)
    has_all_values = all(extract(wanted) <= extract(said) for extract in (extract_numbers, extract_names))
    return bool(notes) and share >= _MIN_SHARE and has_all_values


def _build_candidate(
    wanted: str, quote: str, language: str, today: date | None, redacting: bool
) -> FactCandidate | None:
    """Return a candidate in the third person ("User's locker is number 12"), or in quotation marks if the
    text stays in the first person. None for secrets, suppositions and what is past.
    """
    said = wanted.strip(" .。!！")
    is_refused = (redacting and contains_secret(said)) or speech_acts.is_hedged(said)
    if is_refused or not extract_content_stems(said):
        return None
    text = normalize_sentence(said, said)
    if speech_acts.is_first_person(text):
        own = own_words.build_candidate(said, own_words.guess_kind_of_own_words(said), quote, language, today)
        return replace(own, explicit=True) if own is not None else None
    kind = guess_kind(text)
    dated = date_fact(text, kind, today)
    if dated is None:
        return None
    return FactCandidate(
        text=dated.text[:300],
        kind=kind,
        category=KINDS[kind].category,
        subject=extract_subject(kind, text),
        hedged=False,
        quote=quote,
        language=language,
        explicit=True,
        dates=dated.dates,
    )


def _extract_wanted_text(sentence: JudgedSentence) -> str:
    request = sentence.request or memory_requests.find_request(sentence.text)
    return request.about if request is not None and request.kind is RequestKind.REMEMBER else ""
