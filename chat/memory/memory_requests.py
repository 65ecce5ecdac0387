"""Detects what a sentence asks of memory: to remember, to forget, to correct, or to keep something out.

Two ways, of which the first decides where it finds a request: wordings, and a classifier over the embedder's
vectors. Their words are data, one file a language in `languages`. A request stands at the beginning of a
sentence ("Please forget that …") or at its end ("…, but don't save that").
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

from chat.llm.registry import registry

from .mask import count_words
from .request_about import addresses_assistant, find_about
from .request_classifier import NONE, classify_sentence, classify_suspect
from .request_features import FOLDER, MAX_SENTENCE, Suspect, find_suspect

_END_MARKS = " \t\n.!。！…"
_QUESTION_MARKS = "?？"
_SENTENCE_BREAK = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])|\n+")
# Characters of a message up to which its sentences are classified while it is being sent.
_MAX_EMBEDDED = 4000
# Between a statement and a request after it; between a request and what it is about.
_BREAK = r"(?:\s*[,，;；:：.。…()]+\s*|\s+[-–—]+\s*)"
# A request to keep something out that has fewer words is about what was said beside it.
_MIN_WORDS_OF_CONTENT = 7
_GAP = r"[\s,，;；:：–—-]*"


class RequestKind(StrEnum):
    """What memory is asked to do. `WRONG` says that something is not true."""

    REMEMBER = "remember"
    FORGET = "forget"
    WRONG = "wrong"
    KEEP_OUT = "keep-out"


@dataclass(frozen=True, slots=True)
class MemoryRequest:
    """A request, and what it is about in the user's words; "" if it is about what was said beside it."""

    kind: RequestKind
    about: str


@dataclass(frozen=True, slots=True)
class _Language:
    """The compiled wordings of a language: patterns with a group `about`, in the order of their priority."""

    patterns: tuple[tuple[RequestKind, re.Pattern[str]], ...]
    tail: re.Pattern[str]
    reason: re.Pattern[str]
    pronouns: re.Pattern[str]
    negation: re.Pattern[str]


def find_request(sentence: str) -> MemoryRequest | None:
    """Return what a sentence asks of memory, None if it asks nothing.

    The sentence is embedded, where there is an embedder. If the classifier is sure that a sentence with a
    suspicious word asks nothing, a wording to remember, forget or correct counts for nothing ("Forget that
    idea, …").
    """
    worded = find_worded_request(sentence)
    if worded is not None and worded.kind is RequestKind.KEEP_OUT:
        return worded
    suspect = find_suspect(sentence)
    if suspect is None:
        return worded or _classify_by_meaning(sentence)
    judgement = classify_suspect(suspect, registry.embedder())
    if worded is not None:
        return None if judgement.is_surely_none else _narrow_forgotten(worded, suspect)
    return _build_request(judgement.kind, suspect) if judgement.kind != NONE else None


def _classify_by_meaning(sentence: str) -> MemoryRequest | None:
    """Return what a sentence asks by its vector alone: "that thing you've got about my job can go"."""
    text = sentence.strip()
    if len(text) > MAX_SENTENCE:
        return None
    kind = classify_sentence(text, registry.embedder())
    # What people ask to remember without a known word differs too little from what they just tell.
    if kind in (NONE, RequestKind.REMEMBER):
        return None
    stands_alone = kind == RequestKind.KEEP_OUT and count_words(text) < _MIN_WORDS_OF_CONTENT
    return MemoryRequest(RequestKind(kind), "" if stands_alone else text)


def _narrow_forgotten(request: MemoryRequest, suspect: Suspect) -> MemoryRequest:
    """Return a request to forget without what is said to the assistant ("I'd rather you didn't know …")."""
    if request.kind is not RequestKind.FORGET or not addresses_assistant(request.about):
        return request
    return MemoryRequest(request.kind, find_about(request.kind, suspect) or request.about)


def _build_request(kind: str, suspect: Suspect) -> MemoryRequest | None:
    """Return the request of a classified suspect; None for a correction that denies nothing ("it's 42")."""
    about = find_about(kind, suspect)
    for language in _load_languages():
        about, _ = _strip_tail(about, language)
    if kind == RequestKind.WRONG and about and not is_negated_by_words(about):
        return None
    return MemoryRequest(RequestKind(kind), about)


def find_worded_request(sentence: str) -> MemoryRequest | None:
    """Return what a sentence asks of memory by its wording, None if no wording is known."""
    text = sentence.strip().strip("¿¡()（） ").replace("’", "'")
    if len(text) > MAX_SENTENCE:
        return None
    is_question = text.endswith(tuple(_QUESTION_MARKS))
    text = text.rstrip(_END_MARKS + _QUESTION_MARKS)
    for language in _load_languages():
        for kind, pattern in language.patterns:
            match = pattern.fullmatch(text)
            if match is None:
                continue
            about, tail = _strip_tail(match["about"] or "", language)
            polite = match.groupdict().get("polite") or ""
            # "Remember that we met?" asks the assistant; "Can you remember that …?" and "…, ok?" ask memory.
            if is_question and not (polite.strip() or tail) and "polite" in match.groupdict():
                continue
            if kind is RequestKind.FORGET:
                about = language.reason.sub("", about).strip(_END_MARKS + ",，")
            if kind in (RequestKind.FORGET, RequestKind.REMEMBER) and language.pronouns.fullmatch(about):
                continue
            # "Vergiss nicht, …"
            if kind is RequestKind.FORGET and language.negation.match(about):
                continue
            if kind is RequestKind.WRONG and about and not language.negation.search(about):
                continue
            return MemoryRequest(kind, about)
    return None


