"""Extracts candidate facts from one user message.

Steps: hide foreign text, redact secrets, drop sentences that state nothing, ask the model about each segment,
normalize its proposals, and refuse those that the user's words do not support.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from types import MappingProxyType

from chat.llm.types import Lane, Provider, StopFlag
from chat.memory import attribution, clauses, memory_requests, speech_acts
from chat.memory.candidates import (
    DUPLICATE,
    Denial,
    Extraction,
    FactCandidate,
    RefusedFact,
    is_duplicate,
)
from chat.memory.change_markers import states_change, states_ending
from chat.memory.extractor import (
    ExtractorAnswer,
    ProposedFact,
    Segment,
    add_usage,
    is_certain_statement,
    propose_facts,
)
from chat.memory.fact_dates import UNDATED, date_fact
from chat.memory.ground import NAME_NOT_SAID, NO_QUOTE, NOT_SAID, check_grounding, find_quote
from chat.memory.kind_rules import FALLBACK_KIND, match_first_rule, settle_kind
from chat.memory.kinds import KINDS
from chat.memory.language import detect_language
from chat.memory.mask import is_worth_extracting, mask_foreign_text
from chat.memory.memory_requests import RequestKind, is_negated_by_words
from chat.memory.name_spelling import restore_names
from chat.memory.normalize import (
    conjugate_third_person,
    correct_name_or_trade,
    normalize_name_sentence,
    normalize_sentence,
    replace_trailing_pronoun,
    rewrite_indirect_allergy,
    split_second_verb,
)
from chat.memory.own_words import is_easy_to_read, quote_sentence
from chat.memory.requested_facts import add_requested_facts
from chat.memory.secrets import contains_secret, redact_secrets
from chat.memory.subjects import extract_subject

OVER = "is-over"
_NO_NAMES: Mapping[str, str] = MappingProxyType({})
# A proposal that describes the message itself is no fact: "User wants to know about the chat app".
_ABOUT_MESSAGE = re.compile(
    r"^User (?:(?:wants|would like|needs) to (?:know|tell|ask|hear|be told)|asks?|is asking|mentions?|"
    r"says|said|tells|told)\b"
)
# Kinds of which only present facts are stored; a former job or home is stored as an event.
_PRESENT_KINDS = frozenset({"habit", "likes", "dislikes", "tools", "building", "learning", "diet"})
# Why a proposal is refused that the model misread. The user's own sentence may be kept instead.
_MISREAD = frozenset({NO_QUOTE, NOT_SAID, NAME_NOT_SAID, speech_acts.OTHERS})
# Sentences that state no fact for these reasons may change one: "my rent went up to 860, may they do that?"
_MAY_CHANGE_FACTS = frozenset(
    {speech_acts.QUESTION, speech_acts.REQUEST, speech_acts.WORLD, speech_acts.OTHERS}
)
# The words of such a sentence are not recorded, not even as refused.
_UNRECORDED = frozenset({speech_acts.KEPT_OUT, speech_acts.FORGETTING})


def extract_facts(
    provider: Provider,
    message: str,
    *,
    question: str = "",
    today: date | None,
    playing: bool = False,
    lane: Lane = Lane.BACKGROUND,
    redacting: bool = True,
    own_names: Mapping[str, str] = _NO_NAMES,
    stop: StopFlag | None = None,
) -> Extraction:
    """Return the facts that one user message states about the user.

    `question` is the assistant's message before it, `today` the user's local date of the message or None
    where that is unknown, `playing` whether a role-play is active. Without `redacting` (an owner's setting)
    secrets are stored like other text. A sentence about one of `own_names` (case folded), the user's projects
    and pets, is about the user; the kind of a fact about it stands beside each name.
    Blocks while the model answers: call it from a worker thread. Raises `ProviderError`, also where
    `stop` stops the call; answers that cannot be parsed set `error`.
    """
    result = Extraction()
    masked = redact_secrets(mask_foreign_text(message)) if redacting else mask_foreign_text(message)
    question = extract_last_question(question)
    about_user = speech_acts.is_question_about_user(question)
    names = frozenset(own_names)
    judged = clauses.judge_sentences(masked, playing=playing, own_names=names)
    result.refused = [
        RefusedFact("" if s.reason in _UNRECORDED else s.text[:300], s.reason)
        for s in judged
        if s.reason and s.reason != speech_acts.QUESTION
    ]
    result.endings = [s.text for s in judged if not s.reason and states_ending(s.text)]
    kinds = {s.text: s.request.kind for s in judged if s.request is not None}
    requested = frozenset(text for text, kind in kinds.items() if kind is RequestKind.REMEMBER)
    result.to_forget = [
        s.request.about
        for s in judged
        if s.request is not None and s.request.kind is RequestKind.FORGET and s.request.about
    ]
    result.denials = [
        Denial(s.text, kinds.get(s.text) is RequestKind.WRONG)
        for s in judged
        if not s.reason and (is_negated_by_words(s.text) or kinds.get(s.text) is RequestKind.WRONG)
    ]
    result.sentences = [
        s.text
        for s in judged
        if (not s.reason or s.reason in _MAY_CHANGE_FACTS)
        and (s.request is None or s.request.kind in (RequestKind.REMEMBER, RequestKind.WRONG))
    ]
    language = detect_language(clauses.join_statements(judged)) or detect_language(question)
    for text in clauses.split_into_segments(judged):
        if not is_easy_to_read(text) and any(text in sentence for sentence in requested):
            # It is kept in the user's own words.
            continue
        # Only the first segment answers the question.
        if text in requested or _must_be_read(text, names, question if about_user else ""):
            segment = Segment(text, question, language, today, lane, redacting, own_names, requested)
            _read_segment(provider, segment, stop, result, about_user=about_user)
            question = ""
    add_requested_facts(judged, language, today, redacting, result)
    return result


def _must_be_read(text: str, names: frozenset[str], question: str) -> bool:
    """Return whether the model must read a segment.

    `question` is the assistant's question about the user that the segment answers, "" without one.
    """
    if clauses.is_about_own(text, names) or clauses.is_likely_statement(text):
        return True
    if not is_worth_extracting(text, question):
        return False
    return bool(question) or clauses.may_state_fact(text) or states_ending(text)


def _read_segment(
    provider: Provider, segment: Segment, stop: StopFlag | None, result: Extraction, *, about_user: bool
) -> None:
    """Add the facts of a segment to `result`: the model's notes, or the user's own words.

    `about_user` says whether the assistant's question before the segment, if there is one, is about the user.
    """
    if _must_ask_model(segment, about_user) and not _extract_segment(provider, segment, stop, result):
        return
    if states_ending(segment.text) or segment.text in segment.requested:
        return
    quoted = quote_sentence(
        segment.text, segment.language, segment.today, segment.redacting, result.candidates
    )
    if quoted is not None:
        result.candidates.append(quoted)


def _must_ask_model(segment: Segment, about_user: bool) -> bool:
    return (
        is_easy_to_read(segment.text)
        # Only a note can have a kind with one value, and so replace the value before.
        or states_change(segment.text)
        or states_ending(segment.text)
        or clauses.is_about_own(segment.text, frozenset(segment.own_names))
        or bool(segment.question and about_user)
    )


def _extract_segment(provider: Provider, segment: Segment, stop: StopFlag | None, result: Extraction) -> bool:
    """Add the facts of a segment to `result`; ask the model a second time if no proposal was accepted.

    Return whether the model found nothing or only misread the segment, so that the user's own words may be
    kept.
    """
    found = Extraction()
    _check_answer(propose_facts(provider, segment, stop), segment, found)
    reasons = {refusal.reason for refusal in found.refused}
    if not found.candidates and not found.error:
        if speech_acts.OTHERS in reasons and attribution.mentions_relative(segment.text):
            # "Mi hija se llama Lucía" was proposed as the user's own name: ask for facts about relatives.
            _check_answer(propose_facts(provider, segment, stop, family=True), segment, found)
        elif reasons and reasons <= {NO_QUOTE, NOT_SAID} and is_certain_statement(segment):
            # The model repeated a worked example instead of reading the segment: ask with stricter words.
            _check_answer(propose_facts(provider, segment, stop, again=True), segment, found)
    for candidate in found.candidates:
        if is_duplicate(candidate.text, candidate.kind, result.candidates):
            found.refused.append(RefusedFact(candidate.text, DUPLICATE))
        else:
            result.candidates.append(candidate)
    result.refused += found.refused
    result.error = result.error or found.error
    if found.usage is not None:
        result.usage = add_usage(result.usage, found.usage)
    codes = {refusal.reason.partition(" ")[0] for refusal in found.refused}
    return not found.candidates and not found.error and codes <= _MISREAD


def _check_answer(answer: ExtractorAnswer, segment: Segment, found: Extraction) -> None:
    for proposal in answer.proposals:
        _check_proposal(proposal, segment, found)
    found.error = found.error or answer.error
    if answer.usage is not None:
        found.usage = add_usage(found.usage, answer.usage)


def extract_last_question(reply: str) -> str:
    """Return the last two questions of an assistant's message, masked and cut to 200 characters, or ""."""
    found = re.findall(r"[^.!?。！？\n]*[?？]", reply)
    return redact_secrets(mask_foreign_text(" ".join(q.strip() for q in found[-2:])))[:200] if found else ""


def _check_proposal(proposal: ProposedFact, segment: Segment, result: Extraction) -> None:
    """Normalize one proposal and add its facts to the candidates or to the refused facts."""
    text = restore_names(normalize_sentence(proposal.text, segment.text), segment.text)
    text = redact_secrets(text) if segment.redacting else text
    text = conjugate_third_person(
        correct_name_or_trade(
            normalize_name_sentence(replace_trailing_pronoun(text, segment.text)), segment.text
        ),
        segment.text,
    )
    first, *more = split_second_verb(text)
    _check_sentence(proposal, first, segment, result)
    for text in more:
        # The proposed kind is that of the first sentence.
        other = proposal.model_copy(update={"kind": match_first_rule(text) or proposal.kind})
        _check_sentence(other, text, segment, result)


def _check_sentence(proposal: ProposedFact, text: str, segment: Segment, result: Extraction) -> None:
    original, text = text, rewrite_indirect_allergy(text)
    kind = settle_kind(proposal.kind, text)
    if (own := _restate_about_own_thing(text, segment)) is not None:
        original = text = own[0]
        kind = own[1]
    if KINDS[kind].single and " used to " in text:
        # A former value must not replace the present one: "User used to live in Oslo" is no `home`.
        kind = FALLBACK_KIND
    reason = _find_refusal_reason(proposal, original, segment)
    if not reason and is_duplicate(text, kind, result.candidates):
        reason = DUPLICATE
    dated = date_fact(text, kind, segment.today)
    if reason or dated is None:
        result.refused.append(RefusedFact(text, reason or UNDATED))
        return
    result.candidates.append(
        FactCandidate(
            text=dated.text,
            kind=kind,
            category=KINDS[kind].category,
            subject=extract_subject(kind, text),
            hedged=proposal.hedged,
            quote=(words := find_quote(text, segment.text, frozenset(segment.own_names))),
            language=segment.language,
            explicit=bool(memory_requests.extract_requested_text(words)),
            dates=dated.dates,
        )
    )


def _restate_about_own_thing(text: str, segment: Segment) -> tuple[str, str] | None:
    """Return the user's sentence and its kind, where it is about a project or pet of theirs and the proposed
    text does not name that: of "Selene is written in TypeScript" a small model makes "User writes in
    TypeScript". None for other proposals.
    """
    names = frozenset(segment.own_names)
    sentence = clauses.find_supporting_sentence(text, segment.text, names)
    name = clauses.find_own_name(sentence.text, names) if sentence is not None else ""
    if sentence is None or not name or name in text.casefold():
        return None
    return normalize_sentence(sentence.text.strip(" .。!！"), sentence.text), segment.own_names[name]


def _find_refusal_reason(proposal: ProposedFact, text: str, segment: Segment) -> str:
    if segment.redacting and contains_secret(text):
        return speech_acts.UNSAFE
    if proposal.hedged:
        return speech_acts.HEDGED
    is_standing = speech_acts.is_standing_request(segment.text)
    if "in mind" in text or (_ABOUT_MESSAGE.search(text) and not is_standing):
        return speech_acts.REQUEST
    if " used to " in text and proposal.kind in _PRESENT_KINDS:
        return OVER
    return check_grounding(text, segment.text, segment.question, frozenset(segment.own_names))
