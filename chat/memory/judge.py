"""Asks the model what a candidate does to the most similar stored facts, where the rules do not decide.

A grammar restricts the answer to the choices that the words of both facts allow.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chat.errors import FormatNotKept
from chat.llm.types import GenerationOptions, Lane, Provider, StopFlag
from chat.memory.candidates import FactCandidate
from chat.memory.change_markers import extract_topic_stems, states_addition, states_change, states_ending
from chat.memory.consolidate import (
    Action,
    Opinion,
    compute_similarity,
    decide_by_rules,
    differs_only_in_numbers,
)
from chat.memory.consolidation_prompt import build_prompt
from chat.memory.cosines import get_thresholds
from chat.memory.kind_rules import match_first_rule
from chat.memory.merge import MAX_MERGED, is_merged, loses_words
from chat.memory.normalize import normalize_sentence
from chat.memory.text_similarity import contains_stems, extract_names, extract_numbers, is_negated
from chat.models import Fact

SLOT = "consolidate"
UNDECIDED = "comparison-undecided"
_MAX_TOKENS = 12
# A merged text has about as many tokens as the two texts together.
_MAX_TOKENS_TO_MERGE = 80
# The prompt contains at most this many facts. One fact has about 15 tokens.
_MAX_FACTS = 10
# Kinds whose new value may replace an old one that shares no word with it, if the message states a change: a
# barber who is a florist now.
_REPLACEABLE_KINDS = frozenset({"job", "reply_style"})
# Kinds that are not ended by words such as "sold" or "finished": who finished a coffee still likes coffee.
_LASTING_KINDS = frozenset(
    {"likes", "dislikes", "name", "age", "origin", "language", "reply_language", "units"}
)

_ANSWER = re.compile(r"^(?:(ADD)|(NOOP|UPDATE|DELETE) (\d+)(?:: (.+))?)$")
_ACTIONS = {"NOOP": Action.REINFORCE, "UPDATE": Action.SUPERSEDE, "DELETE": Action.END}
_REASONS = {
    "NOOP": "said again in other words",
    "UPDATE": "replaced by what was said later",
    "DELETE": "the user said that it is over",
}
_MERGED = "completed by what was said later"


@dataclass(slots=True)
class Verdict:
    """The model's opinion, None if it answered ADD or was not asked; `failure` if it did not decide."""

    opinion: Opinion | None = None
    failure: str = ""


@dataclass(frozen=True, slots=True)
class _Question:
    """A question to the model: the user's sentence, the candidate's text ("" for an ending), stored facts."""

    sentence: str
    candidate: str
    facts: Sequence[Fact]
    # The allowed answers, such as "UPDATE 2", with the number of their fact.
    allowed: dict[str, int]
    # The allowed answers that a text must follow: "UPDATE 2: User is building a shed of oak".
    merging: frozenset[str] = frozenset()


def judge_candidate(
    provider: Provider,
    candidate: FactCandidate,
    vector: NDArray[np.float32] | None,
    live: Sequence[Fact],
    embedder_name: str,
    stop: StopFlag | None = None,
    *,
    lane: Lane = Lane.BACKGROUND,
) -> Verdict:
    """Return the model's verdict on a candidate; it is empty where the rules decide or ADD is certain.

    `vector` is the candidate's unit vector (float32). Blocks while the model answers: call it from a worker
    thread, outside any transaction. Raises `ProviderError`.
    """
    if decide_by_rules(candidate, vector, live, embedder_name) is not None:
        return Verdict()
    if states_addition(candidate.quote):
        return Verdict()
    facts = _find_similar_facts(candidate, vector, live, embedder_name)
    min_cosine = get_thresholds(embedder_name).may_repeat
    allowed: dict[str, int] = {}
    merging = set()
    for number, fact in enumerate(facts, 1):
        verbs = _get_ending_verbs(candidate.quote, fact)
        if _may_replace(candidate.quote, candidate, fact):
            verbs.append("UPDATE")
            if loses_words(candidate.text, fact.text, candidate.quote):
                merging.add(f"UPDATE {number}")
        if _may_repeat(candidate, fact, compute_similarity(vector, fact, embedder_name) or 0.0, min_cosine):
            verbs.append("NOOP")
        allowed |= {f"{verb} {number}": number for verb in verbs}
    question = _Question(candidate.quote, candidate.text, facts, allowed, frozenset(merging))
    return _ask(provider, question, stop, lane)


def judge_ending(
    provider: Provider,
    sentence: str,
    live: Sequence[Fact],
    spared: Sequence[FactCandidate],
    stop: StopFlag | None = None,
    *,
    lane: Lane = Lane.BACKGROUND,
) -> Verdict:
    """Return which fact a sentence such as "I sold my boat" ends.

    A fact that a candidate in `spared`, from the same message, confirms is not ended. Blocks like
    `judge_candidate`; raises `ProviderError`.
    """
    topic = extract_topic_stems(sentence)
    confirmed = [extract_topic_stems(candidate.text) for candidate in spared]
    scored = [
        (len(shared) / len(extract_topic_stems(fact.text)), fact)
        for fact in _filter_by_person(match_first_rule(sentence) == "family", live)
        if (shared := topic & extract_topic_stems(fact.text))
        and not any(contains_stems(stems, extract_topic_stems(fact.text)) for stems in confirmed)
    ]
    facts = [fact for _, fact in sorted(scored, key=lambda s: -s[0])][:_MAX_FACTS]
    allowed = {
        f"{verb} {n}": n for n, fact in enumerate(facts, 1) for verb in _get_ending_verbs(sentence, fact)
    }
    return _ask(provider, _Question(sentence, "", facts, allowed), stop, lane)


