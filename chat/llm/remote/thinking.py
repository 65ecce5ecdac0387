"""What a reasoning model thinks aloud is not its reply."""

from __future__ import annotations

_MARKS = {"<think>": "</think>", "<thinking>": "</thinking>", "<thought>": "</thought>"}
_LONGEST = max(map(len, _MARKS))


class Thoughts:
    """Takes pieces of text and gives back the reply in them, without a thought that it begins with.

    Only at the very beginning: further on, such marks are something that the reply speaks of.
    """

    def __init__(self, *, opened: bool = False) -> None:
        """`opened` where the model's template begins the thought, so that only its end is written."""
        self._held = ""
        self._until: str | None = "</think>" if opened else None
        self._over = False
        self.any = False

    def take(self, piece: str) -> str:
        """Return what of the text so far is reply and was not given back yet."""
        if self._over:
            return piece
        self._held += piece
        if self._until is None and not self._begins():
            return self._all() if self._is_clear() else ""
        return self._after_thought()

    def _after_thought(self) -> str:
        if self._until is None or self._until not in self._held:
            return ""
        after = self._held.partition(self._until)[2].lstrip()
        # Only what separates the two may have come as yet.
        self._over, self._held = bool(after), self._until
        return after

    def rest(self) -> str:
        """Return what was held back and turned out to be reply, once no more text comes."""
        return "" if self._over or self._until is not None else self._all()

    def _begins(self) -> bool:
        """Tell whether a thought has begun."""
        start = self._held.lstrip()
        for opening, closing in _MARKS.items():
            if start.startswith(opening):
                self._until, self.any = closing, True
                return True
        return False

    def _is_clear(self) -> bool:
        """Tell whether no thought can begin any more."""
        start = self._held.lstrip()[:_LONGEST]
        return bool(start) and not any(opening.startswith(start) for opening in _MARKS)

    def _all(self) -> str:
        self._over = True
        return self._held
