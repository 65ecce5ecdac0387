"""Sums up what a prompt leaves out, bit by bit, in the conversation's own language (seed 001; design §6)."""

from __future__ import annotations

import re
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
_COPIED = re.compile(r"\b(?:User|Assistant): ")
_ENOUGH_TO_TELL = 2000  # characters by which a language is known
# A small model does not end by itself: it would go on to the last token and break off in a sentence.
_SENTENCES = 6
_SENTENCE = r"([^.!?。\n\r] | [.] [^ .\n\r])+ [.!?。]+"
# A small model that is only told to sum up copies what it read (the default one, every time): worked examples
# and a beginning that is forced make it tell instead.
_BEGINNINGS = {
    "en": ("English", "The user "),
    "de": ("German", "Der Nutzer "),
    "fr": ("French", "L'utilisateur "),
    "es": ("Spanish", "El usuario "),
    "it": ("Italian", "L'utente "),
    "pt": ("Portuguese", "O usuário "),
    "zh": ("Chinese", "用户"),
}
SYSTEM = (
    "You keep the minutes of a chat. You are shown the minutes so far and what was said since, and write the "
    "new minutes: what the user wants, what was decided, with names, numbers and dates, and what is still "
    "open. Tell it in your own words, in a few plain sentences. Say nothing that was not said."
)
_EXAMPLES = (
    (
        "Minutes so far: none\n\n"
        "User: hi! can you help me pick a tent for two? we're off to Norway in August\n"
        "Assistant: Gladly. For August in Norway a three-season tent with a strong flysheet is right. "
        "How much may it weigh?\n"
        "User: under 2 kg, and my brother Tom wants it green\n"
        "Assistant: Then look at the Fjell 2: 1.8 kg, and it comes in green. It costs about 420 euros.\n\n"
        "New minutes in English:",
        "The user looks for a tent for two for Norway in August, under 2 kg and, for their brother Tom, "
        "green. A three-season tent was advised, such as the Fjell 2 with 1.8 kg for about 420 euros; "
        "nothing is chosen yet.",
    ),
    (
        "Minutes so far: Der Nutzer plant ein Gartenhaus von 3 mal 4 Metern und hat sich für Lärche "
        "entschieden.\n\n"
        "User: Brauche ich ein Fundament?\n"
        "Assistant: Für diese Größe genügen sechs Punktfundamente, 80 cm tief.\n"
        "User: Gut, das mache ich im April mit Jens.\n\n"
        "New minutes in German:",
        "Der Nutzer plant ein Gartenhaus von 3 mal 4 Metern aus Lärche. Sechs Punktfundamente von 80 cm "
        "Tiefe genügen; er legt sie im April mit Jens an.",
    ),
)


class SummaryFailed(ProviderError):
    """The model gave nothing that can stand as a summary."""


def summarise(
    provider: Provider,
    before: str,
    messages: Sequence[Message],
    *,
    redacting: bool = True,
    lane: Lane = Lane.BACKGROUND,
    stop: StopFlag | None = None,
) -> tuple[str, Usage]:
    """Return the summary `before` continued over these messages, and what that cost.

    Without `redacting` secrets are kept as anything else: the owner's own choice.
    Blocks while the model writes: call it from a worker thread, outside any transaction. Raises
    `SummaryFailed` when nothing usable came, and lets `ProviderError` through.
    """
    room = summary_room(provider.context_window)
    said = "\n".join(_line(provider, m) for m in messages)
    theirs = " ".join(m.content for m in messages if m.role == Role.USER)
    language, beginning = _BEGINNINGS.get(detect(theirs[:_ENOUGH_TO_TELL]), _BEGINNINGS["en"])
    asked = f"Minutes so far: {before or 'none'}\n\n{said}\n\nNew minutes in {language}:"
    completion = provider.complete(
        [*prefix(), Turn("user", asked)],
        slot=SLOT,
        lane=lane,
        max_tokens=room,
        grammar=_grammar(beginning),
        stop=stop,
    )
    text = " ".join(completion.text.split())
    text = redact(text) if redacting else text
    if completion.finish == "cancelled" or len(text) < _SHORTEST or _COPIED.search(text):
        raise SummaryFailed("The model gave no summary.")
    if completion.finish == "length":
        # Half a sentence says something else than the whole.
        text = text[: max(text.rfind(end) for end in (". ", "! ", "? ", "。")) + 1] or text
    return text, completion.usage


def prefix() -> list[Turn]:
    """Return what every request for a summary begins with."""
    turns = [Turn("system", SYSTEM)]
    for said, minutes in _EXAMPLES:
        turns += [Turn("user", said), Turn("assistant", minutes)]
    return turns


def _grammar(beginning: str) -> str:
    """Return the grammar of a few whole sentences that begin so; a full stop within a number ends none."""
    more = f'(" "? sentence){{0,{_SENTENCES - 1}}}'
    return f'root ::= "{beginning}" sentence {more}\nsentence ::= {_SENTENCE}'


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