def _find_similar_facts(
    candidate: FactCandidate, vector: NDArray[np.float32] | None, live: Sequence[Fact], embedder_name: str
) -> list[Fact]:
    """Return at most _MAX_FACTS facts that may have the candidate's topic, the most similar first.

    Facts of all categories: an event ("sold the boat") may end a project.
    """
    topic = extract_topic_stems(candidate.text) | extract_topic_stems(candidate.quote)
    same_topic = get_thresholds(embedder_name).same_topic
    scored = []
    for fact in _filter_by_person(candidate.kind == "family", live):
        fact_topic = extract_topic_stems(fact.text)
        shared = len(topic & fact_topic) / len(fact_topic) if fact_topic else 0.0
        cosine = compute_similarity(vector, fact, embedder_name) or 0.0
        same_category = fact.category == candidate.category
        if shared or (same_category and cosine >= same_topic):
            scored.append((max(shared, cosine), fact))
        elif fact.kind == candidate.kind and fact.kind in _REPLACEABLE_KINDS:
            scored.append((cosine, fact))
    return [fact for _, fact in sorted(scored, key=lambda s: -s[0])[:_MAX_FACTS]]


def _filter_by_person(relative: bool, live: Sequence[Fact]) -> list[Fact]:
    """Return the facts about relatives if `relative`, else all facts."""
    return [fact for fact in live if not relative or fact.kind in ("family", "relationship")]


def _get_ending_verbs(sentence: str, fact: Fact) -> list[str]:
    """Return ["DELETE"] if the user's sentence may end the fact, else []."""
    may_end = (
        states_ending(sentence)
        and not states_ending(fact.text)
        and bool(extract_topic_stems(sentence) & extract_topic_stems(fact.text))
    )
    return ["DELETE"] if may_end and fact.kind not in _LASTING_KINDS else []


def _may_replace(sentence: str, candidate: FactCandidate, fact: Fact) -> bool:
    topic, fact_topic = extract_topic_stems(candidate.text), extract_topic_stems(fact.text)
    if differs_only_in_numbers(candidate, fact):
        return True
    if not states_change(sentence):
        # The message states no change: only a candidate that contains all of the stored fact may replace it.
        contains_fact = contains_stems(topic, fact_topic)
        return contains_fact and extract_names(fact.text) <= extract_names(candidate.text)
    shares_topic = bool((topic | extract_topic_stems(sentence)) & fact_topic)
    return shares_topic or (fact.kind == candidate.kind and fact.kind in _REPLACEABLE_KINDS)


def _may_repeat(candidate: FactCandidate, fact: Fact, cosine: float, min_cosine: float) -> bool:
    # "Allergic to shellfish" shares a word with "allergic to nuts" but is a new fact.
    says_nothing_new = contains_stems(extract_topic_stems(fact.text), extract_topic_stems(candidate.text))
    return (
        (says_nothing_new or cosine >= min_cosine)
        and extract_numbers(candidate.text) <= extract_numbers(fact.text)
        and extract_names(candidate.text) <= extract_names(fact.text)
        and is_negated(candidate.text) == is_negated(fact.text)
        and states_ending(candidate.text) == states_ending(fact.text)
    )


def _ask(provider: Provider, question: _Question, stop: StopFlag | None, lane: Lane) -> Verdict:
    if not question.allowed:
        return Verdict()
    options = GenerationOptions(
        slot=SLOT,
        lane=lane,
        max_tokens=_MAX_TOKENS_TO_MERGE if question.merging else _MAX_TOKENS,
        grammar=_build_grammar(question),
        stop=stop,
    )
    for _ in range(2):
        try:
            completion = provider.complete(
                build_prompt([f.text for f in question.facts], question.sentence, question.candidate), options
            )
        except FormatNotKept:
            # The provider has repeated the call itself.
            break
        match = _ANSWER.match(completion.text.strip())
        if match and match[1]:
            return Verdict()
        if match and f"{match[2]} {match[3]}" in question.allowed:
            return Verdict(_build_opinion(question, match))
    return Verdict(failure=UNDECIDED)


def _build_grammar(question: _Question) -> str:
    """Return a GBNF grammar of the allowed answers."""
    choices = [f'"{c}: " text' if c in question.merging else f'"{c}"' for c in ("ADD", *question.allowed)]
    root = f"root ::= {' | '.join(choices)}"
    return f"{root}\ntext ::= [^ \\n\\r] [^\\n\\r]{{0,{MAX_MERGED - 1}}}" if question.merging else root


def _build_opinion(question: _Question, answer: re.Match[str]) -> Opinion | None:
    """Return the opinion of an answer; None for a merged text that leaves something out or adds something.

    Without an opinion the candidate is added beside the fact, so that nothing is lost.
    """
    choice = f"{answer[2]} {answer[3]}"
    fact = question.facts[question.allowed[choice] - 1]
    if choice not in question.merging:
        return Opinion(_ACTIONS[answer[2]], fact.pk, fact.version, _REASONS[answer[2]])
    text = normalize_sentence(answer[4] or "", question.sentence)
    if not is_merged(text, question.candidate, fact.text):
        return None
    return Opinion(Action.SUPERSEDE, fact.pk, fact.version, _MERGED, text)
