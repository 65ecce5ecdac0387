"""Separates a model's reasoning, such as `<think>…</think>`, from the reply that follows it."""

from __future__ import annotations

# The opening tags that models write before their reasoning, each with the closing tag after it.
TAGS = {"<think>": "</think>", "<thinking>": "</thinking>", "<thought>": "</thought>"}
_LONGEST_TAG = max(map(len, TAGS))


class ReasoningSeparator:
    """Separates a model's answer into reasoning and reply, piece by piece as the answer comes.

    Only reasoning at the beginning is separated; tags after that are part of the reply. `closing_tag` is
    given where the chat template already contains the opening tag: the answer then begins inside the
    reasoning.
    """

    def __init__(self, closing_tag: str = "") -> None:
        self._held = ""
        self._closing_tag = closing_tag
        self._is_reply = False
        self._is_closed = False
        self.found = bool(closing_tag)

    def take(self, piece: str) -> tuple[str, str]:
        """Add a piece; return what it adds to the reasoning and to the reply."""
        if self._is_reply:
            return "", piece
        self._held += piece
        if not self._closing_tag and self._begins_with_reply():
            self._is_reply = True
            return "", self._release()
        return self._split_at_end() if self._closing_tag else ("", "")

    def finish(self) -> tuple[str, str]:
        """Return what was held back of the reasoning and of the reply; call it after the last piece."""
        rest = self._release()
        if self._is_reply or not self._closing_tag:
            return "", rest
        return ("", "") if self._is_closed else (rest, "")

    def _begins_with_reply(self) -> bool:
        """Return whether the answer begins with the reply.

        Where it begins with an opening tag instead, store the closing tag that belongs to it.
        """
        start = self._held.lstrip()
        for opening, closing in TAGS.items():
            if start.startswith(opening):
                self._closing_tag, self.found = closing, True
                self._held = start.removeprefix(opening)
                return False
        begun = start[:_LONGEST_TAG]
        return bool(begun) and not any(opening.startswith(begun) for opening in TAGS)

    def _split_at_end(self) -> tuple[str, str]:
        reasoning = ""
        if not self._is_closed:
            reasoning, closing, after = self._held.partition(self._closing_tag)
            if not closing:
                return self._release_reasoning(), ""
            self._held, self._is_closed = after, True
        # White space between the reasoning and the reply belongs to neither.
        self._held = self._held.lstrip()
        self._is_reply = bool(self._held)
        return reasoning, self._release()

    def _release_reasoning(self) -> str:
        """Return the reasoning that is held, without an end that may be the beginning of the closing tag."""
        longest = min(len(self._closing_tag) - 1, len(self._held))
        kept = next(size for size in range(longest, -1, -1) if self._held.endswith(self._closing_tag[:size]))
        released = self._held[: len(self._held) - kept]
        self._held = self._held[len(released) :]
        return released

    def _release(self) -> str:
        held, self._held = self._held, ""
        return held


def find_closing_tag(beginning: str) -> str:
    """Return the closing tag of the reasoning that a text has opened at its end, "" for none."""
    ends = beginning.rstrip()
    return next((closing for opening, closing in TAGS.items() if ends.endswith(opening)), "")
