"""Counts tokens for one server: with the server's own tokenizer where it offers one, else by an estimate."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from chat.errors import ProviderError
from chat.llm.roles import label_turn
from chat.llm.types import Turn

from .events import Json
from .transport import Transport

if TYPE_CHECKING:
    from .protocol import Capabilities

# A prompt is counted part by part, and each part again with the next message: slow over a network, so counts
# are cached.
_MAX_CACHED = 4096
_TEMPLATE_TOKENS = 4  # estimate of the chat template's tokens per message


class RemoteTokenCounter:
    """Counts for one server. Callable from any thread; blocks on the server and raises ProviderError."""

    def __init__(self, transport: Transport, messages: Callable[[Sequence[Turn]], list[Json]]) -> None:
        self._transport = transport
        self._messages = messages
        self._lock = threading.Lock()
        # Keyed by hashes, so that no text stays in memory.
        self._counts: OrderedDict[int, int] = OrderedDict()

    def count_text(self, found: Capabilities, text: str) -> int:
        """Return the length of a text in tokens."""
        if not found.counts_tokens:
            return estimate_tokens(text)
        return (
            self._get_cached(hash(text), lambda: self._count_with_server(text, special=False)) if text else 0
        )

    def count_turns(self, found: Capabilities, turns: Sequence[Turn]) -> int:
        """Return the length of a prompt in tokens, chat template included."""
        if not found.counts_tokens:
            texts = map(label_turn, turns)
            return sum(estimate_tokens(text) + _TEMPLATE_TOKENS for text in texts) + _TEMPLATE_TOKENS
        return self._get_cached(hash(tuple(turns)), lambda: self._count_rendered(turns))

    def forget(self) -> None:
        """Clear the cache: the server may run another model now."""
        with self._lock:
            self._counts.clear()

    def _get_cached(self, key: int, count: Callable[[], int]) -> int:
        with self._lock:
            if (known := self._counts.get(key)) is not None:
                self._counts.move_to_end(key)
                return known
        counted = count()
        with self._lock:
            self._counts[key] = counted
            while len(self._counts) > _MAX_CACHED:
                self._counts.popitem(last=False)
        return counted

    def _count_rendered(self, turns: Sequence[Turn]) -> int:
        prompt = apply_template(self._transport, self._messages(turns))
        return self._count_with_server(prompt, special=True)

    def _count_with_server(self, text: str, *, special: bool) -> int:
        body = {"content": text, "add_special": special, "parse_special": special}
        answer = self._transport.post(f"{self._transport.address.root}/tokenize", body)
        tokens = answer.get("tokens") if isinstance(answer, dict) else None
        if not isinstance(tokens, list):
            raise ProviderError("server-not-a-model-server")
        return len(tokens)


def apply_template(transport: Transport, messages: list[Json]) -> str:
    """Return the prompt that a llama-server makes of messages; raises ProviderError."""
    answer = transport.post(f"{transport.address.root}/apply-template", {"messages": messages})
    prompt = answer.get("prompt") if isinstance(answer, dict) else None
    if not isinstance(prompt, str):
        raise ProviderError("server-not-a-model-server")
    return prompt


def estimate_tokens(text: str) -> int:
    """Return an estimate of four UTF-8 bytes per token: four characters of English, 1.3 of Chinese."""
    return -(-len(text.encode(errors="replace")) // 4)
