"""Reads the events of a server's answer: text, reasoning and usage, in the shapes that different servers use.

`httpx2.EventSource` splits the server-sent events; this module interprets the JSON in them.
"""

from __future__ import annotations

from typing import Any

from chat.llm.types import Usage

Json = dict[str, Any]


def get_choice(event: Json) -> Json:
    """Return the first choice in an event, {} without one."""
    choices = event.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else {}


def get_message(event: Json) -> Json:
    """Return the message in an event: the next piece of a streamed one, or a whole one; {} without one."""
    choice = get_choice(event)
    message = choice.get("delta") or choice.get("message")
    return message if isinstance(message, dict) else {}


def is_last_event(event: Json) -> bool:
    """Return whether the answer ends with this event; an event with the usage may follow."""
    return bool(get_choice(event).get("finish_reason"))


def get_text(message: Json) -> str:
    """Return the text of a message; of a message in parts, the parts that are text and not reasoning."""
    content = message.get("content")
    if isinstance(content, list):
        parts = (part for part in content if isinstance(part, dict) and part.get("type") == "text")
        return "".join(str(part.get("text") or "") for part in parts)
    return content if isinstance(content, str) else ""


def has_reasoning(message: Json) -> bool:
    """Return whether a message has reasoning, in a field of its own or among its parts."""
    content = message.get("content")
    parts = content if isinstance(content, list) else ()
    aside = message.get("reasoning_content") or message.get("reasoning")
    return bool(aside) or any(isinstance(part, dict) and part.get("type") != "text" for part in parts)


def record_usage(event: Json, usage: Usage) -> None:
    """Copy the token counts of an event into `usage`, where the event has some."""
    spent = event.get("usage")
    if not isinstance(spent, dict):
        return
    details = spent.get("prompt_tokens_details")
    usage.prompt_tokens = positive_int(spent.get("prompt_tokens")) or usage.prompt_tokens
    usage.completion_tokens = positive_int(spent.get("completion_tokens")) or usage.completion_tokens
    usage.cached_tokens = positive_int(details.get("cached_tokens")) if isinstance(details, dict) else 0


def positive_int(value: Any) -> int:
    """Return a positive integer as it is, 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


class SurrogateDecoder:
    """Joins surrogate pairs that a server splits between two pieces, so that the text can be stored."""

    def __init__(self) -> None:
        self._pending = ""

    def take(self, piece: str) -> str:
        """Return the complete characters so far, without NUL, which PostgreSQL cannot store."""
        text = self._pending + piece
        self._pending = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        whole = text[: len(text) - len(self._pending)].replace("\0", "")
        return whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_TAGS = {"<think>": "</think>", "<thinking>": "</thinking>", "<thought>": "</thought>"}
_LONGEST_TAG = max(map(len, _TAGS))


class ReasoningFilter:
    """Removes the reasoning at the beginning of a reply, such as `<think>…</think>`, from its pieces.

    Only at the beginning: later such tags are part of the reply.
    """

    def __init__(self, *, opened: bool = False) -> None:
        """`opened` where the chat template already contains the opening tag, so that only the closing one
        comes.
        """
        self._held = ""
        self._closing_tag: str | None = "</think>" if opened else None
        self._is_over = False
        self.found = False

    def take(self, piece: str) -> str:
        """Add a piece; return the text of the reply that was not returned yet."""
        if self._is_over:
            return piece
        self._held += piece
        if self._closing_tag is None and not self._has_begun():
            return self._release() if self._is_reply() else ""
        return self._text_after()

    def _text_after(self) -> str:
        if self._closing_tag is None or self._closing_tag not in self._held:
            return ""
        after = self._held.partition(self._closing_tag)[2].lstrip()
        # So far only white space may have come after the closing tag.
        self._is_over, self._held = bool(after), self._closing_tag
        return after

    def finish(self) -> str:
        """Return text that was held back and belongs to the reply; call it after the last piece."""
        return "" if self._is_over or self._closing_tag is not None else self._release()

    def _has_begun(self) -> bool:
        """Return whether reasoning has begun."""
        start = self._held.lstrip()
        for opening, closing in _TAGS.items():
            if start.startswith(opening):
                self._closing_tag, self.found = closing, True
                return True
        return False

    def _is_reply(self) -> bool:
        """Return whether the reply has begun without reasoning."""
        start = self._held.lstrip()[:_LONGEST_TAG]
        return bool(start) and not any(opening.startswith(start) for opening in _TAGS)

    def _release(self) -> str:
        self._is_over = True
        return self._held
