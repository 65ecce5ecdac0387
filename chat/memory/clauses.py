"""Decides which sentences of a message state a fact of the user."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from chat.llm.registry import registry
from chat.memory import attribution, irony, roleplay, speech_acts
from chat.memory.memory_requests import MemoryRequest, RequestKind, find_request
from chat.memory.secrets import REDACTED
from chat.memory.sentences import split_clauses, split_sentences
from chat.memory.statement_classifier import Likelihood, estimate_likelihood, score_statement
from chat.memory.text_similarity import extract_content_stems, tokenize

# A sentence that begins with a pronoun for something in the sentence before: "It is written in Go", "Das …".
_REFERS_BACK = re.compile(
    r"^(?:(?:and|but|so|und|aber|et|mais|y|pero|e|ma|mas|–|—)\s+)*"
    r"(?:it(?:'s|'ll)?|its|he|she|they|this|that|these|those|there|es|er|sie|das|dies|il|elle|ils|"
    r"elles|c'est|"
    r"ça|cela|eso|esto|él|ella|ellos|lui|lei|questo|quello|ele|ela|isso|isto)\b|^(?:它|他|她|这|那)",
    re.I,
)
_MAX_SEGMENTS = 8

# A sentence that only retracts the one before: "Best queue of my life. Not."
_RETRACTION = re.compile(r"(?:just kidding|kidding|not|nicht|jk)[.!]*", re.I)

# Why a sentence with such a request states no fact.
_REASONS = {
    RequestKind.KEEP_OUT: speech_acts.KEPT_OUT,
    RequestKind.FORGET: speech_acts.FORGETTING,
}

# A sentence that was refused for one of these reasons is accepted if the classifier expects a fact in it. "Is
# there one without gluten, since my daughter is coeliac?" is a question, and states that she is coeliac.
_OVERRULED = frozenset({speech_acts.QUESTION, speech_acts.REQUEST, speech_acts.WORLD, speech_acts.OTHERS})

# Where a sentence begins a second first-person statement: "I'm building a kiln | and I prefer short answers".
# A run of blanks is looked at from its beginning only.
_SECOND_STATEMENT = re.compile(
    r"(?:,|(?<!\s))\s+(?:"
    r"(?:and|but|so)\s+(?=(?:i|i'm|i've|my|we|we're|our|please)\b)|"
    r"(?:und|aber)\s+(?=(?:ich|mein\w*|wir|bitte)\b)|"
    r"(?:et|mais)\s+(?=(?:je|on|mon|ma|mes|nous)\b|j')|"
    r"(?:y|pero)\s+(?=(?:yo|me|mi|mis|estoy|soy|tengo)\b)|"
    r"(?:e|ma)\s+(?=(?:io|mi|mio|mia|sto|sono|ho)\b)|"
    r"(?:e|mas)\s+(?=(?:eu|meu|minha|estou|sou|tenho)\b))|"
    r",\s+(?=(?:i|i'm|i've|my|we|please)\b)",
    re.I,
)


@dataclass(frozen=True, slots=True)
class JudgedSentence:
    """A sentence of the user; `reason` is why it states no fact about the user, "" if it may state one.

    `request` is what the sentence asks of memory.
    """

    text: str
    reason: str = ""
    request: MemoryRequest | None = None


def judge_sentences(
    masked: str, *, playing: bool = False, own_names: frozenset[str] = frozenset()
) -> list[JudgedSentence]:
    """Return the sentences of a masked message in order, each with its reason to state no fact, or "".

    With `playing` a role-play is active at the start of the message; it lasts until a sentence ends it. A
    sentence about one of `own_names` (case folded), the user's projects and pets, is about the user.
    """
    has_injection = speech_acts.contains_prompt_injection(masked)
    pieces = split_sentences(masked)
    # "Can we pretend I never told you …" asks memory to forget.
    playing = playing or (roleplay.starts_roleplay(masked) and not any(map(find_request, pieces)))
    judged: list[JudgedSentence] = []
    sarcastic = False
    for piece in pieces:
        playing = playing and not roleplay.ends_roleplay(piece)
        sarcastic = sarcastic or irony.is_sarcastic(piece)
        if has_injection or playing:
            reason = speech_acts.SYSTEM if has_injection else speech_acts.ROLE_PLAY
            judged.append(JudgedSentence(piece, reason))
        elif judged and _RETRACTION.fullmatch(piece):
            judged[-1] = JudgedSentence(judged[-1].text, speech_acts.JOKE)
        elif sarcastic and irony.is_praise(piece):
            judged.append(JudgedSentence(piece, speech_acts.JOKE))
        else:
            judged.extend(_obey(piece, own_names) or _judge(piece, own_names))
    return _apply_to_neighbours(judged)


def judge_requests(text: str) -> list[JudgedSentence]:
    """Return the sentences of a text in order, each with what it asks of memory and with no other reason than
    KEPT_OUT and FORGETTING.
    """
    found = ((piece, find_request(piece)) for piece in split_sentences(text))
    judged = [
        JudgedSentence(piece, _REASONS.get(request.kind, "") if request else "", request)
        for piece, request in found
    ]
    return _apply_to_neighbours(judged)


def join_statements(judged: Sequence[JudgedSentence]) -> str:
    """Return the sentences that may state a fact, joined by spaces."""
    return " ".join(s.text for s in judged if not s.reason)


def split_into_segments(judged: Sequence[JudgedSentence]) -> list[str]:
    """Return the statements in segments for the extractor: a small model reports only the first of several.

    A sentence that begins with a pronoun ("It is written in Go") stays with the sentence before it. A long
    message gives segments of several sentences, at most `_MAX_SEGMENTS` segments.
    """
    segments: list[str] = []
    previous_is_statement = False
    for sentence in judged:
        if not sentence.reason and previous_is_statement and _REFERS_BACK.search(sentence.text):
            segments[-1] += f" {sentence.text}"
        elif not sentence.reason:
            segments.extend(split_second_statements(sentence.text))
        previous_is_statement = not sentence.reason
    size = -(-len(segments) // _MAX_SEGMENTS) or 1
    return [" ".join(segments[start : start + size]) for start in range(0, len(segments), size)]


def split_second_statements(sentence: str) -> list[str]:
    """Split before each further first-person statement, if every piece is a likely statement by itself.

    The first piece must be in the first person too: "dairy and I parted ways" is one statement.
    """
    pieces = [""]
    end = 0
    for cut in _SECOND_STATEMENT.finditer(sentence):
        pieces[-1] = sentence[end : cut.start()]
        pieces.append("")
        end = cut.end()
    pieces[-1] = sentence[end:]
    are_own = speech_acts.is_first_person(pieces[0]) and all(map(is_likely_statement, pieces))
    return pieces if are_own else [sentence]


def find_supporting_sentence(
    fact: str, masked: str, own_names: frozenset[str] = frozenset()
) -> JudgedSentence | None:
    """Return the sentence that shares the most content stems with the fact; None if none shares any."""
    wanted = extract_content_stems(fact)
    best: JudgedSentence | None = None
    most = 0
    for sentence in judge_sentences(masked, own_names=own_names):
        shared = len(wanted & extract_content_stems(sentence.text))
        # With equal counts a statement wins over a question: the user may ask about what they just said.
        if shared > most or (shared == most and shared and best and best.reason and not sentence.reason):
            best, most = sentence, shared
    return best


def _obey(sentence: str, own_names: frozenset[str]) -> list[JudgedSentence]:
    """Judge a sentence that asks something of memory, [] for others. Only what is to be remembered, and what
    the user says about something wrong, may state a fact.
    """
    request = find_request(sentence)
    if request is None:
        return []
    if request.kind in _REASONS:
        return [JudgedSentence(sentence, _REASONS[request.kind], request)]
    if not request.about:
        return [JudgedSentence(sentence, speech_acts.REQUEST, request)]
    return [replace(judged, request=request) for judged in _judge(request.about, own_names)]


def _apply_to_neighbours(judged: list[JudgedSentence]) -> list[JudgedSentence]:
    """Apply requests that stand alone: "Don't save that." keeps out the sentence before it, or the next one
    if it is the first; "Delete that." and "Keep that in mind." are about the sentence before them; "That's
    wrong." is about the next one.
    """
    for index, sentence in enumerate(judged):
        request = sentence.request
        if request is None or request.about or len(judged) == 1:
            continue
        if request.kind is RequestKind.KEEP_OUT:
            other = index - 1 if index else index + 1
            judged[other] = replace(judged[other], reason=speech_acts.KEPT_OUT)
        elif request.kind is RequestKind.WRONG and index + 1 < len(judged):
            following = replace(request, about=judged[index + 1].text)
            judged[index + 1] = replace(judged[index + 1], request=following)
        elif request.kind is not RequestKind.WRONG and index and judged[index - 1].request is None:
            earlier = judged[index - 1]
            meant = replace(request, about=earlier.text)
            reason = _REASONS.get(request.kind, earlier.reason)
            judged[index - 1] = replace(earlier, reason=reason, request=meant)
    return judged


def _judge(sentence: str, own_names: frozenset[str]) -> list[JudgedSentence]:
    """Judge a sentence; the statement before a question is split off and kept ("I'm a nurse, what…?")."""
    if REDACTED in sentence:
        clean = ", ".join(part for part in split_clauses(sentence) if REDACTED not in part)
        return _judge(clean, own_names) if clean else [JudgedSentence(sentence, speech_acts.UNSAFE)]
    reason = (
        _find_refusal_reason(sentence, own_names)
        or _find_hedge_reason(sentence)
        or attribution.refuse_other_subject(sentence)
    )
    if reason == speech_acts.QUESTION:
        statement, question = _split_opening_statement(sentence)
        if statement:
            return [JudgedSentence(statement), JudgedSentence(question, reason)]
    is_own = speech_acts.is_first_person(sentence) or reason == speech_acts.WORLD
    if reason in _OVERRULED and is_own and states_fact(sentence):
        reason = ""
    return [JudgedSentence(sentence, reason)]


def is_likely_statement(sentence: str) -> bool:
    """Return whether a sentence probably states a fact about the user or says how to answer from now on.

    Without weights for the embedder only the latter is known.
    """
    return states_fact(sentence) or speech_acts.is_standing_request(sentence)


def states_fact(sentence: str) -> bool:
    """Return whether the classifier expects a fact in a sentence; False without weights for the embedder."""
    return _estimate(sentence) is Likelihood.LIKELY


def may_state_fact(sentence: str) -> bool:
    """Return whether a sentence may state a fact; True without weights for the embedder."""
    return _estimate(sentence) is not Likelihood.UNLIKELY or speech_acts.is_standing_request(sentence)


def score(sentence: str) -> float | None:
    """Return the log-odds that a sentence states a fact; None without weights for the embedder."""
    return score_statement(sentence, registry.embedder())


def _estimate(sentence: str) -> Likelihood:
    return estimate_likelihood(sentence, registry.embedder())


def _find_refusal_reason(sentence: str, own_names: frozenset[str]) -> str:
    """Return the reason code of `find_refusal_reason`; "" for a statement about a thing of the user."""
    reason = speech_acts.find_refusal_reason(sentence)
    return "" if reason == speech_acts.WORLD and is_about_own(sentence, own_names) else reason


def is_about_own(sentence: str, own_names: frozenset[str]) -> bool:
    """Return whether the sentence begins with one of the names, after at most two other words."""
    return bool(find_own_name(sentence, own_names))


def find_own_name(sentence: str, own_names: Iterable[str]) -> str:
    """Return the name with which the sentence begins, after at most two other words; "" without one."""
    words = " ".join(tokenize(sentence)[:5]).casefold()
    begins = (name for name in own_names if re.match(rf"(?:\S+ ){{0,2}}{re.escape(name)}\b", words))
    return next(begins, "")


def _find_hedge_reason(sentence: str) -> str:
    """Return the reason HEDGED if a clause is hedged and every first-person clause is, else ""."""
    parts = split_clauses(sentence)
    sure = [part for part in parts if speech_acts.is_first_person(part) and not speech_acts.is_hedged(part)]
    # A clause without "I" shares the hedge of its sentence: "I'm considering it, nothing is settled".
    return speech_acts.HEDGED if any(map(speech_acts.is_hedged, parts)) and not sure else ""


def _split_opening_statement(sentence: str) -> tuple[str, str]:
    """Return a first-person statement and the question after it; ("", sentence) without a statement."""
    for match in re.finditer(r"[,，:]\s*|\s[–—-]\s|\s(?:and|so|und|et|y|e)\s", sentence):
        head, tail = sentence[: match.start()].strip(), sentence[match.end() :].strip()
        if (
            len(tokenize(head)) >= 3
            and speech_acts.is_first_person(head)
            and not speech_acts.starts_like_question(head)
            and speech_acts.starts_like_question(tail)
        ):
            return head, tail
    return "", sentence
