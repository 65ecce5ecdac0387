"""What one event of a server's answer tells, whatever its shape: servers differ, and some make mistakes."""

from __future__ import annotations

from typing import Any

from chat.llm.types import Usage

Json = dict[str, Any]


def choice_of(event: Json) -> Json:
    """Return what an event tells of the answer, {} where it tells nothing of it."""
    choices = event.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else {}


def message_of(event: Json) -> Json:
    """Return the message in an event: the next piece of one, or a whole one."""
    choice = choice_of(event)
    message = choice.get("delta") or choice.get("message")
    return message if isinstance(message, dict) else {}


def is_last(event: Json) -> bool:
    """Return whether the answer ends with this event; its cost may still come."""
    return bool(choice_of(event).get("finish_reason"))


def text_of(message: Json) -> str:
    """Return what a message says; of one in parts, those that are text and no thought."""
    content = message.get("content")
    if isinstance(content, list):
        parts = (part for part in content if isinstance(part, dict) and part.get("type") == "text")
        return "".join(str(part.get("text") or "") for part in parts)
    return content if isinstance(content, str) else ""


def is_thought(message: Json) -> bool:
    """Return whether a message holds thoughts, which stand beside its text or among its parts."""
    content = message.get("content")
    parts = content if isinstance(content, list) else ()
    aside = message.get("reasoning_content") or message.get("reasoning")
    return bool(aside) or any(isinstance(part, dict) and part.get("type") != "text" for part in parts)


def note_cost(event: Json, usage: Usage) -> None:
    """Take over what an event tells of tokens, where it does."""
    spent = event.get("usage")
    if not isinstance(spent, dict):
        return
    details = spent.get("prompt_tokens_details")
    usage.prompt_tokens = number(spent.get("prompt_tokens")) or usage.prompt_tokens
    usage.completion_tokens = number(spent.get("completion_tokens")) or usage.completion_tokens
    usage.cached_tokens = number(details.get("cached_tokens")) if isinstance(details, dict) else 0


def number(value: Any) -> int:
    """Return a count as it is told, 0 where that is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


class Letters:
    """Makes text that can be kept of the pieces: some servers cut between the halves of a character."""

    def __init__(self) -> None:
        self._half = ""

    def take(self, piece: str) -> str:
        """Return the whole characters so far; no database keeps a half one or a NUL."""
        text = self._half + piece
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        whole = text[: len(text) - len(self._half)].replace("\0", "")
        return whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
