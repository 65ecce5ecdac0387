"""No regular expression takes four times as long for a text twice as long."""

from __future__ import annotations

import re
import time

import pytest

from tests.hostile_patterns import build_hostile_texts, find_patterns

LENGTH = 4000
# In seconds of processor time. Shorter searches cannot be timed well, so they count as fast enough. A search
# in quadratic time takes far longer for LENGTH characters.
SHORTEST = 0.02
# How many times as long twice the text may take. In linear time it takes 2 times, in quadratic time 4 times.
MOST = 3.0
# What these read is bounded.
BOUNDED = {
    "chat.llm.remote.constrained:": "the program's own grammars",
    "chat.memory.normalize:": "a fact, or the sentence that taught it",
    "chat.memory.consolidate:": "a sentence, at most sentences.LONGEST_SENTENCE characters",
    "chat.memory.irony:": "a sentence",
    "chat.memory.kind_patterns:": "a sentence or a fact",
    "chat.memory.graph.question_words:": "the beginning of a question, at most questions._MAX_QUESTION",
    "chat.past_chats.names:": "the characters before a word, at most _LOOK_BACK",
}
PATTERNS = find_patterns()


def measure(pattern: re.Pattern[str], text: str) -> float:
    """Return the least processor time of three searches for all matches."""
    times = []
    for _ in range(3):
        began = time.process_time()
        for _match in pattern.finditer(text):
            pass
        times.append(time.process_time() - began)
        if times[-1] < SHORTEST:
            break
    return min(times)


def is_quadratic(pattern: re.Pattern[str]) -> str:
    """Return the beginning of a text for which a search takes quadratic time, "" without any."""
    pairs = zip(build_hostile_texts(pattern, LENGTH), build_hostile_texts(pattern, 2 * LENGTH), strict=True)
    for short, long in pairs:
        took = measure(pattern, long)
        if took >= SHORTEST and took > MOST * measure(pattern, short):
            return long[:40]
    return ""


def test_patterns_are_found_in_all_parts_of_the_program():
    assert len(PATTERNS) > 250
    assert {"chat.memory.clauses:_SECOND_STATEMENT", "chat.memory.mask:_QUOTES"} <= PATTERNS.keys()


@pytest.mark.parametrize("pattern", [r"\s+x", r"[a-z]+1", r"\w+@\w+", r",?\s+(?:and|or)", r"\w+\s*="])
def test_a_quadratic_pattern_is_recognised(pattern):
    # Beside other processes a measurement may miss it.
    assert any(is_quadratic(re.compile(pattern, re.DOTALL)) for _ in range(3))


@pytest.mark.parametrize("name", sorted(name for name in PATTERNS if not name.startswith(tuple(BOUNDED))))
def test_twice_the_text_takes_about_twice_the_time(name):
    # Beside other processes one measurement may be wrong.
    assert "" in (is_quadratic(PATTERNS[name]) for _ in range(3))


def test_each_exception_is_there():
    assert all(any(name.startswith(part) for name in PATTERNS) for part in BOUNDED)
