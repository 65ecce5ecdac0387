"""Reads the events of a server's answer: text, reasoning and usage, in the shapes that different servers use.

`httpx2.EventSource` splits the server-sent events; this module interprets the JSON in them.
"""

from __future__ import annotations

from typing import Any

from chat.llm.types import Usage

Json = dict[str, Any]
# Stands for reasoning in a shape that is not known.
_SOME = "…"


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


def get_reasoning(message: Json) -> str:
    """Return the reasoning in a message, from a field of its own or from its parts; "" without any."""
    aside = message.get("reasoning_content") or message.get("reasoning")
    if aside:
        return aside if isinstance(aside, str) else _SOME
    content = message.get("content")
    parts = content if isinstance(content, list) else ()
    texts = (
        part.get("thinking") or part.get("text")
        for part in parts
        if isinstance(part, dict) and part.get("type") != "text"
    )
    return "".join(text if isinstance(text, str) else _SOME for text in texts)


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
