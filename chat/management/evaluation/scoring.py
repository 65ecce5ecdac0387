"""What a run is worth: pure functions over cases and what was known after them.

Groups are met by words alone, category accuracy is taken over met groups, only live facts' text counts, sums
are over all cases, an empty denominator gives 1.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .cases import Case, ExtractionCase, RecallCase, UpdateCase, WordingsCase

_WHOLE_WORD = 3  # a word of up to three letters matches whole words only
# Chinese and Japanese put no spaces between words, so there is no whole word to match.
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class Known:
    """A live fact after a case ran."""

    text: str
    category: str
    kind: str = ""
    mention_count: int = 1


@dataclass(slots=True)
class Outcome:
    """What a case left behind: live facts, or the prompt's words about the user, and what it cost."""

    facts: list[Known] = field(default_factory=list)
    prompt: str = ""
    # Of each message that the model read.
    seconds: list[float] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Score:
    """One case's counts, and its details as they are printed."""

    id: str
    correct: bool
    details: dict[str, Any]
    expected: int = 0
    met: int = 0
    right_category: int = 0
    stored: int = 0
    answering: int = 0
    trapped: bool = False
    seconds: list[float] = field(default_factory=list)


def says(text: str, word: str) -> bool:
    """Tell whether a text contains a word, ignoring case; short words must stand alone."""
    text, word = text.casefold(), word.casefold()
    if len(word) <= _WHOLE_WORD and not _UNSPACED.search(word):
        return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None
    return word in text


def judge(case: Case, outcome: Outcome) -> Score:
    """Return what a case is worth."""
    if isinstance(case, ExtractionCase):
        return _judge_extraction(case, outcome)
    if isinstance(case, UpdateCase):
        return _judge_update(case, outcome)
    if isinstance(case, WordingsCase):
        return _judge_wordings(case, outcome)
    return _judge_recall(case, outcome)


def _judge_extraction(case: ExtractionCase, outcome: Outcome) -> Score:
    answering: set[int] = set()
    missed, wrong = [], []
    for group in case.expect:
        hits = [i for i, f in enumerate(outcome.facts) if any(says(f.text, w) for w in group.any)]
        answering.update(hits)
        if not hits:
            missed.append(group.any)
        elif all(outcome.facts[i].category != group.category for i in hits):
            wrong.append({"fact": outcome.facts[hits[0]].text, "expected": group.category})
    allowed = [
        i
        for i, f in enumerate(outcome.facts)
        if i in answering or any(says(f.text, word) for word in case.allow)
    ]
    extra = [f.text for i, f in enumerate(outcome.facts) if i not in allowed]
    traps = [word for word in case.forbid if any(says(f.text, word) for f in outcome.facts)]
    met = len(case.expect) - len(missed)
    return Score(
        id=case.id,
        correct=not (missed or extra or traps or wrong),
        details={
            **_common(outcome),
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


def _judge_update(case: UpdateCase, outcome: Outcome) -> Score:
    texts = [fact.text for fact in outcome.facts]
    missing = [g for g in case.keeps_or_gains if not any(says(t, w) for t in texts for w in g)]
    kept = [word for word in case.loses if any(says(t, word) for t in texts)]
    too_many = len(texts) > case.max_facts
    return Score(
        id=case.id,
        correct=not (missing or kept or too_many),
        details={
            "before": case.facts,
            **_common(outcome),
            "kept": [t for t in texts if t in case.facts],
            "gained": [t for t in texts if t not in case.facts],
            "lost": [t for t in case.facts if t not in texts],
            "missing": missing,
            "not_lost": kept,
            "too_many": too_many,
        },
        seconds=outcome.seconds,
    )


def _judge_recall(case: RecallCase, outcome: Outcome) -> Score:
    missing = [text for text in case.in_prompt if not says(outcome.prompt, text)]
    unwanted = [text for text in case.not_in_prompt if says(outcome.prompt, text)]
    return Score(
        id=case.id,
        correct=not (missing or unwanted),
        details={"prompt": outcome.prompt, "missing": missing, "unwanted": unwanted},
    )


def _judge_wordings(case: WordingsCase, outcome: Outcome) -> Score:
    wanted = sorted(len(wordings) for wordings in case.facts)
    return Score(
        id=case.id,
        correct=sorted(fact.mention_count for fact in outcome.facts) == wanted,
        details=_common(outcome),
        seconds=outcome.seconds,
    )


def _common(outcome: Outcome) -> dict[str, Any]:
    return {
        "facts": [
            {"text": f.text, "category": f.category, "kind": f.kind, "mention_count": f.mention_count}
            for f in outcome.facts
        ],
        "refused": outcome.refused,
        "errors": outcome.errors,
    }


def summary(kind: str, scores: Sequence[Score]) -> dict[str, float | int]:
    """Return the figures over all cases."""
    if kind != "extraction":
        return {"correct_share": _share(sum(s.correct for s in scores), len(scores))}
    total: Callable[[str], int] = lambda name: sum(getattr(s, name) for s in scores)  # noqa: E731
    seconds = [second for score in scores for second in score.seconds]
    return {
        "recall": _share(total("met"), total("expected")),
        "precision": _share(total("answering"), total("stored")),
        "category_accuracy": _share(total("right_category"), total("met")),
        "cases_with_trap": total("trapped"),
        "seconds_per_message_p50": round(statistics.median(seconds), 2) if seconds else 0.0,
    }


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 1.0
