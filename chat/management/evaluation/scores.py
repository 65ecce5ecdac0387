"""Scores the outcomes of labelled cases: pure functions of a case and its outcome.

An expected fact is met by words alone; category accuracy is computed over met facts; only live facts count.
Totals are over all cases; a ratio with an empty denominator is 1.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .cases import Case, ExtractionCase, RecallCase, ReplyCase, UpdateCase, WordingsCase

_WHOLE_WORD = 3  # longest word that must match as a whole
# Chinese and Japanese have no blanks between words, so there are no whole words to match.
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class KnownFact:
    """A live fact after a case."""

    text: str
    category: str
    kind: str = ""
    mention_count: int = 1


@dataclass(slots=True)
class CaseOutcome:
    """The result of a case: live facts or the prompt, the seconds of each message, refusals and errors."""

    facts: list[KnownFact] = field(default_factory=list)
    prompt: str = ""
    # Several samples of the reply.
    replies: list[str] = field(default_factory=list)
    # How long the extraction of each message took, of those that the model read.
    seconds: list[float] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Score:
    """The counts of one case, and its details for output.

    `share` is the share of correct samples, for cases of replies only.
    """

    id: str
    correct: bool
    details: dict[str, Any]
    share: float = 0.0
    expected: int = 0
    met: int = 0
    right_category: int = 0
    stored: int = 0
    answering: int = 0
    trapped: bool = False
    seconds: list[float] = field(default_factory=list)


def contains_word(text: str, word: str) -> bool:
    """Return whether a text contains a word, ignoring case.

    Words of up to three letters must be whole words.
    """
    text, word = text.casefold(), word.casefold()
    if len(word) <= _WHOLE_WORD and not _UNSPACED.search(word):
        return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None
    return word in text


def score_case(case: Case, outcome: CaseOutcome) -> Score:
    """Return the score of a case."""
    if isinstance(case, ExtractionCase):
        return _judge_extraction(case, outcome)
    if isinstance(case, UpdateCase):
        return _judge_update(case, outcome)
    if isinstance(case, WordingsCase):
        return _judge_wordings(case, outcome)
    if isinstance(case, ReplyCase):
        return _judge_replies(case, outcome)
    return _judge_recall(case, outcome)


def _judge_extraction(case: ExtractionCase, outcome: CaseOutcome) -> Score:
    answering: set[int] = set()
    missed, wrong = [], []
    for group in case.expect:
        hits = [i for i, f in enumerate(outcome.facts) if any(contains_word(f.text, w) for w in group.any)]
        answering.update(hits)
        if not hits:
            missed.append(group.any)
        elif all(outcome.facts[i].category != group.category for i in hits):
            wrong.append({"fact": outcome.facts[hits[0]].text, "expected": group.category})
    allowed = [
        i
        for i, f in enumerate(outcome.facts)
        if i in answering or any(contains_word(f.text, word) for word in case.allow)
    ]
    extra = [f.text for i, f in enumerate(outcome.facts) if i not in allowed]
    traps = [word for word in case.forbid if any(contains_word(f.text, word) for f in outcome.facts)]
    met = len(case.expect) - len(missed)
    return Score(
        id=case.id,
        correct=not (missed or extra or traps or wrong),
        details={
            **_common_details(outcome),
            "missed": missed,
            "extra": extra,
            "traps": traps,
            "wrong_category": wrong,
            "seconds": [round(s, 2) for s in outcome.seconds],
        },
        expected=len(case.expect),
        met=met,
        right_category=met - len(wrong),
        stored=len(outcome.facts),
        answering=len(allowed),
        trapped=bool(traps),
        seconds=outcome.seconds,
    )


def _judge_update(case: UpdateCase, outcome: CaseOutcome) -> Score:
    texts = [fact.text for fact in outcome.facts]
    missing = [g for g in case.keeps_or_gains if not any(contains_word(t, w) for t in texts for w in g)]
    kept = [word for word in case.loses if any(contains_word(t, word) for t in texts)]
    too_many = len(texts) > case.max_facts
    return Score(
        id=case.id,
        correct=not (missing or kept or too_many),
        details={
            "before": case.facts,
            **_common_details(outcome),
            "kept": [t for t in texts if t in case.facts],
            "gained": [t for t in texts if t not in case.facts],
            "lost": [t for t in case.facts if t not in texts],
            "missing": missing,
            "not_lost": kept,
            "too_many": too_many,
        },
        seconds=outcome.seconds,
    )


def _judge_recall(case: RecallCase, outcome: CaseOutcome) -> Score:
    missing = [text for text in case.in_prompt if not contains_word(outcome.prompt, text)]
    unwanted = [text for text in case.not_in_prompt if contains_word(outcome.prompt, text)]
    return Score(
        id=case.id,
        correct=not (missing or unwanted),
        details={"prompt": outcome.prompt, "missing": missing, "unwanted": unwanted},
    )


def _judge_replies(case: ReplyCase, outcome: CaseOutcome) -> Score:
    faults = [_find_reply_faults(case, reply) for reply in outcome.replies]
    right = [not found for found in faults]
    return Score(
        id=case.id,
        correct=all(right),
        details={"prompt": outcome.prompt, "replies": outcome.replies, "faults": faults},
        share=statistics.mean(right),
    )


def _find_reply_faults(case: ReplyCase, reply: str) -> list[str]:
    """Return what is wrong with a reply, in words."""
    small = reply.casefold()
    faults = [
        f"lacks {' or '.join(group)}"
        for group in case.reply_any
        if not any(text.casefold() in small for text in group)
    ]
    faults += [f"contains {text!r}" for text in case.reply_none if text.casefold() in small]
    count = len(reply.split())
    return faults + ([f"has {count} words"] if 0 < case.max_words < count else [])


def _judge_wordings(case: WordingsCase, outcome: CaseOutcome) -> Score:
    wanted = sorted(len(wordings) for wordings in case.facts)
    return Score(
        id=case.id,
        correct=sorted(fact.mention_count for fact in outcome.facts) == wanted,
        details=_common_details(outcome),
        seconds=outcome.seconds,
    )


def _common_details(outcome: CaseOutcome) -> dict[str, Any]:
    return {
        "facts": [
            {"text": f.text, "category": f.category, "kind": f.kind, "mention_count": f.mention_count}
            for f in outcome.facts
        ],
        "refused": outcome.refused,
        "errors": outcome.errors,
    }


def summarise_scores(kind: str, scores: Sequence[Score]) -> dict[str, float | int]:
    """Return the totals over all cases."""
    if kind == "replies":
        return {"correct_share": round(statistics.mean(s.share for s in scores), 4) if scores else 1.0}
    if kind != "extraction":
        return {"correct_share": _ratio(sum(s.correct for s in scores), len(scores))}
    total: Callable[[str], int] = lambda name: sum(getattr(s, name) for s in scores)  # noqa: E731
    seconds = [second for score in scores for second in score.seconds]
    return {
        "recall": _ratio(total("met"), total("expected")),
        "precision": _ratio(total("answering"), total("stored")),
        "category_accuracy": _ratio(total("right_category"), total("met")),
        "cases_with_trap": total("trapped"),
        "seconds_per_message_p50": round(statistics.median(seconds), 2) if seconds else 0.0,
    }


def _ratio(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 1.0
