"""How long a message is in tokens: the loaded model's own count, else a rule of thumb that says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from chat.llm.registry import registry
from chat.llm.types import ModelNotReady

from .schema import Message

_CHARACTERS = 4  # a token; seed 001, "Token Estimation"
# What a chat template puts around a message, on the safe side.
_TEMPLATE_TOKENS = 8


@dataclass(frozen=True, slots=True)
class Counter:
    """Counts messages; `name` says by what, `exact` whether that is a model's tokenizer."""

    name: str
    exact: bool
    text: Callable[[str], int]

    def of(self, message: Message) -> int:
        """Return the message's tokens, calls of tools included, and what a template puts around it."""
        calls = json.dumps(message.tool_calls) if message.tool_calls else ""
        return self.text(message.content + calls) + (_TEMPLATE_TOKENS if self.exact else 0)


def _estimate(text: str) -> int:
    return -(-len(text) // _CHARACTERS)


ESTIMATE = Counter(f"{_CHARACTERS} characters a token", exact=False, text=_estimate)


def counter() -> Counter:
    """Return the counter of the model that this process has loaded, else the estimate."""
    try:
        provider = registry.provider()
    except ModelNotReady:
        return ESTIMATE
    return Counter(provider.name, exact=True, text=provider.count_text)
