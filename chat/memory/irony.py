"""Detects jokes and sarcasm: sentences that do not mean what they say."""

from __future__ import annotations

import re


def _compile_any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.I)


# "lol I'm a genius", "sure, I love Mondays", "nothing I enjoy more than queuing", "I'm basically a zombie".
_JOKE = _compile_any(
    r"\b(?:haha+|lol|lmao|rofl|jk|just kidding|kidding)\b.*\bi(?:'m| am)\b|\bi(?:'m| am)\b.*\b(?:jk|"
    r"just kidding|lmao|lol|haha+)\b",
    r"^(?:oh,? )?(?:sure|great|yeah|right|fantastic|wonderful|brilliant|lovely)\b.{0,30}"
    r"\bi (?:just |really |so )?(?:love|like|enjoy|more)\b",
    r"\bnothing i (?:love|like|enjoy) more than (?:when|being|having|waiting|queuing|standing|sitting in|"
    r"paying|getting stuck)\b",
    r"\bi (?:just |so )love (?:it when|waiting|queuing|being (?:stuck|ignored|woken|late|called)|"
    r"paying (?:taxes|fines|bills)|getting (?:stuck|up at))\b",
    r"\bi(?:'m| am) (?:basically|literally|practically|pretty much) (?:a|an|the|my|made)\b",
)
# A sentence that welcomes a nuisance: "Oh great, the lift is broken.", "Na toll, …", "Qué bien, …".
_SARCASM = _compile_any(
    r"^(?:oh,? )(?:great|sure|joy|lovely|wonderful|fantastic|brilliant|perfect)\b|^just (?:great|perfect)\b|"
    r"^(?:na )?(?:toll|super|klasse),|^(?:ah )?(?:génial|super|bravo),|^(?:qué bien|genial|fantástico|"
    r"perfecto),|"
    r"^(?:che bello|fantastico|perfetto),|^(?:que bom|que ótimo|perfeito),"
)
# "I simply adore …", "Ich liebe …", "J'adore …"; after a sarcastic sentence it means the opposite.
_PRAISE = _compile_any(
    r"\bi (?:simply |just |really |absolutely |so )?(?:love|adore|enjoy|like)\b|\bich liebe\b|\bj'adore\b|"
    r"\bme encanta\b|\badoro\b"
)


def is_joke(sentence: str) -> bool:
    """Return whether the sentence alone is recognisable as a joke."""
    return bool(_JOKE.search(sentence))


def is_sarcastic(sentence: str) -> bool:
    """Return whether a sentence begins sarcastically, so that praise after it means the opposite."""
    return bool(_SARCASM.search(sentence))


def is_praise(sentence: str) -> bool:
    """Return whether the sentence says that the user likes something."""
    return bool(_PRAISE.search(sentence))
