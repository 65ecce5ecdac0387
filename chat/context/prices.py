"""What a line of a prompt costs in tokens, remembered: asking a tokenizer takes 50 µs for any line."""

from __future__ import annotations

from collections.abc import Callable

from chat.llm.types import Provider

_MOST = 50_000
# By the line's hash, so that no word of a forgotten fact stays here.
_known: dict[tuple[str, int], int] = {}


def pricer(provider: Provider) -> Callable[[str], int]:
    """Return a counter of short lines that counts each of them once a process, from any thread."""
    name, count = provider.name, provider.count_text

    def price(line: str) -> int:
        key = (name, hash(line))
        tokens = _known.get(key)
        if tokens is None:
            if len(_known) >= _MOST:
                _known.clear()
            tokens = _known[key] = count(line)
        return tokens

    return price