def is_negated_by_words(clause: str) -> bool:
    """Return whether a clause has a word of negation in any language."""
    return any(language.negation.search(clause) for language in _load_languages())


def find_requests(message: str) -> list[MemoryRequest]:
    """Return the requests of all sentences of a message, in order.

    Embeds suspects of a message of ordinary length; sending a long one must not wait for hundreds of vectors.
    """
    find = find_request if len(message) <= _MAX_EMBEDDED else find_worded_request
    return [request for sentence in _split(message) if (request := find(sentence)) is not None]


def find_worded_requests(message: str) -> list[MemoryRequest]:
    """Return the requests of all sentences of a message that have a known wording, in order."""
    return [request for sentence in _split(message) if (request := find_worded_request(sentence)) is not None]


def extract_requested_text(sentence: str) -> str:
    """Return what a sentence asks to remember; "" if it is no such request."""
    request = find_request(sentence)
    return request.about if request is not None and request.kind is RequestKind.REMEMBER else ""


def must_be_obeyed_at_once(message: str) -> bool:
    """Return whether a message asks memory to remember, forget or correct something.

    What it asks to keep out needs no haste: a message is never stored before it is read.
    """
    return are_urgent(find_requests(message))


def are_urgent(requests: Iterable[MemoryRequest]) -> bool:
    """Return whether one of the requests asks memory to remember, forget or correct something."""
    return any(r.kind is not RequestKind.KEEP_OUT and bool(r.about) for r in requests)


def keeps_out_next_message(message: str) -> bool:
    """Return whether a message only asks not to save something: it means what the user writes next."""
    request = find_request(message)
    return request is not None and request.kind is RequestKind.KEEP_OUT and not request.about


def _split(message: str) -> list[str]:
    return [part for part in _SENTENCE_BREAK.split(message) if part.strip()]


def _strip_tail(about: str, language: _Language) -> tuple[str, str]:
    """Return what a request is about without polite words after it, and those words."""
    match = language.tail.search(about)
    if match is None:
        return about.strip(), ""
    return about[: match.start()].strip(_END_MARKS + ",，"), match[0]


@cache
def _load_languages() -> tuple[_Language, ...]:
    return tuple(_compile(path) for path in sorted(FOLDER.glob("*.toml")))


def _compile(path: Path) -> _Language:
    words: dict[str, list[str]] = tomllib.loads(path.read_text(encoding="utf-8"))["requests"]
    # Chinese has no spaces, so its words have no boundaries.
    edge = "" if path.stem == "zh" else r"(?!\w)"
    start = "" if path.stem == "zh" else r"(?<!\w)"

    gap = "" if path.stem == "zh" else rf"(?:{_BREAK}|\s+)"

    def any_of(name: str) -> str:
        longest_first = sorted(words[name], key=len, reverse=True)
        return f"(?:{'|'.join(longest_first)})"

    polite = rf"(?P<polite>(?:{any_of('polite')}{edge}{_GAP})*)"
    polite_after = rf"(?:{any_of('polite')}{edge}{_GAP})*"
    before = rf"(?P<about>.+?)(?:{_BREAK}|\s+(?=(?:but|aber|mais|pero|ma|mas)\s)){polite_after}"
    after = rf"(?:{_BREAK}?\s*{any_of('tail')})*"
    patterns = (
        (RequestKind.KEEP_OUT, rf"{polite_after}{any_of('keep_out')}{edge}{_GAP}(?P<about>.*)"),
        (RequestKind.KEEP_OUT, rf"{before}{any_of('keep_out')}{edge}{after}[)）]?"),
        (RequestKind.WRONG, rf"{any_of('wrong')}(?:{_BREAK}(?P<about>.+))?"),
        (RequestKind.FORGET, rf"{polite}{any_of('forget')}{edge}(?:{any_of('that')})?{_GAP}(?P<about>.+)"),
        (RequestKind.FORGET, rf"{before}{any_of('forget_end')}{after}"),
        (RequestKind.REMEMBER, rf"{polite}{any_of('remember')}{any_of('that')}\s*(?P<about>.+)"),
        (RequestKind.REMEMBER, rf"{before}{any_of('remember_end')}{after}"),
    )
    flags = re.I | re.S
    return _Language(
        tuple((kind, re.compile(pattern, flags)) for kind, pattern in patterns),
        re.compile(rf"(?:^|{gap}){any_of('tail')}$", flags),
        re.compile(rf"{gap}{any_of('reason')}$", flags),
        re.compile(any_of("pronouns"), flags),
        re.compile(rf"{start}{any_of('negation')}{edge}", flags),
    )
