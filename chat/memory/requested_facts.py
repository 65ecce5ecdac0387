"""Facts that the user asks to remember and that the model did not propose, in the user's own words."""

from __future__ import annotations

from datetime import date

from chat.memory import memory_requests, speech_acts
from chat.memory.candidates import Extraction, FactCandidate
from chat.memory.clauses import JudgedSentence
from chat.memory.fact_dates import date_fact
from chat.memory.kinds import KINDS
from chat.memory.memory_requests import RequestKind
from chat.memory.secrets import contains_secret
from chat.memory.subjects import extract_subject
from chat.memory.text_similarity import extract_content_stems


def add_requested_facts(
    judged: list[JudgedSentence], language: str, today: date | None, redacting: bool, result: Extraction
) -> None:
    """Add explicit requests in the user's own words, where no candidate was extracted from the sentence."""
    if result.error:
        return
    for sentence in judged:
        wanted = _extract_wanted_text(sentence)
        is_extracted = any(
            sentence.text.startswith(c.quote) or c.quote in sentence.text for c in result.candidates
        )
        if (
            not wanted
            or is_extracted
            or sentence.reason not in ("", speech_acts.OTHERS, speech_acts.REQUEST, speech_acts.WORLD)
        ):
            continue
        text, kind = memory_requests.build_requested_fact(wanted)
        dated = date_fact(text, kind, today)
        if (
            dated is None
            or (redacting and contains_secret(text))
            or speech_acts.is_hedged(text)
            or not extract_content_stems(text)
        ):
            continue
        result.refused = [r for r in result.refused if r.text != sentence.text[:300]]
        result.candidates.append(
            FactCandidate(
                text=dated.text[:300],
                kind=kind,
                category=KINDS[kind].category,
                subject=extract_subject(kind, text),
                hedged=False,
                quote=sentence.text[:300],
                language=language,
                explicit=True,
                dates=dated.dates,
            )
        )


def _extract_wanted_text(sentence: JudgedSentence) -> str:
    request = sentence.request or memory_requests.find_request(sentence.text)
    return request.about if request is not None and request.kind is RequestKind.REMEMBER else ""
