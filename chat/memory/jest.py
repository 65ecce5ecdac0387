"""What is said in jest, or with joy at a nuisance, and so means nothing or the contrary."""

from __future__ import annotations

import re


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.I)


_JOKE = _any(
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
# "Oh great, the lift is broken. I simply adore carrying crates."
_SARCASM = _any(
    r"^(?:oh,? )(?:great|sure|joy|lovely|wonderful|fantastic|brilliant|perfect)\b|^just (?:great|perfect)\b|"
    r"^(?:na )?(?:toll|super|klasse),|^(?:ah )?(?:génial|super|bravo),|^(?:qué bien|genial|fantástico|"
    r"perfecto),|"
    r"^(?:che bello|fantastico|perfetto),|^(?:que bom|que ótimo|perfeito),"
)
_PRAISE = _any(
    r"\bi (?:simply |just |really |absolutely |so )?(?:love|adore|enjoy|like)\b|\bich liebe\b|\bj'adore\b|"
    r"\bme encanta\b|\badoro\b"
)


def is_joke(sentence: str) -> bool:
    """Tell whether the sentence is meant in jest by its own form."""
    return bool(_JOKE.search(sentence))


def is_sarcastic(sentence: str) -> bool:
    """Tell whether a sentence greets a nuisance with joy, so that praise after it is meant the other way."""
    return bool(_SARCASM.search(sentence))


def praises(sentence: str) -> bool:
    """Tell whether the sentence says that the user likes something."""
    return bool(_PRAISE.search(sentence))
