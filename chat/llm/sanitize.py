"""User text must stay text: a template tokenises control tokens wherever they stand (design §4)."""

from __future__ import annotations

from collections.abc import Iterable

# Invisible and of no width, so that the words still read the same to a person and to a model.
_BREAK = "\u2060"


def break_control_tokens(text: str, control_tokens: Iterable[str]) -> str:
    """Return the text with each control token broken after its first character, everything else untouched.

    Runs until nothing changes, so that no token can arise from the pieces of another. A token of one
    character cannot be broken and is taken out.
    """
    tokens = sorted({token for token in control_tokens if token}, key=len, reverse=True)
    while True:
        broken = text
        for token in tokens:
            if token in broken:
                broken = broken.replace(token, _split(token))
        if broken == text:
            return text
        text = broken


def _split(token: str) -> str:
    # A token that itself holds the break mark would never go away by adding more of it.
    if len(token) == 1 or _BREAK in token:
        return ""
    return token[0] + _BREAK + token[1:]
