"""How many tokens a text is: the server's own count where it has one, else four characters a token."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

from chat.llm.types import ProviderError, Turn

from . import troubles
from .capabilities import Capabilities
from .events import Json
from .wire import Wire

# A prompt is counted piece by piece, and each piece again with the next message: over a network that is slow.
_REMEMBERED = 4096
_A_MESSAGE = 4  # tokens of template around each, where nobody counts


class Counter:
    """Counts for one server; safe from any thread, blocks while the server is asked."""

    def __init__(self, wire: Wire, messages: Callable[[Sequence[Turn]], list[Json]]) -> None:
        self._wire = wire
        self._messages = messages
        self._lock = threading.Lock()
        # By hashes, so that no word stays here.
        self._known: OrderedDict[int, int] = OrderedDict()

    def text(self, found: Capabilities, text: str) -> int:
        """Return the tokens of a piece of text."""
        if not found.counts:
            return guess(text)
        return self._remembered(hash(text), lambda: self._tokens(text, special=False)) if text else 0

    def turns(self, found: Capabilities, turns: Sequence[Turn]) -> int:
        """Return the tokens of a prompt, template included."""
        if not found.counts:
            return sum(guess(turn.content) + _A_MESSAGE for turn in turns) + _A_MESSAGE
        return self._remembered(hash(tuple(turns)), lambda: self._rendered(turns))

    def forget(self) -> None:
        """Forget all counts: another model may be there."""
        with self._lock:
            self._known.clear()

    def _remembered(self, key: int, count: Callable[[], int]) -> int:
        with self._lock:
            if (known := self._known.get(key)) is not None:
                self._known.move_to_end(key)
                return known
        counted = count()
        with self._lock:
            self._known[key] = counted
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return counted

    def _rendered(self, turns: Sequence[Turn]) -> int:
        answer = self._wire.post(
            f"{self._wire.address.root}/apply-template", {"messages": self._messages(turns)}
        )
        prompt = answer.get("prompt") if isinstance(answer, dict) else None
        if not isinstance(prompt, str):
            raise ProviderError(troubles.NO_SENSE)
        return self._tokens(prompt, special=True)

    def _tokens(self, text: str, *, special: bool) -> int:
        body = {"content": text, "add_special": special, "parse_special": special}
        answer = self._wire.post(f"{self._wire.address.root}/tokenize", body)
        tokens = answer.get("tokens") if isinstance(answer, dict) else None
        if not isinstance(tokens, list):
            raise ProviderError(troubles.NO_SENSE)
        return len(tokens)


def guess(text: str) -> int:
    """Return four bytes a token: in English four characters, and Chinese is not taken for a quarter."""
    return -(-len(text.encode(errors="replace")) // 4)
