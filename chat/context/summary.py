"""Sums up what a prompt leaves out, bit by bit, in the conversation's own language (seed 001; design §6)."""

from __future__ import annotations

from collections.abc import Sequence

from chat.llm.types import Lane, Provider, ProviderError, StopFlag, Turn, Usage
from chat.memory.language import detect
from chat.memory.secrets import redact
from chat.models import Message, Role

from .budget import summary_room

SLOT = "summary"
# What the model reads at once beside the summary so far: at 40–70 tokens a second half a minute (design §4).
READ_AT_ONCE = 1200
_LONGEST = 400  # tokens of one message; what is longer says in its beginning and its end what it is about
_SHORTEST = 20  # characters
_ENOUGH_TO_TELL = 2000  # characters by which a language is known
_LANGUAGES = {
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "it": "Italian",
    "pt": "Portuguese",
    "zh": "Chinese",
}
SYSTEM = (
    "You keep the minutes of a chat between a user and an assistant. You are given the minutes so far and "
    "what was said since. Write the new minutes: the old ones and what is new, in one short paragraph of "
    "plain sentences. Keep decisions, names, numbers, dates, and what is still open. Leave out greetings and "
    "how things were said. Say nothing that was not said."
)


class SummaryFailed(ProviderError):
    """The model gave nothing that can stand as a summary."""


def summarise(
    provider: Provider,
    before: str,
    messages: Sequence[Message],
    *,
    lane: Lane = Lane.BACKGROUND,
    stop: StopFlag | None = None,
) -> tuple[str, Usage]:
    """Return the summary `before` continued over these messages, and what that cost.

    Blocks while the model writes: call it from a worker thread, outside any transaction. Raises
    `SummaryFailed` when nothing usable came, and lets `ProviderError` through.
    """
    room = summary_room(provider.context_window)
    said = "\n".join(_line(provider, m) for m in messages)
    theirs = " ".join(m.content for m in messages if m.role == Role.USER)
    language = _LANGUAGES.get(detect(theirs[:_ENOUGH_TO_TELL]), "English")
    asked = (
        f"Minutes so far:\n{before or 'none'}\n\nSaid since:\n{said}\n\n"
        f"Write the new minutes in {language}, at most {room * 3 // 5} words."
    )
    completion = provider.complete(
        [Turn("system", SYSTEM), Turn("user", asked)], slot=SLOT, lane=lane, max_tokens=room, stop=stop
    )
    text = redact(" ".join(completion.text.split()))
    if completion.finish == "cancelled" or len(text) < _SHORTEST:
        raise SummaryFailed("The model gave no summary.")
    if completion.finish == "length":
        # Half a sentence says something else than the whole.
        text = text[: max(text.rfind(end) for end in (". ", "! ", "? ", "。")) + 1] or text
    return text, completion.usage


def portions(provider: Provider, messages: Sequence[Message]) -> list[list[Message]]:
    """Return messages in portions that the model can read at once, in order."""
    found: list[list[Message]] = []
    left = 0
    for message in messages:
        size = min(_LONGEST, provider.count_text(message.content))
        if not found or size > left:
            found.append([])
            left = READ_AT_ONCE
        found[-1].append(message)
        left -= size
    return found


def _line(provider: Provider, message: Message) -> str:
    text = message.content
    if (size := provider.count_text(text)) > _LONGEST:
        keep = len(text) * _LONGEST // size // 2
        text = f"{text[:keep]} […] {text[-keep:]}"
    who = "User" if message.role == Role.USER else "Assistant"
    return f"{who}: {' '.join(text.split())}"
