"""“Remember that …”: the user asks for it, so it is stored, and at once (design §5, "When")."""

from __future__ import annotations

import re

from chat.memory.kind_rules import guess_kind
from chat.memory.wording import tidy

# With "that" or a colon, or speaking of oneself: "remember to buy milk" asks for a reminder.
_ASKED = re.compile(
    r"^(?:(?:please|hey|ok|okay|and|also|oh|so|by the way|btw|can you|could you|bitte|por favor|per favore|"
    r"s'il te plaît|stp)[, ]+)*(?:"
    r"(?:remember|keep in mind|bear in mind|note(?: down)?|make a note|don'?t forget|never forget|"
    r"for your memory|memori[sz]e)(?:,? that\b|\s*:|(?=,? (?:i|i'm|i've|my|we|our)\b))|"
    r"(?:merk(?:e)? dir|denk daran|vergiss nicht|behalte|notier(?:e)? dir)"
    r"(?:,? dass\b|\s*:|(?=,? (?:ich|mein\w*)\b))|"
    r"(?:souviens-toi|retiens|n'oublie pas|note|rappelle-toi)(?:,? (?:que\b|qu['’])|\s*:)|"
    r"(?:recuerda|acuérdate(?: de)?|no olvides|ten en cuenta|apunta)(?:,? que\b|\s*:)|"
    r"(?:ricorda(?:ti)?|tieni a mente|non dimenticare|segnati)(?:,? che\b|\s*:)|"
    r"(?:lembre(?:-se)?(?: de)?|lembra(?:-te)?|não (?:se )?esqueça|tenha em mente|anote)(?:,? que\b|\s*:)|"
    r"(?:请)?(?:你)?(?:记住|记得|别忘了|记一下)(?!吗)[，,:：]?)\s*(?P<what>\S.*)$",
    re.I | re.S,
)
_SENTENCE_START = re.compile(r"(?:^|(?<=[.!?。！？\n]))\s*")


def what(sentence: str) -> str:
    """Return what a sentence asks to remember, or an empty string when it asks for nothing of the kind."""
    match = _ASKED.match(sentence.strip())
    if match is None or sentence.rstrip().endswith(("?", "？")):
        return ""
    return match["what"].strip()


def asks(message: str) -> bool:
    """Tell whether any sentence of a message asks to remember something."""
    return any(what(part) for part in _SENTENCE_START.split(message) if part.strip())


def as_fact(told: str) -> tuple[str, str]:
    """Return (text, kind) of what was told, in the user's own words, for where the model noted nothing."""
    text = tidy(told.strip(" .。!！"), told)
    return text, guess_kind(text)
